// Plays a broker against a real helper: starts it, speaks by a script on stdin (test/support/client_script.h), prints
// every frame it gets as one line of JSON and at the end {"helper":{"exited":N}} or {"helper":{"signalled":N}}.
//   exec_client [--policy FILE] HELPER ARGUMENTS...       FILE is the helper's descriptor 3
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "os/unique_fd.h"
#include "test/support/client_script.h"

namespace {

[[noreturn]] void become_helper(int in, int out, const char* policy, char** argv) {
  ::dup2(in, 0);
  ::dup2(out, 1);
  if (policy != nullptr) {
    const int file = ::open(policy, O_RDONLY | O_CLOEXEC);
    if (file < 0) std::perror(policy);
    if (file == 3) ::fcntl(3, F_SETFD, 0);
    if (file > 3) ::dup2(file, 3);
  }
  ::execv(argv[0], argv);
  std::perror(argv[0]);
  ::_exit(127);
}

bool send_signal(pid_t helper, const std::string& name) {
  const std::map<std::string, int> known = {
      {"TERM", SIGTERM}, {"KILL", SIGKILL}, {"STOP", SIGSTOP}, {"CONT", SIGCONT}, {"INT", SIGINT}};
  const auto found = known.find(name);
  return found != known.end() && ::kill(helper, found->second) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  char** command = argv + 1;
  const char* policy = nullptr;
  if (argc > 2 && std::strcmp(argv[1], "--policy") == 0) {
    policy = argv[2];
    command = argv + 3;
  }
  if (*command == nullptr) {
    std::fprintf(stderr, "usage: exec_client [--policy FILE] HELPER ARGUMENTS...\n");
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  int to_helper[2];
  int from_helper[2];
  if (::pipe2(to_helper, O_CLOEXEC) != 0 || ::pipe2(from_helper, O_CLOEXEC) != 0) return 2;
  const pid_t helper = ::fork();
  if (helper < 0) return 2;
  if (helper == 0) {
    ::signal(SIGPIPE, SIG_DFL);
    become_helper(to_helper[0], from_helper[1], policy, command);
  }
  ::close(to_helper[0]);
  ::close(from_helper[1]);
  loom::UniqueFd out(to_helper[1]);
  const loom::UniqueFd in(from_helper[0]);
  loom::test::FramePort port(in.get(), out.get());
  const loom::test::ClientHooks hooks{[&out] { out.reset(); },
                                      [helper](const std::string& name) { return send_signal(helper, name); }};
  const int result = loom::test::run_client_script(std::cin, port, hooks, true);
  out.reset();
  int status = 0;
  if (result != 0) ::kill(helper, SIGKILL);
  ::waitpid(helper, &status, 0);
  if (WIFSIGNALED(status)) {
    std::printf("{\"helper\":{\"signalled\":%d}}\n", WTERMSIG(status));
  } else {
    std::printf("{\"helper\":{\"exited\":%d}}\n", WEXITSTATUS(status));
  }
  return result;
}
