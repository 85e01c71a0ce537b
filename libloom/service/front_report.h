// The report of a call and the lines of the status descriptor, as values (spec/broker.md "Flags of run and call").
// Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "service/front.h"

namespace loom::service {

// {v, policy_digest, narrowings, outcome, stopped_by, status, enforcement, denied, egress, notes}. outcome is {exited:
// ...}, {failed: {kind, detail}} or {refused: {reason, detail, wanted}}; denied holds the denied: and attempt: entries
// of
// --why, enforcement all others, egress a {destination, reason} for each that the proxy refused, notes what was said
// beside them.
[[nodiscard]] Value render_report(const CallFacts& facts, const CallEnd& end, int status,
                                  const std::vector<std::string>& notes);
// {"type":"started",...} and {"type":"settled",...}
[[nodiscard]] Value started_line(const CallFacts& facts);
[[nodiscard]] Value settled_line(const CallEnd& end, int status);
// One line for each distinct destination that the egress proxy refused: "egress: other.test:443 refused: not_allowed".
[[nodiscard]] std::vector<std::string> egress_told(const CallEnd& end);
// The entries of --why, to be said as well.
[[nodiscard]] std::vector<std::string> refusals_told(const CallEnd& end);
// What a ceiling did to the command, a line each: a status of 137 alone tells nobody that memory ran out.
[[nodiscard]] std::vector<std::string> ceilings_told(const CallEnd& end);
// What is said on stderr about an end that is not the command's own; nothing for one that is.
[[nodiscard]] std::vector<Error> explain_end(const CallEnd& end);

}  // namespace loom::service
