// Runs real jails through start_execution, for tests: the same engine that serve and run use.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "helper/execution.h"
#include "helper/host_context.h"
#include "os/loop.h"
#include "os/unique_fd.h"
#include "policy/model.h"

namespace loom::helper::test {

struct Outcome {
  std::optional<ExecExit> exit;
  std::optional<Error> error;
  std::string out;
  std::string err;
  [[nodiscard]] std::string why() const { return error ? error->code + " " + error->text() : "no error"; }
  // Whether the report has this entry, or one of this layer.
  [[nodiscard]] bool reports(const std::string& entry) const {
    for (const std::string& e : exit ? exit->enforcement : std::vector<std::string>{}) {
      if (e == entry || (e.rfind(entry, 0) == 0 && std::string_view(":=,").find(e[entry.size()]) != std::string::npos))
        return true;
    }
    return false;
  }
};

// Gone, with all in it, at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = "/tmp/loom-test-XXXXXX";
    path_ = ::mkdtemp(name.data()) != nullptr ? name : "";
    EXPECT_FALSE(path_.empty());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Waits on the process's pidfd. True when it has ended (or is gone) in time.
inline bool ends_within(pid_t pid, int milliseconds) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return true;
  pollfd entry{pidfd.get(), POLLIN, 0};
  return ::poll(&entry, 1, milliseconds) == 1;
}

// The jail's init that is a child of `helper`, and every process below it, by host pid.
inline std::vector<pid_t> processes_of_init_below(pid_t helper) {
  std::vector<pid_t> found;
  std::vector<pid_t> wave{helper};
  while (!wave.empty()) {
    const std::string pid = std::to_string(wave.back());
    wave.pop_back();
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    for (pid_t child = 0; children >> child;) {
      found.push_back(child);
      wave.push_back(child);
    }
  }
  return found;
}

class JailRunner {
 public:
  explicit JailRunner(HostOptions options = {}) {
    options.stage2 = stage2_path();
    options.bridge = own_directory() + "/../bin/libexec/loom-bridge";
    Result<HostContext> made = make_host_context(options);
    if (made) host = std::move(*made);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().text());
  }

  // Where this test program is.
  static std::string own_directory() {
    std::array<char, 4096> own{};
    const ssize_t size = ::readlink("/proc/self/exe", own.data(), own.size());
    const std::string program(own.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return program.substr(0, program.rfind('/'));
  }
  static std::string stage2_path() { return own_directory() + "/../bin/libexec/loom-stage2"; }

  Outcome run(ExecRequest request, const std::string& input = "") {
    Outcome outcome;
    ExecEvents events;
    events.output = [&](Stream stream, std::string_view data, std::uint64_t, bool) {
      (stream == Stream::kStdout ? outcome.out : outcome.err).append(data);
      if (on_output) on_output(*execution, outcome);
      if (execution) execution->allow_output(stream, ~0ULL);
    };
    events.stdin_consumed = [](std::uint64_t) {};
    events.exited = [&](const ExecExit& exit) {
      outcome.exit = exit;
      loop.stop();
    };
    events.failed = [&](const Error& error) {
      outcome.error = error;
      loop.stop();
    };
    execution = start_execution(loop, host, std::move(request), std::move(events));
    execution->write_stdin(input, true);
    if (on_start) on_start(*execution);
    loop.run();
    execution.reset();
    return outcome;
  }

  static ExecRequest request(std::vector<std::string> argv, const Path& workspace) {
    ExecRequest request;
    request.argv = std::move(argv);
    request.cwd = workspace;
    request.policy.writable_roots = {workspace};
    request.policy.readable_roots = {workspace};
    request.policy.env_allow = {"PATH", "HOME", "LANG", "TERM"};
    request.demand = Demand::kBestEffort;
    return request;
  }

  static ExecRequest shell(const std::string& script, const Path& workspace) {
    return request({"/bin/sh", "-c", script}, workspace);
  }

  Loop loop;
  HostContext host;
  std::unique_ptr<Execution> execution;
  std::function<void(Execution&, const Outcome&)> on_output;
  std::function<void(Execution&)> on_start;
};

}  // namespace loom::helper::test
