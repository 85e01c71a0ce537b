// Any bytes as a SOCKS5 greeting and as a request: what is read does not depend on what follows, and until it is whole
// nothing is read.
#include "egress/socks.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/host.h"

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

template <class Parse>
auto read_whole(std::string_view bytes, Parse parse) {
  auto found = parse(bytes);
  if (found && *found) {
    demand((*found)->bytes <= bytes.size());
    const auto exact = parse(bytes.substr(0, (*found)->bytes));
    demand(exact && *exact && (*exact)->bytes == (*found)->bytes);
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom::egress;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_whole(bytes, parse_socks_greeting);
  const auto request = read_whole(bytes, parse_socks_request);
  if (!request || !*request || (*request)->verdict == SocksReply::kAddressTypeUnsupported) return 0;
  const auto early = parse_socks_request(bytes.substr(0, (*request)->bytes - 1));
  demand(early && !early->has_value());
  demand((*request)->host.size() <= 255);
  // An address that came as bytes is one that the host parser takes.
  if (bytes[3] != 3) demand(loom::parse_host((*request)->host).has_value());
  return 0;
}
