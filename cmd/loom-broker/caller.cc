#include "caller.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/hash.h"
#include "plan/fit.h"
#include "service/questions.h"
#include "service/ready_policy.h"
#include "service/report_file.h"
#include "verbs.h"

namespace loom::broker {

Result<service::CallerFacts> caller_facts() {
  std::array<char, 4096> buffer{};
  if (::getcwd(buffer.data(), buffer.size()) == nullptr) {
    return fail("bad_cwd", "", std::string("cannot tell the current directory: ") + std::strerror(errno));
  }
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
  return service::CallerFacts{buffer.data(), environment};
}

Report features_here(const std::string& helper, const std::string& cgroup_base) {
  const char* named = std::getenv("LOOM_CGROUP_BASE");
  if (!cgroup_base.empty() || (named != nullptr && *named != '\0')) {
    const std::vector<std::string> flags{"--cgroup-base", cgroup_base};
    const auto hello = service::ask_helper(helper, kTool, cgroup_base.empty() ? std::vector<std::string>{} : flags);
    if (hello) return hello->features;
  }
  return {std::string(layer::kPidsUserns), std::string(layer::kRlimitCpu), std::string(layer::kRlimitFsize),
          skip_entry(layer::kCgroupV2, kNoCgroupBase)};
}

Result<ChosenPolicy> choose_policy(service::CallFlags& flags, const Path& default_workspace, const Report& features) {
  ChosenPolicy chosen;
  if (flags.policy_file) {
    LOOM_TRY(chosen.policy, service::read_policy_file(*flags.policy_file));
    return chosen;
  }
  LOOM_TRY(service::WorkspacePolicy ready,
           service::workspace_policy(flags.workspace.value_or(default_workspace), features));
  flags.workspace = std::move(ready.workspace);
  chosen.policy = std::move(ready.policy);
  chosen.notes = std::move(ready.notes);
  return chosen;
}

service::FrontOptions front_options(const service::CallFlags& flags) {
  service::FrontOptions options;
  options.tool = kTool;
  options.tty = flags.tty;
  options.quiet = flags.quiet;
  options.report_file = flags.report_file;
  if (!flags.report_file.empty()) {
    if (const auto caller = caller_facts()) options.planted = service::where_commands_write(flags, *caller);
  }
  options.status_fd = flags.status_fd;
  return options;
}

CallSpec spec_of(const service::CallFlags& flags) {
  CallSpec spec;
  spec.argv = flags.argv;
  for (const Grant& grant : flags.grants) spec.grants.push_back(encode_grant(grant));
  spec.narrowed = flags.proceed_narrowed ? "proceed" : "refuse";
  if (flags.demand) spec.demand = std::string(to_text(*flags.demand));
  spec.why = flags.why;
  spec.deadline_ms = flags.timeout_ms;
  spec.caps = flags.caps;
  spec.caller = flags.caller;
  return spec;
}

std::string random_operation() {
  return to_hex(random_bytes(8));
}

}  // namespace loom::broker
