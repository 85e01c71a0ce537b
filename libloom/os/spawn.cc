#include "os/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/error.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace loom {
namespace {

namespace bp = boost::process;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

tl::unexpected<Error> spawn_failed(const std::string& where, const std::string& what) {
  return fail("spawn_failed", where, what);
}

std::string reason() {
  return std::strerror(errno);
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return spawn_failed("", "cannot make a pipe: " + reason());
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A copy well above the numbers that are explicit in the child, so that placing one never overwrites another.
Result<UniqueFd> out_of_the_way(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 16));
  if (!copy) return spawn_failed("", "cannot copy a descriptor: " + reason());
  return copy;
}

// Boost.Process makes a pipe of its own for exec's error; with 0 to 3 all taken it cannot land on a number we place.
class LowNumbersTaken {
 public:
  LowNumbersTaken() {
    for (int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0; fd = ::open("/dev/null", O_RDWR | O_CLOEXEC)) {
      if (fd > 3) {
        ::close(fd);
        break;
      }
      held_.emplace_back(fd);
    }
  }

 private:
  std::vector<UniqueFd> held_;
};

struct ChildSetup {
  int stdin_fd;
  int stdout_fd;
  int policy_fd;
  pid_t parent;
};

// As the kernel takes it; libc's own call refuses the two signals it keeps for itself, and its posix_spawn leaves
// exactly those ignored in every child (of make, say).
struct KernelSigaction {
  void* handler;
  unsigned long flags;
  void* restorer;
  std::uint64_t mask;
};

// Runs in the child, between fork and exec: async-signal-safe calls only.
void set_up_child(const ChildSetup& setup) {
  ::setsid();
  const KernelSigaction plain{};
  for (int number = 1; number < NSIG; ++number) {
    ::syscall(SYS_rt_sigaction, number, &plain, nullptr, sizeof plain.mask);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Our death is told by the end of file on its stdin, and a helper ends its jails in good order then. A stopped one
  // could not read that: it is continued.
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  if (::getppid() != setup.parent) ::_exit(127);
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  ::dup2(setup.stdin_fd, 0);
  ::dup2(setup.stdout_fd, 1);
  if (setup.policy_fd >= 0) ::dup2(setup.policy_fd, 3);
}

Result<pid_t> launch(const SpawnRequest& request, const ChildSetup& setup) {
  pid_t failed = -1;
  std::error_code error;
  try {
    bp::child child(
        bp::exe = request.program, bp::args = request.args, error,
        bp::extend::on_exec_setup = [&setup](auto& /*executor*/) { set_up_child(setup); },
        bp::extend::on_error = [&failed](auto& executor, const auto& /*why*/) { failed = executor.pid; });
    if (!error) {
      const pid_t pid = child.id();
      child.detach();
      return pid;
    }
  } catch (const std::exception& exception) {
    return spawn_failed(request.program, std::string("cannot start it: ") + exception.what());
  }
  // Boost.Process tells the error and leaves the child, which has ended, to whoever reaps.
  if (failed > 0) ::waitpid(failed, nullptr, 0);
  return spawn_failed(request.program, "cannot start it: " + error.message());
}

void set_nonblocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

// A kernel that refuses the pidfd leaves a child that cannot be owned: it is ended at once.
Result<UniqueFd> own_child(pid_t pid) {
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd) return pidfd;
  const std::string why = reason();
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return spawn_failed("", "cannot own the child: " + why);
}

}  // namespace

Result<SpawnedChild> spawn_child(const SpawnRequest& request) {
  LOOM_CHECK(check_executable(request.program));
  const LowNumbersTaken low_numbers;
  LOOM_TRY(Pipe input, make_pipe());
  LOOM_TRY(Pipe output, make_pipe());
  LOOM_TRY(const UniqueFd child_in, out_of_the_way(input.read.get()));
  LOOM_TRY(const UniqueFd child_out, out_of_the_way(output.write.get()));
  UniqueFd policy;
  if (request.policy_fd >= 0) {
    LOOM_TRY(policy, out_of_the_way(request.policy_fd));
  }
  const ChildSetup setup{child_in.get(), child_out.get(), policy.get(), ::getpid()};
  SpawnedChild spawned;
  LOOM_TRY(spawned.pid, launch(request, setup));
  LOOM_TRY(spawned.pidfd, own_child(spawned.pid));
  spawned.to_child = std::move(input.write);
  spawned.from_child = std::move(output.read);
  set_nonblocking(spawned.to_child.get());
  set_nonblocking(spawned.from_child.get());
  return spawned;
}

Result<UniqueFd> sealed_memfd(std::string_view bytes) {
  UniqueFd fd(::memfd_create("loom-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return spawn_failed("", "cannot make a memory file: " + reason());
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return spawn_failed("", "cannot fill a memory file: " + reason());
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return spawn_failed("", "cannot seal a memory file: " + reason());
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

Status check_executable(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return spawn_failed(path, "no helper there: " + reason());
  if (!S_ISREG(info.st_mode)) return spawn_failed(path, "the helper is not a file");
  if (::access(path.c_str(), X_OK) != 0) return spawn_failed(path, "the helper cannot be executed: " + reason());
  return {};
}

}  // namespace loom
