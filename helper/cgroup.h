// cgroup v2 for executions: a base that an operator delegated, and in it one cgroup an execution, owned by a value:
// what lives in it is killed and the directory removed with its owner (spec/jail.md "cgroup v2"). Every file is reached
// from an open directory of the cgroup file system itself; nothing here waits on any other.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "helper/cgroup_rules.h"
#include "os/unique_fd.h"
#include "policy/model.h"

namespace loom::helper {

// One execution's cgroup. Not to be confused with what it is told: cgroup_settings().
class Cgroup {
 public:
  // A directory exec-ID-PID under `base`, its ceilings set and read back. Error cgroup_failed: the file, and why; the
  // directory is gone again.
  // `own`: how many processes the jail itself is.
  [[nodiscard]] static Result<Cgroup> make(int base, const Limits& limits, unsigned own);
  // Takes over one that is there. `base` is borrowed for the call.
  [[nodiscard]] static Result<Cgroup> adopt(int base, std::string name, unsigned own);

  Cgroup(Cgroup&&) noexcept = default;
  Cgroup& operator=(Cgroup&&) = delete;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();

  [[nodiscard]] int fd() const { return directory_.get(); }  // for CLONE_INTO_CGROUP
  // With the command waiting for its go: init and one more are in it and every ceiling holds. Answers what holds
  // ("memory.max=4096,pids.max=3"). Error cgroup_failed: what does not.
  [[nodiscard]] Result<std::string> verify(pid_t init, const Limits& limits) const;
  // Of everything that ever ran in it.
  [[nodiscard]] std::uint64_t cpu_us() const;
  // "oom-kill=1", "pids-max=3"; none where nothing happened.
  [[nodiscard]] std::vector<std::string> events() const;
  // KILL to all in it, however deep.
  void kill() const;

 private:
  Cgroup(UniqueFd base, std::string name, UniqueFd directory, unsigned own);
  [[nodiscard]] Status set(const Limits& limits) const;

  UniqueFd base_;
  std::string name_;
  UniqueFd directory_;
  unsigned own_;
};

// The facts of judge_cgroup_base, read from an open directory. Writes nothing.
[[nodiscard]] CgroupBaseFacts read_cgroup_base(int base);

// A directory that was found fit. Looking writes nothing; prepare() and sweep() do.
class CgroupBase {
 public:
  // Error bad_cgroup_base: the path, and why it will not do.
  [[nodiscard]] static Result<CgroupBase> find(const std::string& path);
  // Switches the controllers on for what is made below. Error bad_cgroup_base.
  [[nodiscard]] Status prepare() const;
  [[nodiscard]] int fd() const { return directory_.get(); }

 private:
  CgroupBase(std::string path, UniqueFd directory) : path_(std::move(path)), directory_(std::move(directory)) {}
  std::string path_;
  UniqueFd directory_;
};

// Removes what helpers that are no more left under `base`; how many. `lives` tells of a helper by its process id.
unsigned sweep_cgroups(int base, const std::function<bool(pid_t)>& lives);
// Another process with this id is there. This one's own predecessors do not count.
[[nodiscard]] bool helper_lives(pid_t pid);

}  // namespace loom::helper
