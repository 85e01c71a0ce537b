#include "os/child.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace loom {
namespace {

constexpr idtype_t kByPidfd = static_cast<idtype_t>(3);  // P_PIDFD

// As wait4 would have said it.
int native_status(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return (info.si_status & 0xff) << 8;
  return info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
}

}  // namespace

OwnedChild& OwnedChild::operator=(OwnedChild&& other) noexcept {
  if (this != &other) {
    end();
    pidfd_ = std::move(other.pidfd_);
  }
  return *this;
}

void OwnedChild::signal(int number) const {
  if (running()) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

std::optional<int> OwnedChild::try_reap() {
  if (!running()) return std::nullopt;
  siginfo_t info{};
  if (::waitid(kByPidfd, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG) != 0) {
    if (errno != ECHILD) return std::nullopt;
    pidfd_.reset();  // somebody else reaped it: how it ended is not known
    return SIGKILL;
  }
  if (info.si_pid == 0) return std::nullopt;
  pidfd_.reset();
  return native_status(info);
}

void OwnedChild::end() {
  if (!running()) return;
  signal(SIGKILL);
  siginfo_t info{};
  // A loop that watched the pidfd made it one that does not block, and waitid does as it says.
  while (::waitid(kByPidfd, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0) {
    if (errno != EINTR && errno != EAGAIN) break;
    pollfd ended{pidfd_.get(), POLLIN, 0};
    ::poll(&ended, 1, -1);
  }
  pidfd_.reset();
}

}  // namespace loom
