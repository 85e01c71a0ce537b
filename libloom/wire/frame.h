// frame := u32_be length ++ msgpack map {v, id, kind, body} (spec/wire.md "Frame", "Faults"). Pure: bytes in, frames
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace loom {

inline constexpr std::size_t kMaxFrameBytes = 16U << 20U;  // of a payload
inline constexpr std::size_t kFrameLengthBytes = 4;

struct Frame {
  std::uint64_t id = 0;
  std::string kind;
  Value body;  // a map
  friend bool operator==(const Frame&, const Frame&) = default;
};

// The frame with its length. Whoever builds a body from foreign parts asks fits_frame before sending it.
// `body_bytes`: the encoded body's size where it is known; the frame is then never moved while it grows.
[[nodiscard]] std::string encode_frame(std::uint64_t id, std::string_view kind, const Value& body,
                                       std::size_t body_bytes = 0);
[[nodiscard]] inline bool fits_frame(std::string_view frame) {
  return frame.size() <= kFrameLengthBytes + kMaxFrameBytes;
}
// The payload alone (without the length). Errors carry code malformed_frame.
[[nodiscard]] Result<Frame> decode_payload(std::string_view payload);

// Incremental: feed() bytes as they come, take next() until it answers nothing. One byte at a time gives the same
// frames as all at once. After an error the deframer is finished: it answers the same error for ever.
class Deframer {
 public:
  void feed(std::string_view bytes);
  // nullopt: more bytes are needed. Error: malformed_frame.
  [[nodiscard]] Result<std::optional<Frame>> next();
  // Some bytes of an unfinished frame are held (once next() has answered nothing).
  [[nodiscard]] bool mid_frame() const;
  [[nodiscard]] std::size_t buffered() const;  // bytes held

 private:
  tl::unexpected<Error> give_up(Error error);

  std::string buffer_;
  std::size_t start_ = 0;
  std::optional<Error> fault_;
};

}  // namespace loom
