// Any bytes as each of the documents of loom-egress, and what is read of a request before a judge that allows nothing
// and one that allows much.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "egress/config_document.h"
#include "egress/headers.h"
#include "egress/judge.h"
#include "egress/tokens.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom::egress;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto policy = decode_egress_policy_bytes(bytes);
  if (!policy && policy.error().code.empty()) std::abort();
  const auto config = decode_egress_config_bytes(bytes);
  if (!config && config.error().code.empty()) std::abort();
  const auto notice = decode_token_notice(bytes);
  if (!notice && notice.error().code.empty()) std::abort();
  const auto request = decode_request(bytes);
  if (!request) {
    if (failure_message(request.error()).empty()) std::abort();
    return 0;
  }
  for (const HeaderField& header : request->headers) {
    if (!is_token(header.name) || judge_header_value(header.value)) std::abort();
  }
  if (judge_request(EgressPolicy{}, *request)) std::abort();
  return 0;
}
