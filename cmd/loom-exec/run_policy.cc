#include "run_policy.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <utility>

#include "os/fds.h"
#include "os/file_view.h"
#include "plan/fit.h"
#include "policy/decode.h"
#include "policy/workspace.h"

namespace loom::exec {
namespace {

constexpr std::size_t kMaxPolicyBytes = 1U << 20U;

Result<Policy> named_policy(const std::string& file) {
  const bool from_stdin = file == "-";
  const std::string place = from_stdin ? "stdin" : file;
  auto bytes = from_stdin ? read_to_end(STDIN_FILENO, kMaxPolicyBytes, 0, place) : read_file(file, kMaxPolicyBytes);
  if (!bytes) return fail(std::move(bytes).error());
  auto policy = decode_policy_bytes(*bytes);
  if (!policy) return fail(std::move(policy).error().context(place));
  return policy;
}

// Links are followed here, once: the policy names where the workspace really is.
Result<Path> real_path(const Path& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) return fail("missing_path", path, "no such workspace: " + errno_text(errno));
  return Path(real.get());
}

Result<RunPolicy> workspace_policy(service::CallFlags& flags, const service::CallerFacts& facts,
                                   const Report& features) {
  LOOM_TRY(const Path dir, real_path(flags.workspace.value_or(facts.cwd)));
  if (dir == "/") return fail("bad_argument", "--workspace", "the whole host is no workspace", "name a directory");
  const WorkspaceFacts found = workspace_facts(dir, host_file_view(), GitConfig::kFrozen);
  flags.workspace = dir;
  Fitted fitted = fit_to_host(workspace_default(dir, found), features);
  RunPolicy chosen;
  chosen.composed.policy = std::move(fitted.policy);
  chosen.left_out = std::move(fitted.left_out);
  return chosen;
}

}  // namespace

Result<RunPolicy> choose_policy(service::CallFlags& flags, const service::CallerFacts& facts, const Report& features) {
  RunPolicy chosen;
  if (flags.policy_file) {
    LOOM_TRY(chosen.composed.policy, named_policy(*flags.policy_file));
  } else {
    LOOM_TRY(chosen, workspace_policy(flags, facts, features));
  }
  const Policy base = std::move(chosen.composed.policy);
  // Nothing here gives a jail a proxy: that is a broker's.
  chosen.composed = narrow_unenforceable(compose(base, base, flags.grants), HostNetwork{});
  LOOM_CHECK(validate_composed(chosen.composed.policy));
  return chosen;
}

}  // namespace loom::exec
