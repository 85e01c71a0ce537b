// Frames over a pair of non-blocking descriptors (a socket, or a helper's two pipes), on a Loop. It moves bytes and
// decides nothing: what a frame means is its owner's. Carries out: spec/wire.md "Frame" (a frame is complete 30 s after
// its first byte; inbound buffers of all clients together are bounded), spec/performance.md (one writev a frame).
// Ownership: the channel owns its descriptors. Its callbacks may destroy it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "os/loop.h"
#include "os/unique_fd.h"
#include "wire/frame.h"

namespace loom::service {

// What the channels that share it hold of unfinished frames. Over the limit they stop reading until it falls again.
class InboundBudget {
 public:
  explicit InboundBudget(std::size_t limit_bytes) : limit_(limit_bytes) {}
  [[nodiscard]] bool exhausted() const { return held_ >= limit_; }
  void changed(std::size_t before, std::size_t after) { held_ = held_ - before + after; }

 private:
  std::size_t limit_;
  std::size_t held_ = 0;
};

enum class ChannelEnd {
  kEof,        // end of file between frames
  kMalformed,  // the bytes are no frames, or a frame was not completed in time
  kCutShort,   // end of file inside a frame: malformed, too, but also how a peer that dies looks
  kBroken,     // reading or writing failed: the peer is not there
};

struct ChannelEvents {
  std::function<void(Frame)> frame;
  // Once. Nothing is read afterwards; what is sent still goes out unless it was kBroken.
  std::function<void(ChannelEnd, const Error&)> ended;
};

struct ChannelLimits {
  Duration frame_time = seconds(30);
  // Reading pauses while more than this waits to be written: a peer that asks and never reads cannot fill our memory.
  std::size_t unwritten_pause = 8U << 20U;
};

class FrameChannel {
 public:
  // `budget` is borrowed (may be null) and must outlive the channel.
  FrameChannel(Loop& loop, UniqueFd read, UniqueFd write, ChannelEvents events, InboundBudget* budget = nullptr,
               ChannelLimits limits = {});
  // A socket, both ways.
  FrameChannel(Loop& loop, UniqueFd socket, ChannelEvents events, InboundBudget* budget = nullptr,
               ChannelLimits limits = {});
  ~FrameChannel();
  FrameChannel(const FrameChannel&) = delete;
  FrameChannel& operator=(const FrameChannel&) = delete;

  // Queues encoded frames. With `secret` the bytes are wiped as soon as they were written.
  void send(std::string bytes, bool secret = false);
  // Calls back from the loop once everything sent was written, or could not be.
  void when_written(std::function<void()> callback);
  // Reads what is there now, without waiting, and gives its frames out: before a peer's end is told, or before we
  // leave. Stops after `at_most` bytes: a peer that writes on and on is not listened to for ever.
  void read_rest(std::size_t at_most = SIZE_MAX);
  // Closes the writing side: the peer reads an end of file.
  void close_write();
  [[nodiscard]] std::size_t unwritten() const { return unwritten_; }

 private:
  struct Outgoing {
    std::string bytes;
    std::size_t written = 0;
    bool secret = false;
  };

  [[nodiscard]] int write_fd() const { return write_ ? write_.get() : read_.get(); }
  void update_reading();
  void on_readable();
  // False: stop reading (nothing more now, or the channel ended or is gone).
  [[nodiscard]] bool read_once(const std::weak_ptr<int>& alive);
  [[nodiscard]] bool give_frames(const std::weak_ptr<int>& alive);
  void account();
  void watch_frame_time();
  void end(ChannelEnd how, const Error& error);
  void write_some();
  // False: the descriptor takes no more now.
  [[nodiscard]] bool write_once();
  void forget_written(std::size_t count);
  void drop_unwritten();
  void told_written();

  Loop& loop_;
  UniqueFd read_;
  UniqueFd write_;  // invalid: read_ is a socket and takes both
  ChannelEvents events_;
  InboundBudget* budget_;
  ChannelLimits limits_;
  Deframer deframer_;
  std::size_t accounted_ = 0;
  std::deque<Outgoing> queue_;
  std::size_t unwritten_ = 0;
  bool ended_ = false;
  bool write_closed_ = false;
  Loop::Watch reading_;
  Loop::Watch writing_;
  Loop::Timer frame_timer_;
  Loop::Timer retry_timer_;
  std::function<void()> written_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace loom::service
