// The body of clear_call: one call asked of the broker.
// Carries out: spec/broker.md "A call" (the CallSpec table and its defaults), spec/wire.md "Control channel".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "wire/exec_start.h"

namespace loom {

struct CallBudget {
  std::uint64_t max_outstanding = 4;  // 1 or more
  std::uint64_t deadline_ms = 0;      // 0: none
  friend bool operator==(const CallBudget&, const CallBudget&) = default;
};

struct CallSpec {
  std::string op_id;                       // 1..128 bytes
  std::string step_id;                     // 1..128 bytes
  std::vector<std::string> argv;           // as in exec_start
  std::map<std::string, std::string> env;  // as in exec_start
  std::optional<std::string> cwd;          // absent: the broker chooses
  std::optional<Value> requirements;       // a policy document (a map); absent: the base
  std::vector<Value> grants;               // maps {kind, value}, a limit's with its field
  std::string narrowed = "refuse";         // refuse, proceed
  std::string demand = "platform";         // full, platform, best_effort
  std::optional<std::string> why;          // calls, paths
  CallBudget budget;
  std::uint64_t waiting_ms = 30'000;
  std::uint64_t deadline_ms = 0;  // 0: none
  bool wants_stdin = true;        // the key is `stdin`
  std::string session = "no";     // no, log, wire
  std::vector<std::string> caps;
  std::string caller;
  std::optional<TtySize> tty;
  friend bool operator==(const CallSpec&, const CallSpec&) = default;
};

// A key that holds its default is left out.
[[nodiscard]] Value encode(CallSpec const& message);
// Errors carry bad_request (the channel stays open), naming the key. Requirements and grants are checked in their outer
// shape only: what they mean is the policy's to say.
[[nodiscard]] Result<CallSpec> decode_call_spec(const Value& body);

}  // namespace loom
