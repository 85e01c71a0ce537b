// Any payload: it decodes to a message or to an error, on each channel; and a message that came out, written again, is
// the same message.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/msgpack.h"
#include "test/support/wire_bodies.h"
#include "wire/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto frame = loom::decode_payload(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!frame) return 0;
  const auto kind = loom::parse_kind(frame->kind);
  if (!kind) return 0;
  for (const auto channel : {loom::Channel::kExec, loom::Channel::kControl}) {
    const auto once = loom::test::recode(channel, *kind, frame->body);
    if (!once) {
      if (once.error().code.empty() || once.error().what.empty()) std::abort();
      continue;
    }
    const auto twice = loom::test::recode(channel, *kind, *once);
    if (!twice || loom::render_msgpack(*twice) != loom::render_msgpack(*once)) std::abort();
  }
  return 0;
}
