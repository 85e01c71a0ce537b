// The builder: the short-lived process that looks the host up, makes the plan and builds the jail, then becomes stage 2
// by exec (spec/jail.md "Parts"). The helper starts it and goes on; a hung file system holds up this process alone.
//
// Started by a user it is pid 1 of the new namespaces itself. Started by root it stays outside as the one that may map
// the owners of files, clones the trees, and starts the jail's process beside itself, as a child of the helper.
#pragma once

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
  int control = -1;       // the jail's end of the control socket
  bool container = true;  // false: only what needs no namespace (degraded)
};

// What the builder tells the helper with kBuilt: the structure, and three descriptors (the two orders, the facts as
// NUL-terminated strings, each beginning with its FactKind).
struct Built {
  std::uint32_t type;
  std::uint32_t planned[stage2::kMountClasses];
};
// The code of a kRefused for a container that this host gives nobody.
inline constexpr char kNoContainer[] = "no_container";
enum class FactKind : char { kMountsTag = 'M', kEvent = 'E', kSkip = 'S' };
inline constexpr std::size_t kBuiltDescriptors = 3;

// The namespaces a jail under this policy gets: CLONE_NEW* flags for the process that will be its init.
[[nodiscard]] std::uint64_t namespaces_for(const Policy& policy);

// Runs in the fresh child, to the exec of stage 2 or to _exit(1) after a kRefused word. Never returns.
[[noreturn]] void run_builder(const BuildJob& job);

// The flags for the clone of the builder itself.
[[nodiscard]] std::uint64_t builder_flags(const BuildJob& job);

}  // namespace loom::helper
