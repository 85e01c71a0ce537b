#include "policy/compose.h"

#include <algorithm>

#include "policy/encode.h"
#include "policy/meet.h"
#include "policy/narrow.h"
#include "policy/path_set.h"

namespace loom {

namespace {

// Up the lattice only: what was allowed stays allowed.
void widen_network(Network& network, const std::vector<Grant>& grants, const std::string& base_proxy) {
  std::vector<std::string> entries;
  bool proxy = false;
  for (const Grant& grant : grants) {
    if (grant.kind != "network") continue;
    if (grant.value == Value("full")) network = Network{NetworkMode::kFull, {}, ""};
    const Value* allow = grant.value.find("allow");
    const Array* array = allow != nullptr ? allow->get_if<Array>() : nullptr;
    proxy = proxy || array != nullptr;
    for (const Value& entry : array != nullptr ? *array : Array()) {
      if (const auto* text = entry.get_if<std::string>()) entries.push_back(*text);
    }
  }
  if (!proxy || network.mode == NetworkMode::kFull) return;
  if (network.mode == NetworkMode::kOff) network = Network{NetworkMode::kProxy, {}, base_proxy};
  meet::add_new(network.allow, entries);
}

void widen_limit(Limits& limits, const Grant& grant) {
  const auto* count = grant.value.get_if<std::uint64_t>();
  for (const LimitField& field : kLimitFields) {
    if (count == nullptr || field.name != grant.field) continue;
    std::uint64_t& limit = limits.*field.member;
    if (!meet::limit_at_least(limit, *count)) limit = *count;
  }
}

const std::string* bytes_of(const Value& value) {
  if (const auto* text = value.get_if<std::string>()) return text;
  const auto* binary = value.get_if<Binary>();
  return binary != nullptr ? &binary->bytes : nullptr;
}

std::vector<std::string> granted_texts(const std::vector<Grant>& grants, std::string_view kind) {
  std::vector<std::string> texts;
  for (const Grant& grant : grants) {
    const std::string* text = grant.kind == kind ? bytes_of(grant.value) : nullptr;
    if (text != nullptr) texts.push_back(*text);
  }
  return texts;
}

void add_roots(std::vector<Path>& roots, std::vector<Path> granted) {
  const PathSet held(roots);
  granted.erase(
      std::remove_if(granted.begin(), granted.end(), [&](const Path& root) { return held.covering(root) != nullptr; }),
      granted.end());
  meet::add_new(roots, granted);
}

// Each grant widens one thing. A value of the wrong type (decode_grant lets none through) widens nothing.
void apply_grants(Policy& policy, const std::vector<Grant>& grants, const std::string& base_proxy) {
  add_roots(policy.writable_roots, granted_texts(grants, "writable_root"));
  add_roots(policy.readable_roots, granted_texts(grants, "readable_root"));
  meet::add_new(policy.env_allow, granted_texts(grants, "env"));
  for (const std::string& path : granted_texts(grants, "scratch")) policy.scratch.host_path = path;
  widen_network(policy.network, grants, base_proxy);
  for (const Grant& grant : grants) {
    if (grant.kind == "limit") widen_limit(policy.limits, grant);
  }
}

}  // namespace

Composed compose(const Policy& base, const Policy& requirements, const std::vector<Grant>& grants) {
  Policy policy;
  policy.writable_roots = meet::writable_roots(base, requirements);
  policy.readable_roots = meet::readable_roots(base, requirements, policy.writable_roots);
  policy.network = meet::network(base.network, requirements.network);
  policy.limits = meet::limits(base.limits, requirements.limits);
  policy.env_allow = meet::names(base.env_allow, requirements.env_allow);
  if (base.scratch == requirements.scratch) policy.scratch = base.scratch;
  apply_grants(policy, grants, base.network.proxy);
  // What follows only subtracts, so it comes after the grants and sees what they widened.
  meet::drop_redundant_readable(policy);
  policy.mounts = meet::mounts(base, requirements, policy);
  for (const auto list : {&Policy::frozen, &Policy::protected_paths}) {
    meet::add_new(policy.*list, base.*list);
    meet::add_new(policy.*list, requirements.*list);
  }
  auto narrowings = narrowings_of(requirements, policy);
  return Composed{std::move(policy), std::move(narrowings)};
}

Composed narrow_unenforceable(Composed composed, const HostNetwork& host) {
  // An absolute path is the socket of a proxy that the operator runs: no broker has to give one.
  const bool given = host.can_proxy || !composed.policy.network.proxy.empty();
  if (given || composed.policy.network.mode != NetworkMode::kProxy) return composed;
  const Value wanted = encode_network(composed.policy.network);
  composed.policy.network = Network{};
  const Value off = encode_network(composed.policy.network);
  const auto earlier = std::find_if(composed.narrowings.begin(), composed.narrowings.end(),
                                    [](const Narrowing& narrowing) { return narrowing.kind == "network"; });
  if (earlier != composed.narrowings.end()) {
    earlier->granted = off;
  } else {
    composed.narrowings.push_back(Narrowing{"network", "", wanted, off});
  }
  return composed;
}

}  // namespace loom
