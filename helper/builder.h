// The builder: the short-lived process that looks the host up, makes the plan and builds the jail, then becomes stage 2
// by exec (spec/jail.md "Parts"). The helper starts it and goes on; a hung file system holds up this process alone.
//
// Started by a user it is pid 1 of the new namespaces itself. Started by root it stays outside as the one that may map
// the owners of files, clones the trees, and starts the jail's process beside itself, as a child of the helper.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "helper/execution.h"
#include "helper/host_context.h"
#include "helper/stage2/protocol.h"

namespace loom::helper {

struct BuildJob {
  const HostContext& host;
  const ExecRequest& request;
  int control = -1;                        // the jail's end of the control socket
  int helper_end = -1;                     // the other one: what is written there waits for stage 2
  int facts = -1;                          // a memory file for what the report will say
  std::array<int, 3> streams{-1, -1, -1};  // the command's ends; none with a terminal
  bool container = true;                   // false: only what needs no namespace (degraded)
  int cgroup = -1;                         // the directory of the execution's own, where it has one
  bool bwrap = false;                      // the container is bubblewrap's to make
  int said = -1;                           // then: a memory file for what it says
};

// The code of a kRefused for a container that this host gives nobody.
inline constexpr char kNoContainer[] = "no_container";
// What the builder writes into the facts: NUL-terminated strings, each beginning with its kind.
enum class FactKind : char {
  kMountsTag = 'M',
  kEvent = 'E',
  kSkip = 'S',
  kPlanOp = 'O',
  kPlanLink = 'L',
  kGuard = 'G'
};

// The namespaces a jail under this policy gets: CLONE_NEW* flags for the process that will be its init. One that is
// born into a cgroup makes its cgroup namespace afterwards: the kernel would root it at its parent's place.
[[nodiscard]] std::uint64_t namespaces_for(const Policy& policy);

// Runs in the fresh child, to the exec of stage 2 or to _exit(1) after a kRefused word. Never returns.
[[noreturn]] void run_builder(const BuildJob& job);

// The flags for the clone of the builder itself.
[[nodiscard]] std::uint64_t builder_flags(const BuildJob& job);

}  // namespace loom::helper
