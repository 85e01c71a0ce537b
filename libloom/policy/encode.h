// The parts of a policy as values, for narrowings and grants, which show them one by one. The whole is encode_policy in
// decode.h. Pure. Carries out: spec/policy.md "Shape".
#pragma once

#include "base/value.h"
#include "policy/model.h"

namespace loom {

[[nodiscard]] Value encode_mount(const Mount& mount);
[[nodiscard]] Value encode_network(const Network& network);
[[nodiscard]] Value encode_scratch(const Scratch& scratch);

}  // namespace loom
