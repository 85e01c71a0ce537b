#include "policy/narrow.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "policy/encode.h"
#include "policy/entry.h"
#include "policy/meet.h"
#include "policy/path_set.h"

namespace loom {

namespace {

Value one_or_list(const std::vector<Path>& paths) {
  Array values;
  for (const Path& path : paths) values.push_back(text_or_bytes(path));
  if (values.empty()) return {};
  return values.size() == 1 ? std::move(values.front()) : Value(std::move(values));
}

void narrow_roots(const std::string& kind, const std::vector<Path>& wanted, const std::vector<Path>& enough,
                  std::vector<Narrowing>& out) {
  const PathSet held(enough);
  std::unordered_set<std::string_view> told;
  for (const Path& root : wanted) {
    if (held.covering(root) == nullptr && told.insert(root).second)
      out.push_back(Narrowing{kind, "", text_or_bytes(root), one_or_list(held.all_inside(root))});
  }
}

void narrow_mounts(const std::vector<Mount>& wanted, const std::vector<Mount>& granted, std::vector<Narrowing>& out) {
  std::unordered_map<std::string_view, const Mount*> held;
  for (const Mount& mount : granted) held.emplace(mount.path, &mount);
  for (const Mount& mount : wanted) {
    const auto found = held.find(mount.path);
    if (found == held.end()) {
      out.push_back(Narrowing{"mount", "", encode_mount(mount), Value()});
    } else if (found->second->access < mount.access) {
      out.push_back(Narrowing{"mount", "", encode_mount(mount), encode_mount(*found->second)});
    }
  }
}

bool network_satisfies(const Network& granted, const Network& wanted) {
  if (granted.mode != NetworkMode::kProxy || wanted.mode != NetworkMode::kProxy) return granted.mode >= wanted.mode;
  const EntrySet allowed(granted.allow);
  return std::all_of(wanted.allow.begin(), wanted.allow.end(),
                     [&](const std::string& entry) { return allowed.covers(entry); });
}

std::vector<std::string> entries_of(const Value& network) {
  std::vector<std::string> entries;
  const Value* allow = network.find("allow");
  const Array* array = allow != nullptr ? allow->get_if<Array>() : nullptr;
  for (const Value& entry : array != nullptr ? *array : Array()) {
    if (const auto* text = entry.get_if<std::string>()) entries.push_back(*text);
  }
  return entries;
}

// The smallest value that turns `granted` into something that satisfies `wanted`: of an allow list only what is
// missing.
Value wanted_network(const Narrowing& narrowing) {
  const Value* mode = narrowing.wanted.find("mode");
  if (mode != nullptr && *mode == Value("full")) return "full";
  const EntrySet allowed(entries_of(narrowing.granted));
  Array missing;
  for (const std::string& entry : entries_of(narrowing.wanted)) {
    if (!allowed.covers(entry)) missing.emplace_back(entry);
  }
  return Map{{"mode", "proxy"}, {"allow", std::move(missing)}};
}

}  // namespace

std::vector<Narrowing> narrowings_of(const Policy& requirements, const Policy& policy) {
  std::vector<Narrowing> out;
  std::vector<Path> readable = policy.readable_roots;
  readable.insert(readable.end(), policy.writable_roots.begin(), policy.writable_roots.end());
  narrow_roots("writable_root", requirements.writable_roots, policy.writable_roots, out);
  narrow_roots("readable_root", requirements.readable_roots, readable, out);
  narrow_mounts(requirements.mounts, policy.mounts, out);
  if (!network_satisfies(policy.network, requirements.network))
    out.push_back(Narrowing{"network", "", encode_network(requirements.network), encode_network(policy.network)});
  for (const LimitField& field : kLimitFields) {
    const std::uint64_t wanted = requirements.limits.*field.member;
    const std::uint64_t granted = policy.limits.*field.member;
    if (!meet::limit_at_least(granted, wanted))
      out.push_back(Narrowing{"limit", std::string(field.name), wanted, granted});
  }
  const std::unordered_set<std::string> names(policy.env_allow.begin(), policy.env_allow.end());
  for (const std::string& name : requirements.env_allow) {
    if (names.count(name) == 0) out.push_back(Narrowing{"env", "", name, Value()});
  }
  if (!requirements.scratch.is_tmpfs() && policy.scratch != requirements.scratch)
    out.push_back(Narrowing{"scratch", "", encode_scratch(requirements.scratch), encode_scratch(policy.scratch)});
  return out;
}

std::vector<Grant> wanted_grants(const std::vector<Narrowing>& narrowings) {
  std::vector<Grant> grants;
  for (const Narrowing& narrowing : narrowings) {
    if (narrowing.kind == "mount") continue;  // what host paths are reached is decided before the session starts
    grants.push_back(Grant{narrowing.kind, narrowing.field,
                           narrowing.kind == "network" ? wanted_network(narrowing) : narrowing.wanted});
  }
  return grants;
}

}  // namespace loom
