// What of the run-later table (run_later.h) a workspace holds, and whether it is a git worktree or a submodule whose
// repository lies elsewhere (spec/jail.md "Git", spec/policy.md "Ready-made values"). Pure over a FileView:
// workspace_facts(dir, host_file_view(), ...). The tree may have been prepared by someone hostile: a pointer grants
// nothing unless what it points to points back.
#pragma once

#include "base/file_view.h"
#include "policy/compose.h"

namespace loom {

enum class GitConfig { kFrozen, kWritable };

// `dir` is absolute, canonical and without links. The entries come in the table's order, each once.
[[nodiscard]] WorkspaceFacts workspace_facts(const Path& dir, const FileView& view, GitConfig config);

}  // namespace loom
