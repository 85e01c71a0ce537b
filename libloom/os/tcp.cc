#include "os/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "os/fds.h"

namespace loom {
namespace {

struct Raw {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Raw raw_of(const TcpAddress& address) {
  Raw raw;
  if (address.v6) {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_port = htons(address.port);
    std::memcpy(&name.sin6_addr, address.bytes.data(), sizeof name.sin6_addr);
    std::memcpy(&raw.storage, &name, sizeof name);
    raw.size = sizeof name;
  } else {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(address.port);
    std::memcpy(&name.sin_addr, address.bytes.data(), sizeof name.sin_addr);
    std::memcpy(&raw.storage, &name, sizeof name);
    raw.size = sizeof name;
  }
  return raw;
}

int option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

Result<UniqueFd> begin_connect(const TcpAddress& to) {
  UniqueFd fd(::socket(to.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail("connect", "", "no socket: " + errno_text(errno));
  // What is passed on was written by somebody who meant it to go.
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const Raw raw = raw_of(to);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&raw.storage), raw.size) != 0 && errno != EINPROGRESS)
    return fail("connect", "", errno_text(errno));
  return fd;
}

Result<UniqueFd> listen_loopback(std::uint16_t port) {
  const auto failed = [&] {
    return fail("listen_failed", "127.0.0.1:" + std::to_string(port), "cannot listen: " + errno_text(errno));
  };
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed();
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  TcpAddress address;
  address.bytes = {127, 0, 0, 1};
  address.port = port;
  const Raw raw = raw_of(address);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&raw.storage), raw.size) != 0) return failed();
  if (::listen(fd.get(), SOMAXCONN) != 0) return failed();
  return fd;
}

int connect_error(int fd) {
  return option(fd, SO_ERROR);
}

std::optional<TcpAddress> bound_tcp(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  TcpAddress address;
  if (storage.ss_family == AF_INET) {
    sockaddr_in name{};
    std::memcpy(&name, &storage, sizeof name);
    std::memcpy(address.bytes.data(), &name.sin_addr, sizeof name.sin_addr);
    address.port = ntohs(name.sin_port);
    return address;
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 name{};
  std::memcpy(&name, &storage, sizeof name);
  std::memcpy(address.bytes.data(), &name.sin6_addr, sizeof name.sin6_addr);
  address.v6 = true;
  address.port = ntohs(name.sin6_port);
  return address;
}

bool is_listening_stream(int fd) {
  return option(fd, SO_TYPE) == SOCK_STREAM && option(fd, SO_ACCEPTCONN) == 1;
}

}  // namespace loom
