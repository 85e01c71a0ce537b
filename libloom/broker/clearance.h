// Deciding one call: a pipeline of stages, each a pure function over the clearance and the desk it is cleared at.
//
//   sweep mark -> compose -> narrow -> validate -> reserve -> mint -> egress -> checkout -> dispatch
//
//   stage       refuses with                                 takes (and gives back when a later stage does not pass)
//   sweep mark  operation_aborted                            -
//   compose     bad_request, policy_invalid                  the composed policy
//   narrow      policy_refused                               -
//   validate    policy_invalid                               -
//   reserve     budget_exhausted, deadline_passed            a reservation
//   mint        bad_request (no entropy)                     a token
//   egress      egress_unavailable                           a use of the proxy for its allow list
//   checkout    all_busy (by waiting), pool_unavailable,     a lease
//               degraded_helper
//   dispatch    operation_aborted, pool_unavailable          all of it goes to the execution
//
// A clearance that finds no slot gives everything back and waits: it goes through the whole pipeline again. One whose
// proxy is still starting does the same, and holds up nobody behind it.
// Carries out: spec/broker.md "A call" (Clearance), "Helpers and the pool" (congestion).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "broker/broker_core.h"
#include "broker/budget.h"
#include "broker/dispatcher.h"
#include "broker/proxies.h"
#include "broker/refusal.h"
#include "broker/sweep.h"
#include "broker/vault.h"
#include "policy/compose.h"
#include "wire/call_spec.h"

namespace loom::broker {

enum class Stage { kSweepMark, kCompose, kNarrow, kValidate, kReserve, kMint, kEgress, kCheckout, kDispatch };
inline constexpr int kStageCount = static_cast<int>(Stage::kDispatch) + 1;

// One call on its way. Holds the request, and whatever its stages took.
struct Clearance {
  ConnId conn = 0;
  std::uint64_t call = 0;  // the clear_call's id there
  CallSpec spec;
  std::string entropy;  // becomes the token; wiped when the clearance ends
  TimePoint arrived;
  bool swept = false;      // an abort reached it since it began
  bool must_wait = false;  // others stand in the queue before it

  // What the caller sent before the start, within the windows that every stream begins with.
  std::string early_stdin;
  bool early_eof = false;
  std::uint64_t early_stdout_upto = 0;
  std::uint64_t early_stderr_upto = 0;

  std::optional<Wait> wait;                  // in the queue
  std::size_t spec_bytes = 0;                // set there: how much memory it waits with, beside its early stdin
  std::optional<TimePoint> budget_deadline;  // of the ledger it waits under
  std::optional<Composed> composed;
  std::string digest;
  std::optional<Reservation> reservation;
  std::optional<TokenId> token;
  std::optional<ProxyId> proxy;
  std::optional<ProxyId> endpoint;  // the capability endpoint, when the caller has a grant there
  std::optional<ProxyId> awaits;    // a proxy or the endpoint that is starting
  std::optional<Lease> lease;

  [[nodiscard]] StepKey step() const { return {spec.op_id, spec.step_id}; }
  [[nodiscard]] TimePoint leaves_at() const;  // the end of its waiting budget
};

// Encoded sizes, not less than the real ones: of argv, environment and cwd; of all that a caller can make long.
[[nodiscard]] std::size_t request_bytes(const CallSpec& spec);
[[nodiscard]] std::size_t spec_bytes(const CallSpec& spec);

// What clearances are cleared against.
struct Desk {
  const BrokerConfig& config;
  Ledgers& ledgers;
  Vault& vault;
  Proxies& proxies;
  Dispatcher& dispatcher;
  TimePoint now;
};

struct Passed {};
struct Congested {};
using StageAnswer = std::variant<Passed, Congested, Refusal>;

// One stage. Stages are run in order; what a stage took stays in the clearance.
[[nodiscard]] StageAnswer run_stage(Stage stage, Clearance& clearance, Desk& desk);
// Everything that is held goes back: lease, token, reservation, policy.
void give_back(Clearance& clearance, Desk& desk);
// All stages. Passed: the clearance holds reservation, token and lease, and its mark was judged; dispatch it now.
// Otherwise it holds nothing.
[[nodiscard]] StageAnswer clear(Clearance& clearance, Desk& desk);

// The token of this call at the capability endpoint, made from the call's own before that is handed over; telling one
// tells nothing of the other.
[[nodiscard]] std::string endpoint_token(const Clearance& clearance);

// The request as the helper gets it. Takes argv, environment and token out of the clearance.
[[nodiscard]] Dispatch make_dispatch(Clearance& clearance, const Desk& desk, std::uint64_t seq);

}  // namespace loom::broker
