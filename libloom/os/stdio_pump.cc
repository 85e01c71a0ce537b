#include "os/stdio_pump.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>

#include "os/fds.h"

namespace loom {
namespace {

constexpr std::size_t kReadChunk = 256U << 10U;

bool is_socket(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 && S_ISSOCK(facts.st_mode);
}

bool ready_now(int fd, short events) {
  pollfd entry{fd, events, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace

struct OutputPump::Impl {
  Loop& loop;
  int fd;
  Callbacks callbacks;
  std::optional<UniqueFd> own;  // the same pipe or terminal, not blocking
  bool socket;
  bool waitable;
  std::string held;
  std::size_t start = 0;
  std::uint64_t written = 0;
  bool broken = false;
  Loop::Watch watch;

  Impl(Loop& l, int f, Callbacks c)
      : loop(l),
        fd(f),
        callbacks(std::move(c)),
        own(reopen_nonblocking(f, Direction::kWrite)),
        socket(is_socket(f)),
        waitable(can_wait_for(f)) {}

  [[nodiscard]] int target() const { return own ? own->get() : fd; }

  // One write that does not block. What is neither a socket nor reopened (a pipe of another user) takes a page when it
  // is ready at all, so no more than that is offered.
  ssize_t write_once(std::string_view bytes) const {
    if (socket) return ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (own || !waitable) return ::write(target(), bytes.data(), bytes.size());
    if (!ready_now(fd, POLLOUT)) return errno = EAGAIN, -1;
    return ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
  }

  // How much of `bytes` went out; sets broken on an error.
  std::size_t write_some(std::string_view bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t put = write_once(bytes.substr(done));
      if (put >= 0) {
        done += static_cast<std::size_t>(put);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) fail_with(errno);
      break;
    }
    return done;
  }

  void fail_with(int error) {
    broken = true;
    watch.reset();
    callbacks.failed(error);
  }

  void push(std::string_view data) {
    std::size_t done = 0;
    if (!broken && held.empty()) done = write_some(data);
    written += done;
    data.remove_prefix(done);
    if (broken) {
      drop(data.size());
    } else if (!data.empty()) {
      held.append(data);
      if (!watch) watch = loop.watch(target(), Readiness::kWrite, [this] { flush(); });
    }
    callbacks.progress();
  }

  void drop(std::size_t more) {
    written += held.size() - start + more;
    held.clear();
    start = 0;
  }

  void flush() {
    const std::size_t done = write_some(std::string_view(held).substr(start));
    written += done;
    start += done;
    if (broken) drop(0);
    if (start == held.size()) {
      held.clear();
      start = 0;
      watch.reset();
    }
    callbacks.progress();
  }
};

OutputPump::OutputPump(Loop& loop, int fd, Callbacks callbacks)
    : impl_(std::make_unique<Impl>(loop, fd, std::move(callbacks))) {}
OutputPump::~OutputPump() = default;
void OutputPump::push(std::string_view data) {
  impl_->push(data);
}
std::uint64_t OutputPump::written() const {
  return impl_->written;
}
bool OutputPump::empty() const {
  return impl_->held.empty();
}

struct InputPump::Impl {
  Loop& loop;
  int fd;
  Sink sink;
  std::optional<UniqueFd> own;
  bool socket;
  bool waitable;
  std::uint64_t allowed = 0;
  std::uint64_t taken = 0;
  bool ended = false;
  std::string buffer;
  Loop::Watch watch;
  Loop::Timer turn;

  Impl(Loop& l, int f, Sink s)
      : loop(l),
        fd(f),
        sink(std::move(s)),
        own(reopen_nonblocking(f, Direction::kRead)),
        socket(is_socket(f)),
        waitable(can_wait_for(f)) {}

  [[nodiscard]] int source() const { return own ? own->get() : fd; }

  // Waits for the next chunk when one is allowed. A file that cannot be waited for is read one chunk a turn, so that
  // everything else gets its turn as well.
  void arm() {
    if (ended || taken >= allowed) {
      watch.reset();
      return;
    }
    if (!waitable) {
      turn = loop.timer(loop.now(), [this] { read_once(); });
    } else if (!watch) {
      watch = loop.watch(source(), Readiness::kRead, [this] { read_once(); });
    }
  }

  void read_once() {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(allowed - taken, kReadChunk));
    buffer.resize(want);
    const ssize_t got = socket ? ::recv(fd, buffer.data(), want, MSG_DONTWAIT) : ::read(source(), buffer.data(), want);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return arm();
    const int error = got < 0 ? errno : 0;
    ended = got <= 0;
    buffer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    taken += buffer.size();
    arm();
    sink(std::move(buffer), ended, error);
    buffer.clear();
  }
};

InputPump::InputPump(Loop& loop, int fd, Sink sink) : impl_(std::make_unique<Impl>(loop, fd, std::move(sink))) {}
InputPump::~InputPump() = default;

void InputPump::allow(std::uint64_t upto) {
  if (upto <= impl_->allowed) return;
  impl_->allowed = upto;
  impl_->arm();
}

}  // namespace loom
