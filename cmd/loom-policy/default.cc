#include "cli/output.h"
#include "documents.h"
#include "options.h"
#include "os/file_view.h"
#include "plan/fit.h"
#include "policy/compose.h"
#include "policy/workspace.h"
#include "verbs.h"

namespace loom::policy_tool {

namespace {

void say_about(const Path& dir, const std::string& text) {
  cli::say(std::string(kTool) + ": " + cli::escape(dir + ": " + text));
}

}  // namespace

ExitStatus make_default(const cli::Parsed& parsed) {
  const auto git_config = parsed.value("--git-config");
  if (git_config && *git_config != "writable")
    return say_unusable(
        Error{"usage", "--git-config", "want writable, got " + *git_config, "without it the git config is frozen"});
  const FileView view = host_file_view();
  const Path dir = view.resolve(parsed.rest[0]);
  if (dir.empty() || view.kind(dir) != FileKind::kDirectory)
    return say_unusable(Error{"unreadable", parsed.rest[0], dir.empty() ? "no such directory" : "not a directory", ""});
  if (dir == "/") return say_unusable(Error{"usage", "/", "the whole host is no workspace", "name a directory"});
  const WorkspaceFacts facts = workspace_facts(dir, view, git_config ? GitConfig::kWritable : GitConfig::kFrozen);
  for (const std::string& note : facts.notes) say_about(dir, note);
  Policy policy = workspace_default(dir, facts);
  if (parsed.has("--fit")) {
    const auto features = ask_features(parsed);
    if (!features) return say_unusable(features.error());
    Fitted fitted = fit_to_host(std::move(policy), *features);
    for (const std::string& line : fitted.left_out) say_about(dir, line);
    policy = std::move(fitted.policy);
  }
  return answer_document(parsed, policy, parsed.has("--msgpack") ? Encoding::kMsgpack : Encoding::kJson);
}

}  // namespace loom::policy_tool
