#include "os/fds.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace loom {

std::string errno_text(int error) {
  // strerrordesc_np is thread-safe and never allocates; it knows every errno this libc knows.
  const char* text = ::strerrordesc_np(error);
  return text != nullptr ? text : "unknown error " + std::to_string(error);
}

bool is_open(int fd) {
  return fd >= 0 && ::fcntl(fd, F_GETFD) >= 0;
}

bool can_wait_for(int fd) {
  const UniqueFd probe(::epoll_create1(EPOLL_CLOEXEC));
  if (!probe) return true;
  epoll_event event{};
  return ::epoll_ctl(probe.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

std::optional<UniqueFd> reopen_nonblocking(int fd, Direction direction) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return std::nullopt;
  if (!S_ISFIFO(facts.st_mode) && ::isatty(fd) == 0) return std::nullopt;
  const int mode = direction == Direction::kRead ? O_RDONLY : O_WRONLY;
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd opened(::open(link.c_str(), mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!opened) return std::nullopt;
  return opened;
}

namespace {

using Clock = std::chrono::steady_clock;

// Waits until `fd` can be read or the time is over.
bool readable_before(int fd, const std::optional<Clock::time_point>& end) {
  if (!end) return true;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd entry{fd, POLLIN, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the read will say why
  }
}

}  // namespace

Result<std::string> read_to_end(int fd, std::size_t max_bytes, int timeout_ms, std::string_view name) {
  std::optional<Clock::time_point> end;
  if (timeout_ms > 0) end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::string all;
  std::string chunk(64U << 10U, '\0');
  for (;;) {
    if (!readable_before(fd, end)) return fail("read_timeout", std::string(name), "not at its end in time");
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return fail("read_failed", std::string(name), "cannot read: " + errno_text(errno));
    if (got == 0) return all;
    all.append(chunk, 0, static_cast<std::size_t>(got));
    if (all.size() > max_bytes)
      return fail("too_large", std::string(name), "over " + std::to_string(max_bytes) + " bytes");
  }
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail("unreadable", path, "cannot open: " + errno_text(errno));
  return read_to_end(fd.get(), max_bytes, 0, path);
}

Status write_all(int fd, std::string_view bytes, std::string_view name) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      pollfd entry{fd, POLLOUT, 0};
      (void)::poll(&entry, 1, -1);
      continue;
    }
    const char* code = errno == EPIPE ? "reader_gone" : "write_failed";
    return fail(code, std::string(name), "cannot write: " + errno_text(errno));
  }
  return {};
}

}  // namespace loom
