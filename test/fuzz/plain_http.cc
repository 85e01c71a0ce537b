// Any bytes as the body of a plain request and as its answer: what passes does not depend on the pieces they come in.
// The first byte says how large those are, the second how the body is framed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "egress/forward.h"
#include "egress/response_patch.h"

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

std::string body_in_pieces(std::string_view bytes, std::size_t piece, const loom::egress::HttpHead& head) {
  loom::egress::BodyGate gate(head);
  std::string passed;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const auto admitted = gate.admit(bytes.substr(0, piece));
    if (!admitted) return "refused";
    demand(*admitted == std::min(piece, bytes.size()) || gate.done());
    passed += bytes.substr(0, *admitted);
  }
  return passed + (gate.done() ? " whole" : " and more");
}

std::string answer_in_pieces(std::string_view bytes, std::size_t piece) {
  loom::egress::ResponsePatch patch;
  std::string passed;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    passed += patch.pass(bytes.substr(0, piece));
  return passed + patch.rest();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = data[0] + 1U;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  loom::egress::HttpHead head;
  head.body = data[1] == 0 ? loom::egress::BodyKind::kChunked : loom::egress::BodyKind::kLength;
  head.length = data[1];
  demand(body_in_pieces(bytes, piece, head) == body_in_pieces(bytes, size, head));
  if (size < 60000) demand(answer_in_pieces(bytes, piece) == answer_in_pieces(bytes, size));
  return 0;
}
