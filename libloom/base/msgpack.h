// msgpack in and out, by the msgpack-c adapter in msgpack.cc (no msgpack header leaves it).
// Carries out: spec/wire.md "Frame" (canonical encoding, decoding refuses).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct MsgpackLimits {
  std::size_t max_bytes = 16U << 20U;
  std::size_t max_depth = 32;  // the outermost container is level 1
  // A value of one byte becomes forty: this, not the bytes, bounds the memory that a peer can take.
  std::size_t max_values = 1U << 19U;
};

// The whole input is one value. Errors: document_too_large, trailing_bytes, truncated, nesting, duplicate_key,
// wrong_type (a key that is not text, an ext type), malformed (the never-used byte, a container that claims more
// elements than bytes remain, text that is not UTF-8), too_many_values. `where` is a pointer ("/limits/pids") as far as
// it was known.
[[nodiscard]] Result<Value> parse_msgpack(std::string_view bytes, const MsgpackLimits& limits = {});

// Canonical: smallest integer form, str for std::string, bin for Binary, map members in the map's order.
[[nodiscard]] std::string render_msgpack(const Value& value);
// The same with the members of every map sorted by key, bytewise: policies and digests.
[[nodiscard]] std::string render_msgpack_sorted(const Value& value);

// The same forms one at a time, appended to `out`: for encoders that must not build a Value (frames, chunks of data).
void append_msgpack(std::string& out, const Value& value);
void append_msgpack_map(std::string& out, std::uint32_t members);  // the header alone; the members follow
void append_msgpack_count(std::string& out, std::uint64_t count);
void append_msgpack_bool(std::string& out, bool flag);
void append_msgpack_text(std::string& out, std::string_view text);
void append_msgpack_bytes_header(std::string& out, std::size_t size);  // the bytes follow

}  // namespace loom
