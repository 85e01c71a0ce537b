// A client's side of the control channel: requests to frames, frames to replies (spec/wire.md "Control channel"). Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "broker/event.h"
#include "wire/frame.h"

namespace loom::broker {

[[nodiscard]] std::string encode_request(std::uint64_t id, const Request& request);
[[nodiscard]] std::string encode_client_hello();
// Errors: unknown_kind, protocol_violation (a kind that a broker never sends), malformed_frame (its body).
[[nodiscard]] Result<ControlReply> decode_reply(const Frame& frame);

}  // namespace loom::broker
