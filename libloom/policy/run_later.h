// The table of what, inside a workspace, would run code outside the jail later (spec/jail.md "Git"): git, editors,
// shells and agents read it when the people of the host next work there. workspace_default freezes these.
// loom-policy(5) shows the table.
#pragma once

#include <array>
#include <string_view>

namespace loom {

enum class Listed {
  kWhenPresent,
  kAlways,        // also when absent: then it is guarded, so that nothing can be put there
  kUnlessFolder,  // only as a file or a link
  kInRepository,  // when present, and when absent in what is a git directory
  kWhenRead,      // when present, and when absent where the git config has extensions.worktreeConfig
};

struct RunLaterEntry {
  std::string_view path;  // in the workspace; * is one component, ** any number of them
  Listed listed;
  bool git_config;  // left out by --git-config=writable
  std::string_view reason;
};

// What stands below ".git/" is looked for in the git directory, wherever that is.
inline constexpr std::string_view kGitDirectory = ".git/";

inline constexpr std::array<RunLaterEntry, 24> kRunLaterEntries = {{
    {".git", Listed::kUnlessFolder, false,
     "a file or link that says where the repository is: another one could be put in its place"},
    {".git/hooks", Listed::kAlways, false, "git runs these programs on commit, checkout, merge, push and more"},
    {".git/config", Listed::kWhenPresent, true,
     "names programs git runs: fsmonitor, editor, pager, filters, aliases, hooksPath"},
    {".git/config.worktree", Listed::kWhenRead, true, "as config, for one worktree"},
    {".git/commondir", Listed::kAlways, false, "makes git take hooks and config from another directory"},
    {".git/worktrees/*/commondir", Listed::kWhenPresent, false, "the same for a worktree of this repository"},
    {".git/worktrees/*/gitdir", Listed::kWhenPresent, false, "the pointer that proves which worktree belongs here"},
    {".git/worktrees/*/config.worktree", Listed::kWhenRead, true, "as config, for that worktree"},
    {".git/worktrees/*/modules/**/hooks", Listed::kInRepository, false, "the hooks of a submodule of that worktree"},
    {".git/worktrees/*/modules/**/config", Listed::kWhenPresent, true, "the config of a submodule of that worktree"},
    {".git/worktrees/*/modules/**/commondir", Listed::kInRepository, false, "as .git/commondir, for that submodule"},
    {".git/modules/**/hooks", Listed::kInRepository, false, "the hooks of a submodule"},
    {".git/modules/**/config", Listed::kWhenPresent, true, "the config of a submodule"},
    {".git/modules/**/commondir", Listed::kInRepository, false, "as .git/commondir, for a submodule"},
    {".git/modules/**/config.worktree", Listed::kWhenPresent, true, "as config, for a submodule"},
    {".husky", Listed::kAlways, false, "hooks that husky installs and git runs"},
    {".githooks", Listed::kWhenPresent, false, "the usual place of hooks that core.hooksPath names"},
    {".vscode", Listed::kAlways, false, "tasks and settings that the editor runs or obeys when the folder is opened"},
    {".idea", Listed::kAlways, false, "run configurations and watchers of the IDE"},
    {".envrc", Listed::kAlways, false, "direnv runs it when a shell enters the directory"},
    {".mcp.json", Listed::kWhenPresent, false, "servers that an agent starts on the host"},
    {"core.hooksPath", Listed::kAlways, false,
     "the directory the git config names for hooks, when it lies in the workspace"},
    {"submodule.path", Listed::kUnlessFolder, false,
     "the pointer .git of a submodule: git status looks into what it leads to; hooks, config and commondir of one that "
     "is a folder"},
    {"include.path", Listed::kAlways, true, "a file in the workspace that the git config includes"},
}};

}  // namespace loom
