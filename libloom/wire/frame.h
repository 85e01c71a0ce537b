// frame := u32_be length ++ msgpack map {v, id, kind, body} (spec/wire.md "Frame", "Faults"). Pure: bytes in, frames out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace loom {

inline constexpr std::size_t kMaxFrameBytes = 16U << 20U;

struct Frame {
  std::uint64_t id = 0;
  std::string kind;
  Value body;  // a map
  friend bool operator==(const Frame&, const Frame&) = default;
};

[[nodiscard]] std::string encode_frame(std::uint64_t id, std::string_view kind, const Value& body);
// The payload alone (without the length). Errors carry code malformed_frame.
[[nodiscard]] Result<Frame> decode_payload(std::string_view payload);

// Incremental: feed() bytes as they come, take next() until it answers nothing. One byte at a time gives the same frames as
// all at once. After an error the deframer is finished: it answers the same error for ever.
class Deframer {
 public:
  void feed(std::string_view bytes);
  // nullopt: more bytes are needed. Error: malformed_frame.
  [[nodiscard]] Result<std::optional<Frame>> next();
  [[nodiscard]] bool mid_frame() const;          // some bytes of an unfinished frame are held
  [[nodiscard]] std::size_t buffered() const;    // bytes held

 private:
  std::string buffer_;
  std::size_t start_ = 0;
  std::optional<Error> fault_;
};

}  // namespace loom
