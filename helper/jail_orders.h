// From the plan and the request to stage 2's orders: what it installs, what it must see, what it starts (spec/jail.md
// "Stage 2", "The in-process layers").
#pragma once

#include <cstdint>

#include "base/result.h"
#include "helper/builder.h"
#include "helper/new_root.h"
#include "helper/stage2/protocol.h"
#include "os/unique_fd.h"
#include "plan/environment.h"
#include "plan/mount_plan.h"

namespace loom::helper {

// Who the command is inside, and what the jail's uid_map and gid_map must say; no lines without a container.
struct JailIds {
  std::uint32_t inside = 0;
  std::uint32_t inside_group = 0;
  stage2::IdMap users{};
  stage2::IdMap groups{};
};

// What was decided from the host's facts, before anything was built.
struct PlannedJail {
  MountPlan plan;
  Environment environment;
};

struct JailFacts {
  bool container = false;
  bool bwrap = false;  // made by bubblewrap: masks have no known inodes
  MaskFacts masks;
  UniqueFd witness;
  UniqueFd way_out;  // listens on the jail's loopback, for the bridge; invalid: there is none
  Path proxy;        // where the bridge leads, without links
  JailIds ids;
};

// What depends on the policy alone.
[[nodiscard]] Result<UniqueFd> policy_orders(const BuildJob& job, const PlannedJail& planned, const JailFacts& facts);
// What depends on the one request: argv, environment, cwd, limits, terminal.
[[nodiscard]] Result<UniqueFd> request_orders(const BuildJob& job, const PlannedJail& planned, const JailFacts& facts);
// What the helper must know to have the placeholders taken away; before any is made.
[[nodiscard]] Status write_guards(int fd, const MountPlan& plan);
// What the helper puts into the report.
[[nodiscard]] Status write_facts(int fd, const MountPlan& plan, const JailFacts& facts, Why why);

}  // namespace loom::helper
