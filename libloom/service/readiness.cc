#include "service/readiness.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "os/fds.h"

namespace loom::service {
namespace {

constexpr int kFirstListenFd = 3;

Result<int> listen_count() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  if (pid == nullptr || count == nullptr || std::to_string(::getpid()) != pid) return 0;
  const std::string text = count;
  if (text == "0") return 0;
  if (text != "1") return fail("listen_fds", "LISTEN_FDS", "one listening socket is taken, not \"" + text + "\"");
  return 1;
}

bool is_listening_unix_stream(int fd) {
  const auto option = [fd](int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  return option(SO_DOMAIN) == AF_UNIX && option(SO_TYPE) == SOCK_STREAM && option(SO_ACCEPTCONN) == 1;
}

}  // namespace

Status announce_ready(int fd, std::string_view line) {
  const UniqueFd owned(fd);
  auto written = write_all(fd, std::string(line) + "\n", "--ready-fd " + std::to_string(fd));
  if (!written) return fail("ready_fd_failed", written.error().where, written.error().what);
  return {};
}

void notify_supervisor(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un address{};
  const std::size_t length = std::strlen(path);
  if (length >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  if (fd)
    ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
}

Result<std::optional<UniqueFd>> take_listen_fd() {
  const auto count = listen_count();
  ::unsetenv("LISTEN_PID");
  ::unsetenv("LISTEN_FDS");
  ::unsetenv("LISTEN_FDNAMES");
  if (!count) return fail(count.error());
  if (*count == 0) return std::optional<UniqueFd>();
  UniqueFd fd(kFirstListenFd);
  if (!is_listening_unix_stream(fd.get())) {
    return fail("listen_fds", "LISTEN_FDS", "descriptor 3 is not a listening Unix stream socket");
  }
  ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  return std::optional<UniqueFd>(std::move(fd));
}

std::string bound_path(int fd) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  const std::size_t length = size - offsetof(sockaddr_un, sun_path);
  if (address.sun_family != AF_UNIX || length == 0 || address.sun_path[0] == '\0') return {};
  return {address.sun_path, ::strnlen(address.sun_path, length)};
}

}  // namespace loom::service
