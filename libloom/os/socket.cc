#include "os/socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace loom {
namespace {

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
};

Result<Address> address_of(const std::string& path) {
  if (path.size() > kMaxSocketPath) {
    return fail("socket_path_too_long", path,
                "a socket's path has at most " + std::to_string(kMaxSocketPath) + " bytes, this one " +
                    std::to_string(path.size()));
  }
  Address address;
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path, path.c_str(), path.size() + 1);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

const sockaddr* raw(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.name);
}

UniqueFd stream_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

tl::unexpected<Error> socket_failed(const std::string& path, const char* what) {
  return fail("socket_failed", path, std::string(what) + ": " + std::strerror(errno));
}

bool is_socket(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

tl::unexpected<Error> nobody(const std::string& path, const char* why) {
  return fail("no_broker", path, std::string("no broker answers: ") + why,
              "start one: loom-broker serve --base-policy FILE --socket " + path);
}

}  // namespace

Result<UniqueFd> listen_unix(const std::string& path, mode_t mode) {
  LOOM_TRY(const Address address, address_of(path));
  UniqueFd fd = stream_socket();
  if (!fd) return socket_failed(path, "cannot make a socket");
  // The file is born with its final mode: a chmod afterwards would leave a moment in which others could connect.
  const mode_t before = ::umask(0777 & ~mode);
  const int bound = ::bind(fd.get(), raw(address), address.size);
  const int error = errno;
  ::umask(before);
  errno = error;
  if (bound != 0 && error == EADDRINUSE) return fail("socket_in_use", path, "something is there already");
  if (bound != 0) return socket_failed(path, "cannot bind");
  if (::listen(fd.get(), SOMAXCONN) != 0) return socket_failed(path, "cannot listen");
  return fd;
}

Result<UniqueFd> connect_unix(const std::string& path, Duration patience) {
  LOOM_TRY(const Address address, address_of(path));
  UniqueFd fd = stream_socket();
  if (!fd) return socket_failed(path, "cannot make a socket");
  const auto until = std::chrono::steady_clock::now() + patience;
  while (::connect(fd.get(), raw(address), address.size) != 0) {
    if (errno == EINTR) continue;
    if (errno == ENOENT || errno == ENOTDIR) return nobody(path, "there is no such socket");
    if (errno == ECONNREFUSED) return nobody(path, is_socket(path) ? "the socket is stale" : "that is no socket");
    // A full backlog gives EAGAIN and nothing to poll for.
    if (errno != EAGAIN) return socket_failed(path, "cannot connect");
    if (std::chrono::steady_clock::now() >= until) return nobody(path, "its queue stays full");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return fd;
}

SocketLife probe_unix(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return SocketLife::kAbsent;
  if (!S_ISSOCK(info.st_mode)) return SocketLife::kNotASocket;
  const auto address = address_of(path);
  const UniqueFd fd = stream_socket();
  // Only a refused connection proves that nobody listens; whatever else happens counts as somebody.
  if (!address || !fd || ::connect(fd.get(), raw(*address), address->size) == 0) return SocketLife::kLive;
  return errno == ECONNREFUSED ? SocketLife::kStale : SocketLife::kLive;
}

Accepted accept_unix(int listening_fd) {
  UniqueFd fd(::accept4(listening_fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd) return Accepted{AcceptFault::kNone, std::move(fd), 0};
  const int error = errno;
  switch (error) {
    case EAGAIN:
      return Accepted{AcceptFault::kNobody, {}, error};
    case EINTR:
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
      return Accepted{AcceptFault::kGone, {}, error};
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
      return Accepted{AcceptFault::kExhausted, {}, error};
    default:
      return Accepted{AcceptFault::kBroken, {}, error};
  }
}

}  // namespace loom
