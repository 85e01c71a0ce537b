#include "service/ready_policy.h"

#include <sys/stat.h>

#include <utility>

#include "os/fds.h"
#include "policy/compose.h"
#include "policy/decode.h"

namespace loom::service {
namespace {

constexpr std::size_t kMaxPolicyBytes = 1U << 20U;

}  // namespace

Result<Policy> read_policy_file(const std::string& path) {
  LOOM_TRY(const std::string bytes, read_file(path, kMaxPolicyBytes));
  auto policy = decode_policy_bytes(bytes);
  if (!policy) return fail(std::move(policy).error().context(path));
  return policy;
}

FittedPolicy fit(Policy policy, const CeilingSupport& support) {
  FittedPolicy fitted{std::move(policy), {}};
  if (fitted.policy.limits.mem_bytes != 0 && !support.memory) {
    fitted.policy.limits.mem_bytes = 0;
    fitted.left_out.emplace_back(
        "no ceiling on memory: this needs a delegated cgroup v2 directory (--cgroup-base, or LOOM_CGROUP_BASE)");
  }
  return fitted;
}

Result<FittedPolicy> workspace_policy(const Path& directory) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0)
    return fail("missing_path", directory, "no such workspace: " + errno_text(errno));
  if (!S_ISDIR(info.st_mode)) return fail("missing_path", directory, "the workspace is not a directory");
  return fit(workspace_default(directory, WorkspaceFacts{}), CeilingSupport{});
}

}  // namespace loom::service
