// Frames over two descriptors, blocking: what a scripted peer needs of a transport. No part of the tools.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"
#include "wire/frame.h"

namespace loom::test {

enum class Arrival { kFrame, kEnd, kTimeout, kMalformed };

class FramePort {
 public:
  FramePort(int in, int out) : in_(in), out_(out) {}  // borrowed

  // The next frame into `frame`, waiting at most `timeout_ms`; for as long as it takes when that is negative.
  [[nodiscard]] Arrival next(Frame& frame, int timeout_ms);
  // Everything, or false when the peer takes no more.
  bool send_bytes(std::string_view bytes) const;
  bool send(std::uint64_t id, std::string_view kind, const Value& body) const {
    return send_bytes(encode_frame(id, kind, body));
  }

  [[nodiscard]] int in() const { return in_; }
  [[nodiscard]] int out() const { return out_; }

 private:
  int in_;
  int out_;
  Deframer deframer_;
};

// One line of JSON: {"id":…,"kind":…,"body":…}. A chunk of output that is text is shown as text.
[[nodiscard]] std::string frame_line(const Frame& frame);

// A body from JSON, in which {"hex":"00ff"} stands for bytes. Ends the program with a line on stderr when it is none.
[[nodiscard]] Value body_of_json(std::string_view json);

}  // namespace loom::test
