// The versions and features of the parts, as the broker's `census` answers and as loom-census prints. Pure.
// Errors: decode_census names the key; unknown keys are ignored, since readers may be older than writers.
// Carries out: spec/broker.md "What an operator sees", spec/cli.md "loom-census".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "base/version.h"

namespace loom::broker {

struct Census {
  std::string service;  // who answers: "loom-broker/0.1.0"
  std::uint64_t exec_proto = kExecProto;
  std::uint64_t control_proto = kControlProto;
  std::uint64_t cap_proto = kCapProto;
  std::uint64_t policy_v = kPolicyVersion;
  std::vector<std::pair<std::string, std::optional<std::string>>> tools;  // name, version; nothing: not here
  std::string helper_peer;                                                // "": no helper has said hello yet
  std::vector<std::string> helper_features;                               // empty: unknown
  friend bool operator==(const Census&, const Census&) = default;
};

// The five, in the order in which they are told.
[[nodiscard]] const std::vector<std::string>& tool_names();

// {service, exec_proto, control_proto, cap_proto, policy_v, tools, helper {peer, features}}
[[nodiscard]] Value encode(const Census& census);
[[nodiscard]] Result<Census> decode_census(const Value& value);

// One version that differs; "" where a side does not have the part at all.
struct Skew {
  std::string name;  // "exec_proto", "loom-exec"
  std::string ours;
  std::string theirs;
  friend bool operator==(const Skew&, const Skew&) = default;
};
// Every differing version, in the census's order. Features are ignored; so are the versions of a service or helper that
// one side does not know.
[[nodiscard]] std::vector<Skew> skew(const Census& ours, const Census& theirs);

}  // namespace loom::broker
