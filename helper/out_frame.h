// The frame of a chunk of output in two parts, so that the chunk itself is written from where it stands and never
// copied into an encoding (spec/wire.md "Frame"; spec/performance.md: one writev per frame).
#pragma once

#include <cstdint>
#include <string>

#include "wire/stream.h"

namespace loom::helper {

struct OutFrame {
  std::string before;  // length, envelope and body up to the data's bytes
  std::string after;   // the rest of the body
};
// prefix + data + suffix is encode_frame(id, "exec_out", {stream, data, bytes, truncated}).
[[nodiscard]] OutFrame frame_around(std::uint64_t id, Stream stream, std::size_t data_size, std::uint64_t bytes,
                                    bool truncated);

}  // namespace loom::helper
