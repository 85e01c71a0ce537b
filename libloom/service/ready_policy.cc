#include "service/ready_policy.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "os/fds.h"
#include "policy/compose.h"
#include "policy/decode.h"

namespace loom::service {
namespace {

constexpr std::size_t kMaxPolicyBytes = 1U << 20U;

Result<Path> real_path(const Path& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) return fail("missing_path", path, "no such workspace: " + errno_text(errno));
  return Path(real.get());
}

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
  WorkspacePolicy chosen;
  LOOM_TRY(chosen.workspace, real_path(directory));
  if (chosen.workspace == "/") {
    return fail("bad_argument", "--workspace", "the whole host is no workspace", "name a directory");
  }
  chosen.fitted = fit_to_host(workspace_default(chosen.workspace, WorkspaceFacts{}), features);
  return chosen;
}

}  // namespace loom::service
