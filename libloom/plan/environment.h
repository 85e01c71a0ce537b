// The command's environment: built, never inherited (spec/jail.md "Environment", spec/cli.md, spec/egress.md "How the
// jail reaches it"). Pure: the host is asked through the same look() as the plan.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/mount_plan.h"

namespace loom {

struct EnvironmentRequest {
  std::map<std::string, std::string> requested;  // what the caller asked for; env_allow has not been applied
  std::map<std::string, std::string> ours;  // set by loom itself (LOOM_CAP_SOCKET, LOOM_TOKEN, ...): after env_allow
  std::string helper_path;                  // the helper's own PATH
};

struct Environment {
  std::map<std::string, std::string> variables;  // PATH, HOME and LOOM_SCRATCH_DIR always among them
  std::vector<Path> search_path;                 // PATH's directories: where the command itself is looked for
};

// A caller cannot set these: LOOM_*, and the proxy variables where the network is a proxy.
[[nodiscard]] bool is_reserved_name(std::string_view name, NetworkMode network);

// PATH: requested (where env_allow has PATH), then the helper's (likewise), then /usr/local/bin /usr/bin /bin; of these
// the absolute, existing directories that the command can read and nothing in the jail can write, once each. HOME: as
// requested where it is in the view, else the scratch.
[[nodiscard]] Environment build_environment(const Policy& policy, const MountPlan& plan, const HostFacts& host,
                                            const EnvironmentRequest& request);

}  // namespace loom
