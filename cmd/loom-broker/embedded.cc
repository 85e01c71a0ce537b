#include "embedded.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/version.h"
#include "broker/census.h"
#include "service/questions.h"
#include "verbs.h"
#include "way_out.h"

namespace loom::broker {
namespace {

std::uint64_t wall_clock_microseconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

}  // namespace

std::vector<ToolVersion> tools_here() {
  std::vector<ToolVersion> tools;
  const std::string directory = service::own_directory();
  for (const std::string& name : tool_names()) {
    ToolVersion tool{name, std::nullopt};
    const std::string program = directory + "/" + name;
    if (name == kTool) {
      tool.version = std::string(kVersion);
    } else if (::access(program.c_str(), X_OK) == 0) {
      const auto version = service::ask_version(program);
      if (version) tool.version = *version;
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

ShellOptions shell_options(BrokerConfig config, const std::string& helper, const std::string& cgroup_base,
                           ProxyOptions proxy, const std::string& above) {
  config.incarnation = wall_clock_microseconds();
  config.can_proxy = !proxy.program.empty();
  if (config.can_proxy) config.jail_dir = jail_dir_for(above, config.incarnation);
  if (!proxy.config.empty()) config.way_out_files.push_back(proxy.config);
  if (proxy.record) config.way_out_files.push_back(*proxy.record);
  // Whom the endpoint trusts: seen by a jail, where its policy shows it, and never written.
  for (const std::string& file : proxy.roots) {
    auto& frozen = config.base.frozen;
    if (std::find(frozen.begin(), frozen.end(), file) == frozen.end()) frozen.push_back(file);
  }
  config.peer = "loom-broker/" + std::string(kVersion);
  config.egress_callers = proxy.callers;
  ShellOptions options;
  options.proxy = std::move(proxy);
  options.helper = helper;
  if (!cgroup_base.empty()) options.helper_args = {"--cgroup-base", cgroup_base};
  options.helper_args.insert(options.helper_args.end(), {"--capacity", std::to_string(config.per_helper)});
  options.blocks_of_ids = ::geteuid() == 0;
  options.config = std::move(config);
  return options;
}

Result<std::unique_ptr<Shell>> open_embedded(Loop& loop, const EmbeddedOptions& options, Shell::EmbeddedReply reply,
                                             std::function<void(const Closed&)> closed) {
  BrokerConfig config;
  config.base = options.policy;
  config.allow_grants = true;
  config.demand = options.demand;
  config.pool_size = 1;
  config.per_helper = 1;
  config.tools = options.tools;
  ShellEvents events;
  // One call says what there is to say on its own stderr; log lines are an operator's.
  events.log = [](const LogLine&) {};
  events.closed = std::move(closed);
  LOOM_TRY(std::unique_ptr<Shell> shell,
           Shell::open(loop, shell_options(std::move(config), options.helper, options.cgroup_base, options.proxy, ""),
                       std::move(events)));
  shell->boot();
  shell->embed(std::move(reply));
  return shell;
}

}  // namespace loom::broker
