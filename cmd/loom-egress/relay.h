// Moves bytes between a client and its upstream, both ways, as fast as the slower of the two takes them: what one side
// does not take is held, at most one read's worth, and nothing more is read until it has gone (spec/egress.md "The
// proxy": half-close kept).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "egress/forward.h"
#include "egress/response_patch.h"
#include "os/loop.h"

namespace loom::egress_tool {

class Relay {
 public:
  enum class End { kClientEof, kClientLost, kUpstreamEof, kUpstreamLost, kBodyFault };
  struct Callbacks {
    std::function<void(std::uint64_t up, std::uint64_t down)> moved;
    std::function<void(End)> ended;  // an end of file is told once all of it was passed on
  };
  // The descriptors are borrowed, and non-blocking. `up` and `down` are what goes first to the upstream and to the
  // client. With a gate (plain HTTP), only what it lets goes up, the client is not read beyond, and the answer's head
  // tells the client that the connection closes.
  Relay(Loop& loop, int client, int upstream, Callbacks callbacks, std::optional<egress::BodyGate> gate);
  void begin(std::string up, std::string down);
  // Touches neither descriptor any more. Callbacks may stop the Relay, and destroy it in a later turn.
  void stop();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

 private:
  struct Lane {
    int from = -1;
    int to = -1;
    End eof = End::kClientEof;
    End from_lost = End::kClientLost;
    End to_lost = End::kUpstreamLost;
    std::string held;
    std::size_t start = 0;
    std::uint64_t moved = 0;
    bool at_end = false;
    Loop::Watch readable;
    Loop::Watch writable;
  };

  // Each answers whether the lane may go on: false after an end was told.
  bool read_some(Lane& lane);
  bool pass_on(Lane& lane, std::string_view bytes);
  bool reach_end(Lane& lane);
  bool deliver(Lane& lane, std::string_view bytes);
  bool flush(Lane& lane);
  bool write_some(Lane& lane, std::string_view& bytes);
  bool end(End how);
  void watch_reads(Lane& lane);
  void told_moved() const;

  Loop& loop_;
  Callbacks callbacks_;
  std::optional<egress::BodyGate> gate_;
  egress::ResponsePatch patch_;
  bool stopped_ = false;
  Lane up_;
  Lane down_;
};

}  // namespace loom::egress_tool
