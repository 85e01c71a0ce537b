// A whole broker inside this process for one call: the same core as `serve`, one slot, no socket; it ends after
// retirement is proved and leaves nothing (spec/broker.md "run", "smoke").
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/loop.h"
#include "policy/model.h"
#include "shell.h"

namespace loom::broker {

struct EmbeddedOptions {
  Policy policy;
  Demand demand = Demand::kPlatform;
  std::string helper;              // its program
  std::vector<ToolVersion> tools;  // for the census
  std::string cgroup_base;         // "" for none
  ProxyOptions proxy;              // the way out; without a program there is none
};

// The shell of an embedded broker, booted, its client connected. `closed` is called once after close().
[[nodiscard]] Result<std::unique_ptr<Shell>> open_embedded(Loop& loop, const EmbeddedOptions& options,
                                                           Shell::EmbeddedReply reply,
                                                           std::function<void(const Closed&)> closed);

// The five tools beside this one, for the census: each is asked. Nothing for one that is not there or does not answer.
[[nodiscard]] std::vector<ToolVersion> tools_here();

// What every shell of this tool starts a helper with, and a proxy. `above`: where the directory of sockets for jails
// goes
// ("": RUNTIME).
[[nodiscard]] ShellOptions shell_options(BrokerConfig config, const std::string& helper, const std::string& cgroup_base,
                                         ProxyOptions proxy, const std::string& above);

}  // namespace loom::broker
