#include "service/frame_channel.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/hash.h"

namespace loom::service {
namespace {

constexpr std::size_t kReadBytes = 256U << 10U;
constexpr std::size_t kReadsPerTurn = 4;  // others have their turn, too
constexpr std::size_t kMaxVectors = 16;

Error broken(const char* doing) {
  return Error{"channel_broken", "", std::string(doing) + ": " + std::strerror(errno), {}};
}

}  // namespace

FrameChannel::FrameChannel(Loop& loop, UniqueFd read, UniqueFd write, ChannelEvents events, InboundBudget* budget,
                           ChannelLimits limits)
    : loop_(loop),
      read_(std::move(read)),
      write_(std::move(write)),
      events_(std::move(events)),
      budget_(budget),
      limits_(limits) {
  update_reading();
}

FrameChannel::FrameChannel(Loop& loop, UniqueFd socket, ChannelEvents events, InboundBudget* budget,
                           ChannelLimits limits)
    : FrameChannel(loop, std::move(socket), UniqueFd(), std::move(events), budget, limits) {}

FrameChannel::~FrameChannel() {
  if (budget_ != nullptr) budget_->changed(accounted_, 0);
  drop_unwritten();
}

// ---- inbound

void FrameChannel::update_reading() {
  const bool paused = unwritten_ > limits_.unwritten_pause || (budget_ != nullptr && budget_->exhausted());
  if (ended_ || paused) {
    reading_.reset();
  } else if (!reading_) {
    reading_ = loop_.watch(read_.get(), Readiness::kRead, [this] { on_readable(); });
  }
  // Nobody tells a channel that the shared budget has room again: it looks. Unfinished frames leave it within
  // frame_time.
  const bool look_again = !ended_ && paused && budget_ != nullptr && budget_->exhausted();
  if (!look_again) {
    retry_timer_.reset();
  } else {
    retry_timer_ = loop_.timer(loop_.now() + milliseconds(20), [this] { update_reading(); });
  }
}

void FrameChannel::on_readable() {
  // Another channel may have used the budget up since the last look.
  if (budget_ != nullptr && budget_->exhausted()) return update_reading();
  const std::weak_ptr<int> alive = alive_;
  for (std::size_t reads = 0; reads < kReadsPerTurn; ++reads) {
    if (!read_once(alive)) break;
  }
  if (!alive.expired()) update_reading();
}

void FrameChannel::read_rest(std::size_t at_most) {
  const std::weak_ptr<int> alive = alive_;
  for (std::size_t seen = 0; seen < at_most; seen += kReadBytes) {
    if (alive.expired() || ended_ || !read_once(alive)) return;
  }
}

bool FrameChannel::read_once(const std::weak_ptr<int>& alive) {
  static thread_local std::array<char, kReadBytes> buffer;
  const ssize_t count = ::read(read_.get(), buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return true;
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (count < 0) {
    end(ChannelEnd::kBroken, broken("cannot read"));
    return false;
  }
  if (count == 0) {
    if (deframer_.mid_frame()) {
      end(ChannelEnd::kCutShort, Error{"malformed_frame", "", "the channel ended inside a frame", {}});
    } else {
      end(ChannelEnd::kEof, Error{});
    }
    return false;
  }
  deframer_.feed(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
  return give_frames(alive) && static_cast<std::size_t>(count) == buffer.size();
}

bool FrameChannel::give_frames(const std::weak_ptr<int>& alive) {
  bool completed = false;
  for (;;) {
    auto next = deframer_.next();
    if (!next) {
      end(ChannelEnd::kMalformed, next.error());
      return false;
    }
    if (!*next) break;
    completed = true;
    events_.frame(std::move(**next));
    if (alive.expired() || ended_) return false;
  }
  if (completed) frame_timer_.reset();
  account();
  watch_frame_time();
  return budget_ == nullptr || !budget_->exhausted();
}

void FrameChannel::account() {
  if (budget_ != nullptr) budget_->changed(accounted_, deframer_.buffered());
  accounted_ = deframer_.buffered();
}

void FrameChannel::watch_frame_time() {
  if (!deframer_.mid_frame()) {
    frame_timer_.reset();
  } else if (!frame_timer_) {
    frame_timer_ = loop_.timer(loop_.now() + limits_.frame_time, [this] {
      end(ChannelEnd::kMalformed, Error{"malformed_frame", "", "a frame was not completed in time", {}});
    });
  }
}

void FrameChannel::end(ChannelEnd how, const Error& error) {
  if (ended_) return;
  ended_ = true;
  reading_.reset();
  frame_timer_.reset();
  retry_timer_.reset();
  if (budget_ != nullptr) budget_->changed(accounted_, 0);
  accounted_ = 0;
  if (how == ChannelEnd::kBroken) drop_unwritten();
  events_.ended(how, error);
}

// ---- outbound

void FrameChannel::send(std::string bytes, bool secret) {
  if (write_closed_) {
    if (secret) wipe(bytes);
    return;
  }
  unwritten_ += bytes.size();
  queue_.push_back(Outgoing{std::move(bytes), 0, secret});
  if (!writing_) write_some();
}

void FrameChannel::write_some() {
  while (!queue_.empty() && write_once()) {
  }
  if (!queue_.empty() && !writing_) {
    writing_ = loop_.watch(write_fd(), Readiness::kWrite, [this] { write_some(); });
  }
  if (queue_.empty()) {
    writing_.reset();
    told_written();
  }
  update_reading();
}

bool FrameChannel::write_once() {
  std::array<iovec, kMaxVectors> parts{};
  std::size_t count = 0;
  for (Outgoing& item : queue_) {
    if (count == parts.size()) break;
    parts[count++] = iovec{item.bytes.data() + item.written, item.bytes.size() - item.written};
  }
  const ssize_t written = ::writev(write_fd(), parts.data(), static_cast<int>(count));
  if (written >= 0) {
    forget_written(static_cast<std::size_t>(written));
    return true;
  }
  if (errno == EINTR) return true;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
  // Told from the loop: whoever sends is in the middle of something of its own. And told last: a peer that is gone may
  // have said how its work ended before it went.
  Error error = broken("cannot write");
  drop_unwritten();
  write_closed_ = true;
  loop_.post([this, alive = std::weak_ptr<int>(alive_), error] {
    if (alive.expired()) return;
    read_rest();
    if (!alive.expired()) end(ChannelEnd::kBroken, error);
  });
  return false;
}

void FrameChannel::forget_written(std::size_t count) {
  unwritten_ -= count;
  while (!queue_.empty()) {
    Outgoing& item = queue_.front();
    const std::size_t rest = item.bytes.size() - item.written;
    if (count < rest) {
      item.written += count;
      return;
    }
    count -= rest;
    if (item.secret) wipe(item.bytes);
    queue_.pop_front();
  }
}

void FrameChannel::drop_unwritten() {
  for (Outgoing& item : queue_) {
    if (item.secret) wipe(item.bytes);
  }
  queue_.clear();
  unwritten_ = 0;
  writing_.reset();
}

void FrameChannel::when_written(std::function<void()> callback) {
  written_ = std::move(callback);
  if (queue_.empty()) told_written();
}

void FrameChannel::told_written() {
  if (!written_) return;
  loop_.post([this, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired() || !written_ || !queue_.empty()) return;
    const auto callback = std::exchange(written_, nullptr);
    callback();
  });
}

void FrameChannel::close_write() {
  write_closed_ = true;
  drop_unwritten();
  if (write_) {
    write_.reset();
  } else {
    ::shutdown(read_.get(), SHUT_WR);
  }
}

}  // namespace loom::service
