#include "service/listener.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "os/socket.h"

namespace loom::service {
namespace {

constexpr int kAcceptsPerTurn = 32;
constexpr std::int64_t kPauseMs = 100;
constexpr std::int64_t kLookMs = 2000;

}  // namespace

Listener::Listener(Loop& loop, int listening_fd, ListenerEvents events)
    : loop_(loop), fd_(listening_fd), events_(std::move(events)) {
  watch_ = loop_.watch(fd_, Readiness::kRead, [this] { accept_some(); });
}

void Listener::hold(bool held) {
  held_ = held;
  if (held) {
    watch_.reset();
    retry_.reset();
  } else if (!watch_ && !retry_) {
    watch_ = loop_.watch(fd_, Readiness::kRead, [this] { accept_some(); });
  }
}

void Listener::accept_some() {
  for (int taken = 0; taken < kAcceptsPerTurn && !held_; ++taken) {
    Accepted accepted = accept_unix(fd_);
    switch (accepted.fault) {
      case AcceptFault::kNone:
        take(std::move(accepted.fd));
        break;
      case AcceptFault::kGone:
        break;
      case AcceptFault::kNobody:
        return resume();
      case AcceptFault::kExhausted:
        return pause();
      case AcceptFault::kBroken:
        watch_.reset();
        return events_.broken(
            Error{"socket_failed", "", std::string("cannot accept: ") + std::strerror(accepted.error), {}});
    }
  }
  resume();
}

void Listener::take(UniqueFd fd) const {
  const auto peer = peer_credentials(fd.get());
  // Without credentials nobody can be served; the connection ends with the descriptor.
  if (peer) events_.peer(std::move(fd), *peer);
}

void Listener::pause() {
  // Level-triggered readiness would spin while the peer waits in the queue.
  watch_.reset();
  retry_ = loop_.timer(loop_.now() + milliseconds(kPauseMs), [this] { accept_some(); });
  if (!std::exchange(paused_, true)) events_.paused(true);
}

void Listener::resume() {
  retry_.reset();
  if (!watch_ && !held_) watch_ = loop_.watch(fd_, Readiness::kRead, [this] { accept_some(); });
  if (std::exchange(paused_, false)) events_.paused(false);
}

SocketWatch::SocketWatch(Loop& loop, std::string path, FileIdentity identity, std::function<void(const Error&)> lost)
    : loop_(loop), path_(std::move(path)), identity_(identity), lost_(std::move(lost)) {
  inotify_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const std::string directory = path_.substr(0, path_.find_last_of('/') + 1);
  constexpr std::uint32_t kEvents =
      IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  if (inotify_ && ::inotify_add_watch(inotify_.get(), directory.c_str(), kEvents) >= 0) {
    watch_ = loop_.watch(inotify_.get(), Readiness::kRead, [this] {
      drain();
      look();
    });
  }
  look_later();
}

void SocketWatch::drain() {
  std::array<char, 4096> events;
  while (::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
}

void SocketWatch::look() {
  if (told_ || identify(path_) == identity_) return;
  told_ = true;
  watch_.reset();
  timer_.reset();
  const bool gone = !identify(path_).has_value();
  lost_(
      Error{"socket_lost", path_, gone ? "the socket has vanished" : "the socket was replaced by something else", {}});
}

// inotify does not see a change of a directory further up.
void SocketWatch::look_later() {
  if (told_) return;
  timer_ = loop_.timer(loop_.now() + milliseconds(kLookMs), [this] {
    look();
    look_later();
  });
}

}  // namespace loom::service
