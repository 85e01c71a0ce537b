// A question to another part of loom, answered in five seconds or not at all: what a helper says of this host, what a
// broker says of itself. Every process started here has ended when its owner is gone. Carries out: spec/cli.md
// "LOOM_EXEC_HELPER", "loom-census".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "os/spawn.h"
#include "wire/exec_hello.h"
#include "wire/frame.h"
#include "wire/kinds.h"

namespace loom::service {

inline constexpr Duration kPatience = seconds(5);

// A child that is gone, whatever it does, when this goes: it gets kPatience to end by itself first.
class AskedChild {
 public:
  explicit AskedChild(SpawnedChild child) : child_(std::move(child)) {}
  AskedChild(const AskedChild&) = delete;
  AskedChild& operator=(const AskedChild&) = delete;
  ~AskedChild();
  [[nodiscard]] int answers() const { return child_.from_child.get(); }

 private:
  SpawnedChild child_;
};

// The frames that come from a borrowed descriptor, one at a time. Errors: no_answer, protocol_violation, those of the
// wire, and the peer's own; `name` is the place.
class AnswerReader {
 public:
  AnswerReader(int fd, std::string name);
  [[nodiscard]] Result<Frame> expect(Kind kind);

 private:
  [[nodiscard]] Result<Frame> next();
  [[nodiscard]] Status read_some();

  int fd_;
  std::string name_;
  TimePoint until_;
  Deframer deframer_;
};

// proto_mismatch naming both numbers and which of the two builds is behind.
[[nodiscard]] Status same_protocol(const std::string& peer, const std::string& self, const char* what,
                                   std::uint64_t theirs, std::uint64_t ours);

// What `PROGRAM serve` says first, started with `flags`. Errors: spawn_failed and those above. `self` is the asking
// tool's name.
[[nodiscard]] Result<ExecHello> ask_helper(const std::string& program, const std::string& self,
                                           const std::vector<std::string>& flags = {});

// What `PROGRAM ARGS` says on its stdout, at most 1 MiB in kPatience; its stderr is dropped. Errors: spawn_failed,
// read_timeout, too_large.
[[nodiscard]] Result<std::string> ask_output(const std::string& program, const std::vector<std::string>& args);

// The version that PROGRAM --version tells. Errors: spawn_failed, read_timeout, bad_answer.
[[nodiscard]] Result<std::string> ask_version(const std::string& program);

// The flag's value, else LOOM_EXEC_HELPER, else loom-exec beside this program.
[[nodiscard]] std::string helper_program(const std::optional<std::string>& flag);
// The directory this program lies in.
[[nodiscard]] std::string own_directory();

}  // namespace loom::service
