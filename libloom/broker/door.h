// What a control client sends, judged: hello, the permission table, the bodies, the order of ids. Pure.
// Nothing here knows what a request does; it says which request it is, or what to answer instead.
// Carries out: spec/wire.md "Faults", "Control channel".
//
//   frame                      awaiting hello                        open
//   hello                      open; or proto_mismatch, closed       protocol_violation, closed
//   a known kind not permitted protocol_violation, closed            the same
//   an unknown kind            unknown_kind                          the same
//   a body that does not       bad_request                           call_refused bad_request (clear_call), else
//   decode                                                           bad_request
//   a clear_call's id that     -                                     malformed_frame with id 0, closed
//   does not increase
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "base/clock.h"
#include "broker/event.h"

namespace loom::broker {

inline constexpr Duration kClientHello = seconds(5);

struct DoorState {
  bool open = false;
  std::uint64_t last_call = 0;  // the highest clear_call id
  std::optional<TimePoint> hello_due;
};

struct Answer {
  std::uint64_t id = 0;
  ControlReply message;
  bool close = false;
};
// Opened: the hello was right; there is nothing to answer.
struct Opened {};
using DoorVerdict = std::variant<Request, Answer, Opened>;

[[nodiscard]] DoorVerdict judge(DoorState& door, Frame frame, std::string_view our_name);
// The order of ids alone, for requests that never were a frame.
[[nodiscard]] std::optional<Answer> judge_call_id(DoorState& door, std::uint64_t id);

}  // namespace loom::broker
