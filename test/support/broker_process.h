// A real `loom-broker serve` as a child, for tests and the soak: its place, its policy, its ready line, its end.
// Ownership: the object owns the process and the folder; its destructor kills what still runs and removes the folder.
// A broker that does not come up ends the program with what it said: nothing that follows could be a test.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "os/unique_fd.h"

namespace loom::test {

// The folder of the tools ($BIN, as scripts/run-suite sets it) and of the built tests ($BUILT).
[[nodiscard]] std::string tool_path(const std::string& name);
[[nodiscard]] std::string peer_path(const std::string& name);

struct ServeSetup {
  std::vector<std::string> flags;
  std::string helper;                            // "": the real loom-exec
  std::vector<std::string> environment;          // NAME=VALUE, beside this process's own
  std::function<void()> before_exec = [] {};     // in the child, after fork: async-signal-safe calls only
  std::vector<std::string> command = {"serve"};  // the verb
  bool wait_ready = true;
};

// How a process left: an exit code, or 128 and a signal.
class BrokerProcess {
 public:
  explicit BrokerProcess(ServeSetup setup = {});
  ~BrokerProcess();
  BrokerProcess(const BrokerProcess&) = delete;
  BrokerProcess& operator=(const BrokerProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }  // work/ (the workspace) and b/s lie in it
  [[nodiscard]] std::string workspace() const { return folder_ + "/work"; }
  [[nodiscard]] std::string socket() const { return folder_ + "/b/s"; }
  [[nodiscard]] std::string policy_file() const { return folder_ + "/base.json"; }
  [[nodiscard]] std::string log() const;  // its stderr so far
  void signal(int number) const;
  // Waits for its end, 60 s at most. 128+n by signal; -1: it has not ended.
  int wait();
  [[nodiscard]] long rss_kb() const;
  [[nodiscard]] std::size_t descriptors() const;
  [[nodiscard]] std::vector<pid_t> children() const;

 private:
  std::string folder_;
  pid_t pid_ = -1;
  int status_ = -1;
};

// Whether a process exists (and is no zombie).
[[nodiscard]] bool lives(pid_t pid);
// Waits until it does not, 20 s at most.
[[nodiscard]] bool ends(pid_t pid);
[[nodiscard]] std::string read_text(const std::string& path);

}  // namespace loom::test
