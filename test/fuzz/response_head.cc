// Any bytes as the head of a response: what is accepted is framed in one way only, and reads the same when it is
// written again.
#include "egress/response_head.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom::egress;
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  const auto head = parse_response_head(raw);
  if (!head) return 0;
  demand(head->status >= 100 && head->status <= 999 && head->status != 101);
  demand(!(head->chunked && head->length));
  demand(head->values("transfer-encoding").size() == (head->chunked ? 1U : 0U));
  std::string again = "HTTP/1.1 " + std::to_string(head->status) + " x\r\n";
  for (const HeaderField& field : head->headers) {
    demand(is_token(field.name) && !judge_header_value(field.value));
    again += field.name + ": " + field.value + "\r\n";
  }
  if (again.size() + 2 > kMaxResponseHead) return 0;
  const auto second = parse_response_head(again + "\r\n");
  demand(second && second->headers == head->headers && second->length == head->length &&
         second->chunked == head->chunked);
  return 0;
}
