// The frames that carry data and credit, without a Value between: written with one copy of the data, read by view.
// Purpose: they are nearly all that crosses while a command runs. What is written is what encode_frame would write.
// What is read is only ever a frame in canonical form; for anything else the answer is nothing, and decode_payload says
// what it is. Ownership: `data` is borrowed, from the caller or from the payload. Carries out: spec/wire.md "Frame"
// (canonical), spec/performance.md "What the measurements taught" (output).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/kinds.h"
#include "wire/stream.h"

namespace loom {

struct OutputFrame {  // exec_out, call_output
  std::uint64_t id = 0;
  Stream stream = Stream::kStdout;
  std::string_view data;
  std::uint64_t bytes = 0;
  bool truncated = false;
};

struct InputFrame {  // exec_stdin, call_stdin
  std::uint64_t id = 0;
  std::uint64_t target = 0;  // the key is `call` on the control channel
  std::string_view data;
  bool eof = false;
};

struct CreditFrame {  // exec_credit, call_credit
  std::uint64_t id = 0;
  std::uint64_t target = 0;
  Stream stream = Stream::kStdin;
  std::uint64_t upto = 0;
};

// The whole frame, its length included.
[[nodiscard]] std::string encode_output(Kind kind, const OutputFrame& frame);
[[nodiscard]] std::string encode_input(Kind kind, const InputFrame& frame);
[[nodiscard]] std::string encode_credit(Kind kind, const CreditFrame& frame);

// A payload (without its length). The view is good as long as the payload is.
[[nodiscard]] std::optional<OutputFrame> view_output(Kind kind, std::string_view payload);
[[nodiscard]] std::optional<InputFrame> view_input(Kind kind, std::string_view payload);
[[nodiscard]] std::optional<CreditFrame> view_credit(Kind kind, std::string_view payload);

}  // namespace loom
