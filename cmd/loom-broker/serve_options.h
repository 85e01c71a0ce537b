// What `loom-broker serve` was told, read and judged (spec/broker.md, the flags of serve).
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "broker/broker_core.h"
#include "cli/command_line.h"
#include "proxy_process.h"

namespace loom::broker {

struct ServeOptions {
  BrokerConfig config;  // without what only the running process knows (socket, incarnation)
  std::optional<std::string> socket;
  std::optional<std::string> runtime_dir;
  std::string helper;
  std::string cgroup_base;
  ProxyOptions proxy;
  std::set<uid_t> allowed_uids;
  int ready_fd = -1;
  bool log_json = false;
};
// Errors: bad_argument (`where` is the flag), not_available (a flag of a part that is not built yet), and those of the
// policy's file.
[[nodiscard]] Result<ServeOptions> read_serve_options(const cli::Parsed& parsed);

}  // namespace loom::broker
