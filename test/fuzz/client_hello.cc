// Any bytes as the first ones of a tunnel: in pieces of any size the same name or the same error, and never more than
// the bound is read. The first byte says how large the pieces are.
#include "egress/client_hello.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

std::string in_pieces(std::string_view bytes, std::size_t piece) {
  loom::egress::HelloReader reader;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const auto hello = reader.feed(bytes.substr(0, piece));
    if (!hello) return hello.error().code + ": " + hello.error().what;
    if (*hello) return (*hello)->server_name ? "name " + *(*hello)->server_name : "no name";
  }
  return "more";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = in_pieces(bytes, bytes.size() + 1);
  if (in_pieces(bytes, data[0] + 1U) != whole || in_pieces(bytes, 1) != whole) std::abort();
  if (whole == "more" && bytes.size() > loom::egress::kMaxHelloBytes) std::abort();
  if (whole.substr(0, 5) == "name " && whole.size() == 5) std::abort();
  return 0;
}
