// The enforcement report before the go: what stage 2 saw, in the words of spec/jail.md "Layers and the report". Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "helper/builder.h"
#include "helper/stage2/protocol.h"
#include "plan/report.h"
#include "policy/model.h"

namespace loom::helper {

// The inodes of the helper's own namespaces, in the order of stage2::Report::namespaces; 0: not known.
using NamespaceIds = std::array<std::uint64_t, 7>;

struct WhatIsKnown {
  const Policy& policy;
  bool container = false;
  bool bwrap = false;
  std::string no_native;     // then: why the native backend could not; "": it was not asked
  std::string no_container;  // why not, when not
  NamespaceIds own_namespaces{};
  std::string mounts_tag;           // with the planned counts
  std::vector<std::string> events;  // of the plan, without "event:"
  std::vector<Path> failed_mounts;  // paths of the checks that did not hold
  stage2::Report seen{};
  bool in_cgroup = false;            // the jail was started in one of its own
  std::string cgroup_holds;          // "memory.max=...,pids.max=...": what was seen of it
  std::string no_cgroup;             // why there is none, or why it does not count
  const char* no_way_out = nullptr;  // network mode "proxy": why there is no bridge, when there is none
  int bridge = 0;                    // its process number as the helper sees it; 0: not known
};

[[nodiscard]] loom::Report compose_report(const WhatIsKnown& known);

}  // namespace loom::helper
