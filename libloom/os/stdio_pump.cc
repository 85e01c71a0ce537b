#include "os/stdio_pump.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>
#include <vector>

#include "os/borrowed_watch.h"
#include "os/fds.h"

namespace loom {
namespace {

constexpr std::size_t kReadChunk = 256U << 10U;

bool is_socket(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 && S_ISSOCK(facts.st_mode);
}

// writev takes what it only reads by a pointer to non-const.
iovec as_iovec(std::string_view bytes) {
  return iovec{const_cast<char*>(bytes.data()), bytes.size()};
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

  Loop::Watch wait(std::function<void()> then) {
    if (own) return loop.watch(own->get(), Readiness::kWrite, std::move(then));
    return watch_borrowed(loop, fd, Readiness::kWrite, std::move(then));
  }

  [[nodiscard]] int target() const { return own ? own->get() : fd; }

  // One write that does not block. What is neither a socket nor reopened (a pipe of another user) takes a page when it
  // is ready at all, so no more than that is offered.
  ssize_t write_once(iovec* pieces, int count) const {
    if (socket) {
      msghdr message{};
      message.msg_iov = pieces;
      message.msg_iovlen = static_cast<std::size_t>(count);
      return ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (own || !waitable) return ::writev(target(), pieces, count);
    if (!ready_now(fd, POLLOUT)) return errno = EAGAIN, -1;
    return ::write(fd, pieces->iov_base, std::min<std::size_t>(pieces->iov_len, PIPE_BUF));
  }

  // Writes what goes; afterwards `pieces` are what is left. Sets broken on an error.
  void write_some(std::vector<iovec>& pieces) {
    std::size_t first = 0;
    while (first < pieces.size()) {
      const ssize_t put = write_once(&pieces[first], static_cast<int>(pieces.size() - first));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK) fail_with(errno);
        break;
      }
      written += static_cast<std::uint64_t>(put);
      first = skip(pieces, first, static_cast<std::size_t>(put));
    }
    pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(first));
  }

  static std::size_t skip(std::vector<iovec>& pieces, std::size_t first, std::size_t bytes) {
    while (first < pieces.size() && bytes >= pieces[first].iov_len) bytes -= pieces[first++].iov_len;
    if (first < pieces.size()) {
      pieces[first].iov_base = static_cast<char*>(pieces[first].iov_base) + bytes;
      pieces[first].iov_len -= bytes;
    }
    return first;
  }

  void fail_with(int error) {
    broken = true;
    watch.reset();
    callbacks.failed(error);
  }

  void push(std::initializer_list<std::string_view> data) {
    std::vector<iovec> pieces;
    for (const auto& piece : data) {
      if (!piece.empty()) pieces.push_back(as_iovec(piece));
    }
    if (!broken && held.empty()) write_some(pieces);
    for (const auto& piece : pieces) keep(std::string_view(static_cast<const char*>(piece.iov_base), piece.iov_len));
    if (broken) drop();
    if (!held.empty() && !watch) watch = wait([this] { flush(); });
    callbacks.progress();
  }

  void keep(std::string_view piece) {
    // What was written long ago makes room before the string grows.
    if (start > kReadChunk && start > held.size() / 2) {
      held.erase(0, start);
      start = 0;
    }
    held.append(piece);
  }

  void drop() {
    written += held.size() - start;
    held.clear();
    start = 0;
  }

  void flush() {
    std::vector<iovec> pieces{as_iovec(std::string_view(held).substr(start))};
    const std::uint64_t before = written;
    write_some(pieces);
    start += static_cast<std::size_t>(written - before);
    if (broken) drop();
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
  impl_->push({data});
}
void OutputPump::push(std::initializer_list<std::string_view> pieces) {
  impl_->push(pieces);
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
  bool paused = false;
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

  Loop::Watch wait(std::function<void()> then) {
    if (own) return loop.watch(own->get(), Readiness::kRead, std::move(then));
    return watch_borrowed(loop, fd, Readiness::kRead, std::move(then));
  }

  [[nodiscard]] int source() const { return own ? own->get() : fd; }

  void set_paused(bool now) {
    if (now == paused) return;
    paused = now;
    arm();
  }

  // Waits for the next chunk when one is allowed. A file that cannot be waited for is read one chunk a turn, so that
  // everything else gets its turn as well.
  void arm() {
    if (ended || paused || taken >= allowed) {
      watch.reset();
      turn.reset();
      return;
    }
    if (!waitable) {
      turn = loop.timer(loop.now(), [this] { read_once(); });
    } else if (!watch) {
      watch = wait([this] { read_once(); });
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

void InputPump::pause(bool paused) {
  impl_->set_paused(paused);
}

void InputPump::allow(std::uint64_t upto) {
  if (upto <= impl_->allowed) return;
  impl_->allowed = upto;
  impl_->arm();
}

}  // namespace loom
