#include "service/ready_policy.h"

#include <unistd.h>

#include <utility>

#include "os/fds.h"
#include "os/file_view.h"
#include "plan/fit.h"
#include "policy/compose.h"
#include "policy/decode.h"
#include "policy/workspace.h"

namespace loom::service {
namespace {

constexpr std::size_t kMaxPolicyBytes = 1U << 20U;

}  // namespace

Result<Policy> read_policy_file(const std::string& path) {
  const bool from_stdin = path == "-";
  const std::string place = from_stdin ? "stdin" : path;
  LOOM_TRY(const std::string bytes,
           from_stdin ? read_to_end(STDIN_FILENO, kMaxPolicyBytes, 0, place) : read_file(path, kMaxPolicyBytes));
  auto policy = decode_policy_bytes(bytes);
  if (!policy) return fail(std::move(policy).error().context(place));
  return policy;
}

Result<WorkspacePolicy> workspace_policy(const Path& directory, const Report& features) {
  const FileView view = host_file_view();
  WorkspacePolicy chosen;
  chosen.workspace = view.resolve(directory);
  if (chosen.workspace.empty()) return fail("missing_path", directory, "there is no such workspace");
  if (view.kind(chosen.workspace) != FileKind::kDirectory) {
    return fail("missing_path", directory, "the workspace is not a directory");
  }
  if (chosen.workspace == "/") {
    return fail("bad_argument", "--workspace", "the whole host is no workspace", "name a directory");
  }
  WorkspaceFacts facts = workspace_facts(chosen.workspace, view, GitConfig::kFrozen);
  Fitted fitted = fit_to_host(workspace_default(chosen.workspace, facts), features);
  chosen.policy = std::move(fitted.policy);
  chosen.notes = std::move(facts.notes);
  chosen.notes.insert(chosen.notes.end(), fitted.left_out.begin(), fitted.left_out.end());
  return chosen;
}

}  // namespace loom::service
