#include "helper/bwrap_backend.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <vector>

#include "helper/channel.h"
#include "helper/exec_fault.h"
#include "helper/kernel.h"
#include "helper/orders.h"
#include "os/child.h"
#include "os/fds.h"

namespace loom::helper {
namespace {

static_assert(std::string_view(kBwrapWitness) == stage2::kBwrapWitness, "one file, named on both sides");

constexpr int kProgram = stage2::kWitnessFd + 1;  // stage 2, by the descriptor that it closes first
constexpr int kFirstEmpty = kProgram + 1;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// Killed between the start of the jail's process and its being told to go on, bubblewrap leaves that process waiting
// for ever, and its own --die-with-parent brings it to that. Nobody kills it: stage 2 sees the end of its socket,
// whoever holds the other end dies, and bubblewrap ends with it.
[[noreturn]] void execute(std::vector<std::string> words) {
  ::prctl(PR_SET_PDEATHSIG, 0);
  words.insert(words.begin(), "bwrap");
  std::vector<char*> argv = pointers(words);
  char* env[] = {nullptr};
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(kBwrapProgram, argv.data(), env);
  ::_exit(127);
}

// A copy out of the way of the numbers that are given away, closed by exec.
int moved(int fd, int past) {
  return ::fcntl(fd, F_DUPFD_CLOEXEC, past);
}

std::string words_of(int fd) {
  std::string text = read_memory_file(fd);
  text.erase(std::find(text.begin(), text.end(), '\n'), text.end());
  return text;
}

}  // namespace

std::string probe_bwrap(const HostContext& host) {
  if (host.root_start) return "bwrap is for ordinary users: from root it would run the command as root of the host";
  if (::access(kBwrapProgram, X_OK) != 0) return std::string(kBwrapProgram) + ": " + errno_text(errno);
  Result<UniqueFd> said = memory_file("");
  if (!said) return said.error().text();
  UniqueFd pidfd;
  const long pid = clone_process(0, pidfd);
  if (pid == 0) {
    ::dup2(said->get(), STDERR_FILENO);
    ::syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
    execute({"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--unshare-net",
             "--as-pid-1", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--",
             "/bin/true"});
  }
  if (pid < 0) return errno_text(static_cast<int>(-pid));
  int status = 0;
  while (::waitpid(static_cast<pid_t>(pid), &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  const std::string words = words_of(said->get());
  return words.empty() ? "bwrap ended without a word" : words;
}

Result<BwrapCommand> command_for(const BuildJob& job, const MountPlan& plan) {
  const bool host_network = job.request.policy.network.mode == NetworkMode::kFull;
  return bwrap_command(plan, host_network, "/proc/self/fd/" + std::to_string(kProgram), kFirstEmpty);
}

Error become_bwrap(const BuildJob& job, BwrapCommand command) {
  const int last = kFirstEmpty + static_cast<int>(command.empty_files);
  const int control = moved(job.control, last);
  const int program = moved(job.host.stage2.get(), last);
  const int said = moved(job.said, last);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const int empty = moved(null.get(), last);
  if (control < 0 || program < 0 || said < 0 || empty < 0) {
    return kernel_error("bwrap", "give its descriptors their numbers", errno);
  }
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(empty, stream);
  ::dup2(said, STDERR_FILENO);
  ::dup2(control, stage2::kControlFd);
  ::dup2(empty, stage2::kWitnessFd);  // taken, so that nothing else lands there
  ::dup2(program, kProgram);
  for (int fd = kFirstEmpty; fd < last; ++fd) {
    if (::dup2(empty, fd) < 0) return kernel_error("bwrap", "give its descriptors their numbers", errno);
  }
  ::syscall(SYS_close_range, last, ~0U, CLOSE_RANGE_CLOEXEC);
  execute(std::move(command.argv));
}

}  // namespace loom::helper
