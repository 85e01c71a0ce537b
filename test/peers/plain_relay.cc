// What the proxy is measured against: a relay that judges nothing. One thread, epoll, the same buffer as the proxy's.
// usage: plain_relay LISTEN_FD PORT     relays each connection to 127.0.0.1:PORT; ends with its parent
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

namespace {

constexpr std::size_t kChunk = 128U << 10U;

struct Side {
  int fd = -1;
  Side* other = nullptr;
  std::string held;  // for this side, not taken yet from `start` on
  std::size_t start = 0;
  std::uint32_t watched = 0;
  bool ended = false;  // has nothing more to say
  bool connecting = false;
};

int poller = -1;

void listen_for(Side& side) {
  epoll_event event{};
  event.data.ptr = &side;
  if (!side.ended && side.other->held.empty() && !side.other->connecting && !side.connecting) event.events |= EPOLLIN;
  if (!side.held.empty() || side.connecting) event.events |= EPOLLOUT;
  if (event.events == side.watched) return;
  side.watched = event.events;
  epoll_ctl(poller, EPOLL_CTL_MOD, side.fd, &event);
}

void add(Side& side) {
  epoll_event event{};
  event.data.ptr = &side;
  epoll_ctl(poller, EPOLL_CTL_ADD, side.fd, &event);
}

void finish(Side& side) {
  ::close(side.fd);
  ::close(side.other->fd);
  delete side.other;
  delete &side;
}

void accept_one(int listener, std::uint16_t port) {
  const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  auto* near = new Side;
  auto* far = new Side;
  near->fd = client;
  far->fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(far->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  near->other = far;
  far->other = near;
  far->connecting = true;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  static_cast<void>(::connect(far->fd, reinterpret_cast<const sockaddr*>(&to), sizeof to));
  add(*near);
  add(*far);
  listen_for(*far);
}

// False when the pair is gone.
bool pass(Side& from, std::array<char, kChunk>& buffer) {
  Side& to = *from.other;
  for (int reads = 0; reads < 8; ++reads) {
    const ssize_t got = ::recv(from.fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EAGAIN) return true;
    if (got < 0) return finish(from), false;
    if (got == 0) {
      from.ended = true;
      ::shutdown(to.fd, SHUT_WR);
      if (to.ended) return finish(from), false;
      return true;
    }
    ssize_t put = ::send(to.fd, buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
    if (put < 0 && errno != EAGAIN) return finish(from), false;
    if (put < 0) put = 0;
    if (put < got) {
      to.held.assign(buffer.data() + put, static_cast<std::size_t>(got - put));
      to.start = 0;
      return true;
    }
    if (static_cast<std::size_t>(got) < buffer.size()) return true;
  }
  return true;
}

void turn(Side& side, std::uint32_t events, std::array<char, kChunk>& buffer) {
  if ((events & EPOLLOUT) != 0) {
    side.connecting = false;
    const ssize_t put = ::send(side.fd, side.held.data() + side.start, side.held.size() - side.start, MSG_NOSIGNAL);
    if (put < 0 && errno != EAGAIN) return finish(side);
    if (put > 0) side.start += static_cast<std::size_t>(put);
    if (side.start == side.held.size()) side.held.clear();
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !pass(side, buffer)) return;
  listen_for(side);
  listen_for(*side.other);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int listener = std::atoi(argv[1]);
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  poller = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
  static std::array<char, kChunk> buffer;
  while (true) {
    // One at a time: an event may take another's pair along.
    epoll_event ready{};
    if (::epoll_wait(poller, &ready, 1, -1) < 1) continue;
    if (ready.data.ptr == nullptr)
      accept_one(listener, port);
    else
      turn(*static_cast<Side*>(ready.data.ptr), ready.events, buffer);
  }
}
