// Any bytes as a grant, and as the source of a credential: refused by name, or a value with one spelling.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "egress/grants.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto grant = loom::egress::parse_grant(bytes);
  if (grant && loom::egress::parse_grant(render_grant(*grant)) != *grant) std::abort();
  if (grant &&
      (grant->caller.empty() || grant->caller.find_first_of("/:") != std::string::npos || grant->caller[0] == '.'))
    std::abort();
  if (!grant && grant.error().code != "bad_grant") std::abort();
  const auto source = loom::egress::parse_credential_source(bytes);
  if (!source && source.error().code != "bad_credential") std::abort();
  return 0;
}
