// Any bytes in any pieces: the deframer gives the same frames and the same fault, holds no more than it was given, and
// a frame that came out goes in again. The first byte says how large the pieces are.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/frame.h"

namespace {

struct Outcome {
  std::vector<loom::Frame> frames;
  std::optional<loom::Error> fault;
  std::size_t held = 0;
};

Outcome run(std::string_view stream, std::size_t piece) {
  Outcome outcome;
  loom::Deframer deframer;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    deframer.feed(stream.substr(at, piece));
    while (true) {
      auto next = deframer.next();
      if (!next) outcome.fault = next.error();
      if (!next || !next->has_value()) break;
      outcome.frames.push_back(**std::move(next));
    }
  }
  outcome.held = deframer.buffered();
  return outcome;
}

void demand(bool holds) {
  if (!holds) std::abort();
}

// A NaN is not equal to itself: frames are compared by their bytes.
bool same(const std::vector<loom::Frame>& a, const std::vector<loom::Frame>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (loom::encode_frame(a[i].id, a[i].kind, a[i].body) != loom::encode_frame(b[i].id, b[i].kind, b[i].body))
      return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] + 1U;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = run(stream, stream.size() + 1);
  const Outcome pieces = run(stream, piece);
  demand(same(whole.frames, pieces.frames));
  demand(whole.fault == pieces.fault);
  demand(whole.held == pieces.held && whole.held <= stream.size());
  for (const auto& frame : whole.frames) {
    const std::string again = loom::encode_frame(frame.id, frame.kind, frame.body);
    const Outcome back = run(again, again.size());
    demand(same(back.frames, {frame}) && !back.fault && back.held == 0);
  }
  return 0;
}
