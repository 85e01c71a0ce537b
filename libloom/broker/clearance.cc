#include "broker/clearance.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/msgpack.h"
#include "broker/instant.h"
#include "policy/covers.h"
#include "policy/decode.h"
#include "wire/frame.h"

namespace loom::broker {

namespace {

constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxRequirements = 1U << 20U;  // as of every policy document
// What an execution's start and a call's answer hold beside what the caller decides, and more.
constexpr std::size_t kFrameRoom = 64U << 10U;
constexpr std::size_t kEntryRoom = 10;  // the longest headers of a name and its value

BudgetTerms terms_of(const CallSpec& spec) {
  return {spec.budget.max_outstanding, spec.budget.deadline_ms};
}

// What the decoder of clear_call refuses, for requests that never were a frame; and what this broker does not offer.
std::optional<Refusal> fault_of(const CallSpec& spec, const BrokerConfig& config) {
  if (spec.op_id.empty() || spec.op_id.size() > kMaxName) return bad_request("/op_id: want 1 to 128 bytes");
  if (spec.step_id.empty() || spec.step_id.size() > kMaxName) return bad_request("/step_id: want 1 to 128 bytes");
  if (spec.argv.empty()) return bad_request("/argv: want at least the command");
  for (const auto& [name, value] : spec.env) {
    if (name.compare(0, 5, "LOOM_") == 0) return bad_request("/env: names that begin with LOOM_ are set by loom alone");
  }
  if (!spec.grants.empty() && !config.allow_grants) {
    return bad_request(
        "/grants: this broker allows none, so no --grant, --env or --allow-host (the operator's serve --grants allow)");
  }
  if (spec.session != "no" && !config.allow_sessions) {
    return bad_request("/session: this broker allows none (serve --allow-sessions)");
  }
  if (!spec.caps.empty()) return bad_request("/caps: this broker has no capability channel");
  return std::nullopt;
}

Result<std::vector<Grant>> grants_of(const CallSpec& spec) {
  std::vector<Grant> out;
  for (const Value& value : spec.grants) {
    LOOM_TRY(Grant grant, decode_grant(value));
    out.push_back(std::move(grant));
  }
  return out;
}

Policy base_of(const CallSpec& spec, const BrokerConfig& config) {
  Policy base = config.base;
  // A jail that could see the control socket would own the broker.
  if (!config.control_dir.empty()) base.protected_paths.push_back(config.control_dir);
  // The proxies read their configuration anew when it changes: a jail that could write it would widen its own way out,
  // and one that could write the record would say what had been refused to it.
  for (const Path& file : config.way_out_files) {
    const auto& listed = base.protected_paths;
    if (std::find(listed.begin(), listed.end(), file) == listed.end()) base.protected_paths.push_back(file);
  }
  if (spec.session == "log") return session_lease(std::move(base), LeaseOutput::kLog);
  if (spec.session == "wire") return session_lease(std::move(base), LeaseOutput::kWire);
  return base;
}

StageAnswer mark_stage(Clearance& clearance, Desk&) {
  if (clearance.swept) return refusal(RefusalReason::kOperationAborted);
  return Passed{};
}

// The sockets of this broker's jails, and of others beside it: a view wide enough to hold them shows none. (A broker
// with a socket of its own hides their common directory in every call.)
void hide_sockets(Policy& policy, const BrokerConfig& config) {
  if (config.jail_dir.empty() || !config.control_dir.empty()) return;
  const Path above = config.jail_dir.substr(0, config.jail_dir.rfind('/'));
  if (above == "/tmp") return;  // the jail has its own
  for (const auto* roots : {&policy.readable_roots, &policy.writable_roots}) {
    const bool sees = std::any_of(roots->begin(), roots->end(), [&](const Path& root) { return covers(root, above); });
    if (!sees) continue;
    policy.protected_paths.push_back(above);
    return;
  }
}

StageAnswer compose_stage(Clearance& clearance, Desk& desk) {
  if (auto fault = fault_of(clearance.spec, desk.config)) return std::move(*fault);
  auto grants = grants_of(clearance.spec);
  if (!grants) return bad_request(std::move(grants.error()).context("/grants").text());
  const Policy base = base_of(clearance.spec, desk.config);
  if (!clearance.spec.requirements) {
    clearance.composed = compose(base, base, *grants);
    hide_sockets(clearance.composed->policy, desk.config);
    return Passed{};
  }
  if (render_msgpack(*clearance.spec.requirements).size() > kMaxRequirements) {
    return policy_invalid(Error{"document_too_large", "", "too large: a policy has at most 1 MiB", {}});
  }
  const auto requirements = decode_policy(*clearance.spec.requirements);
  if (!requirements) return policy_invalid(requirements.error());
  clearance.composed = compose(base, *requirements, *grants);
  hide_sockets(clearance.composed->policy, desk.config);
  return Passed{};
}

// An answer tells each narrowing up to twice, as itself and as a grant.
bool fits_an_answer(const std::vector<Narrowing>& narrowings) {
  constexpr std::size_t kMost = (kMaxFrameBytes / 2 - kMaxRequirements * 2) / 2;
  std::size_t bytes = 0;
  for (const Narrowing& narrowing : narrowings) {
    bytes += render_msgpack(encode_narrowing(narrowing)).size();
    if (bytes > kMost) return false;
  }
  return true;
}

bool wants_proxy(const Value& grant) {
  const Value* value = grant.find("value");
  const Value* mode = value != nullptr ? value->find("mode") : nullptr;
  return mode != nullptr && *mode == Value("proxy");
}

StageAnswer narrow_stage(Clearance& clearance, Desk& desk) {
  clearance.composed = narrow_unenforceable(std::move(*clearance.composed), HostNetwork{desk.config.can_proxy});
  if (!fits_an_answer(clearance.composed->narrowings)) {
    return bad_request("/requirements: " + std::to_string(clearance.composed->narrowings.size()) +
                       " of them go past the base: more than an answer can name");
  }
  const bool refuses = clearance.spec.narrowed != "proceed";
  if (!refuses || clearance.composed->narrowings.empty()) return Passed{};
  Refusal refused = policy_refused(clearance.composed->narrowings);
  // Where no proxy can be had, its grant would not do.
  if (!desk.config.can_proxy) std::erase_if(refused.wanted, wants_proxy);
  return refused;
}

// Whether the helper's start is a frame: one that is too long would cost the helper, and all who share it. The policy
// has to fit the caller's call_started beside the narrowings, too.
bool fits_a_start(const Clearance& clearance) {
  const std::size_t policy = render_policy_msgpack(clearance.composed->policy).size();
  return policy <= 4 * kMaxRequirements && kFrameRoom + policy + request_bytes(clearance.spec) <= kMaxFrameBytes;
}

StageAnswer validate_stage(Clearance& clearance, Desk&) {
  if (const Status valid = validate_composed(clearance.composed->policy); !valid) return policy_invalid(valid.error());
  if (!fits_a_start(clearance)) return bad_request("the arguments, the environment and the policy exceed 16 MiB");
  clearance.digest = policy_digest(clearance.composed->policy);
  return Passed{};
}

StageAnswer reserve_stage(Clearance& clearance, Desk& desk) {
  auto answer = desk.ledgers.reserve(clearance.step(), terms_of(clearance.spec), desk.now);
  if (const auto* full = std::get_if<BudgetExhausted>(&answer)) return budget_exhausted(full->outstanding, full->max);
  if (std::holds_alternative<DeadlinePassed>(answer)) return refusal(RefusalReason::kDeadlinePassed);
  clearance.reservation = std::get<Reservation>(std::move(answer));
  return Passed{};
}

StageAnswer mint_stage(Clearance& clearance, Desk& desk) {
  std::optional<TimePoint> deadline = desk.ledgers.deadline(clearance.step());
  if (clearance.spec.deadline_ms != 0) deadline = earlier(deadline, after_ms(desk.now, clearance.spec.deadline_ms));
  clearance.token = desk.vault.mint(clearance.entropy, {clearance.step(), clearance.digest, deadline});
  if (!clearance.token) return bad_request("the broker has no entropy for a token");
  return Passed{};
}

using Borrowed = std::variant<ProxyId, ProxyStarting, ProxyRefusal>;

StageAnswer take_way_out(Clearance& clearance, Borrowed answer, std::optional<ProxyId>& held) {
  if (auto* none = std::get_if<ProxyRefusal>(&answer)) return egress_unavailable(std::move(none->detail));
  if (const auto* starting = std::get_if<ProxyStarting>(&answer)) {
    clearance.awaits = starting->id;
    return Congested{};
  }
  held = std::get<ProxyId>(answer);
  return Passed{};
}

StageAnswer egress_stage(Clearance& clearance, Desk& desk) {
  clearance.awaits.reset();
  const Network& network = clearance.composed->policy.network;
  // One that is named by its socket is the operator's.
  if (network.mode == NetworkMode::kProxy && network.proxy.empty()) {
    StageAnswer answer = take_way_out(clearance, desk.proxies.borrow(network.allow, desk.now), clearance.proxy);
    if (!std::holds_alternative<Passed>(answer)) return answer;
  }
  // A caller without a grant gets neither socket nor token, and is not told so: it may not have wanted any.
  const auto& callers = desk.config.egress_callers;
  if (std::find(callers.begin(), callers.end(), clearance.spec.caller) == callers.end()) return Passed{};
  return take_way_out(clearance, desk.proxies.borrow_endpoint(desk.now), clearance.endpoint);
}

Demand demand_of(const Clearance& clearance, const BrokerConfig& config) {
  Demand asked = Demand::kPlatform;
  (void)parse_demand(clearance.spec.demand, asked);
  return std::max(asked, config.demand);
}

// What its hello already says that it lacks.
std::vector<std::string> lacking(const Clearance& clearance, const Desk& desk, const Report& features) {
  std::vector<std::string> missing;
  if (demand_of(clearance, desk.config) == Demand::kBestEffort) return missing;
  for (std::string& layer : required_layers(clearance.composed->policy, features)) {
    const bool held = std::any_of(features.begin(), features.end(),
                                  [&](const std::string& feature) { return layer_of(feature) == layer; });
    if (!held) missing.push_back(std::move(layer));
  }
  return missing;
}

StageAnswer checkout_stage(Clearance& clearance, Desk& desk) {
  if (clearance.must_wait) return Congested{};
  auto answer = desk.dispatcher.borrow(desk.now);
  if (const auto* none = std::get_if<NoSlot>(&answer)) {
    switch (*none) {
      case NoSlot::kCongested:
        return Congested{};
      case NoSlot::kUnavailable:
        return refusal(RefusalReason::kPoolUnavailable);
    }
  }
  clearance.lease = std::get<Lease>(answer);
  const auto missing = lacking(clearance, desk, desk.dispatcher.features(*clearance.lease));
  if (!missing.empty()) return degraded_helper(missing);
  return Passed{};
}

// The mark is judged here again: between checkout and dispatch is where an abort must not be overtaken.
StageAnswer dispatch_stage(Clearance& clearance, Desk& desk) {
  return mark_stage(clearance, desk);
}

}  // namespace

std::size_t request_bytes(const CallSpec& spec) {
  std::size_t bytes = spec.cwd ? spec.cwd->size() : 0;
  for (const std::string& word : spec.argv) bytes += word.size() + kEntryRoom;
  for (const auto& [name, value] : spec.env) bytes += name.size() + value.size() + kEntryRoom;
  return bytes;
}

std::size_t spec_bytes(const CallSpec& spec) {
  std::size_t sum = request_bytes(spec);
  if (spec.requirements) sum += render_msgpack(*spec.requirements).size();
  for (const Value& grant : spec.grants) sum += render_msgpack(grant).size();
  return sum;
}

TimePoint Clearance::leaves_at() const {
  return after_ms(arrived, spec.waiting_ms);
}

StageAnswer run_stage(Stage stage, Clearance& clearance, Desk& desk) {
  switch (stage) {
    case Stage::kSweepMark:
      return mark_stage(clearance, desk);
    case Stage::kCompose:
      return compose_stage(clearance, desk);
    case Stage::kNarrow:
      return narrow_stage(clearance, desk);
    case Stage::kValidate:
      return validate_stage(clearance, desk);
    case Stage::kReserve:
      return reserve_stage(clearance, desk);
    case Stage::kMint:
      return mint_stage(clearance, desk);
    case Stage::kEgress:
      return egress_stage(clearance, desk);
    case Stage::kCheckout:
      return checkout_stage(clearance, desk);
    case Stage::kDispatch:
      return dispatch_stage(clearance, desk);
  }
  return Passed{};
}

void give_back(Clearance& clearance, Desk& desk) {
  if (clearance.lease) desk.dispatcher.give_back(*clearance.lease, desk.now);
  if (clearance.proxy) desk.proxies.give_back(*clearance.proxy, desk.now);
  if (clearance.endpoint) desk.proxies.give_back(*clearance.endpoint, desk.now);
  if (clearance.token) desk.vault.settle(*clearance.token);
  if (clearance.reservation) desk.ledgers.release(*clearance.reservation);
  clearance.lease.reset();
  clearance.proxy.reset();
  clearance.endpoint.reset();
  clearance.token.reset();
  clearance.reservation.reset();
  clearance.composed.reset();
}

StageAnswer clear(Clearance& clearance, Desk& desk) {
  for (int stage = 0; stage < kStageCount; ++stage) {
    StageAnswer answer = run_stage(static_cast<Stage>(stage), clearance, desk);
    if (std::holds_alternative<Passed>(answer)) continue;
    give_back(clearance, desk);
    return answer;
  }
  return Passed{};
}

std::string endpoint_token(const Clearance& clearance) {
  return sha256_hex("loom-egress token\n" + clearance.entropy);
}

// The names that are loom's to set (a caller who sets one was refused): a helper takes these from a broker.
void set_own_names(Clearance& clearance, const Desk& desk, std::map<std::string, std::string>& env) {
  if (!clearance.endpoint) return;
  env["LOOM_EGRESS_SOCKET"] = desk.proxies.socket_of(*clearance.endpoint);
  env["LOOM_EGRESS_TOKEN"] = endpoint_token(clearance);
}

Dispatch make_dispatch(Clearance& clearance, const Desk& desk, std::uint64_t seq) {
  CallSpec& spec = clearance.spec;
  Policy& policy = clearance.composed->policy;
  const Demand demand = demand_of(clearance, desk.config);
  Dispatch out;
  out.seq = seq;
  out.lease = *clearance.lease;
  out.request.argv = std::move(spec.argv);
  set_own_names(clearance, desk, spec.env);
  out.request.env = std::move(spec.env);
  Path home = policy.writable_roots.empty() ? Path("/") : policy.writable_roots.front();
  out.request.cwd = spec.cwd ? std::move(*spec.cwd) : std::move(home);
  out.request.token = std::exchange(clearance.entropy, {});
  Policy sent = policy;
  if (clearance.proxy) sent.network.proxy = desk.proxies.socket_of(*clearance.proxy);
  out.request.policy = encode_policy(sent);
  out.request.demand = std::string(to_text(demand));
  out.request.why = spec.why;
  out.request.tty = spec.tty;
  out.policy = policy;
  out.demand = demand;
  out.feeds_stdin = spec.wants_stdin;
  if (spec.deadline_ms != 0) out.deadline = after_ms(desk.now, spec.deadline_ms);
  out.budget_deadline = desk.ledgers.deadline(clearance.step());
  return out;
}

}  // namespace loom::broker
