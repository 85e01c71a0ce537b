#include "os/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace loom {

Signals::Signals(Loop& loop, const std::vector<int>& signals, std::function<void(int signal)> callback)
    : callback_(std::move(callback)) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &set, &before);
  ::sigemptyset(&added_);
  for (const int signal : signals) {
    if (::sigismember(&before, signal) == 0) ::sigaddset(&added_, signal);
  }
  fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd_) watch_ = loop.watch(fd_.get(), Readiness::kRead, [this] { read_all(); });
}

Signals::~Signals() {
  watch_.reset();
  ::sigprocmask(SIG_UNBLOCK, &added_, nullptr);
}

void Signals::read_all() {
  // One a turn: the callback may destroy this object, and a second signal still stands in the descriptor.
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return;
  const auto callback = callback_;
  callback(static_cast<int>(info.ssi_signo));
}

}  // namespace loom
