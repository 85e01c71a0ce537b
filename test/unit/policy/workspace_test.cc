#include "policy/workspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "policy/git_config.h"
#include "policy/run_later.h"

namespace loom {
namespace {

// A tree in memory: files by their bytes, links by "-> target", folders by what lies in them.
class Tree {
 public:
  Tree& file(const std::string& path, std::string bytes = "x") {
    files_[path] = std::move(bytes);
    return *this;
  }
  Tree& link(const std::string& path, std::string target) {
    links_[path] = std::move(target);
    return *this;
  }
  Tree& repository(const std::string& git) {
    return file(git + "/HEAD").file(git + "/config", "").file(git + "/hooks/x").file(git + "/objects/x");
  }
  [[nodiscard]] FileView view() const {
    return {[this](const std::string& path) { return kind(path); },
            [this](const std::string& path) {
              const auto found = files_.find(path);
              return found == files_.end() ? std::string() : found->second;
            },
            [this](const std::string& path) { return list(path); },
            [this](const std::string& path) { return resolve(path); }};
  }

 private:
  [[nodiscard]] bool folder(const std::string& path) const {
    const auto below = [&](const auto& entry) { return entry.first.compare(0, path.size() + 1, path + "/") == 0; };
    return std::any_of(files_.begin(), files_.end(), below) || std::any_of(links_.begin(), links_.end(), below);
  }
  [[nodiscard]] FileKind kind(const std::string& path) const {
    if (links_.count(path) > 0) return FileKind::kLink;
    if (files_.count(path) > 0) return FileKind::kFile;
    return folder(path) ? FileKind::kDirectory : FileKind::kMissing;
  }
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const {
    std::vector<std::string> names;
    if (kind(path) != FileKind::kDirectory) return names;
    for (const auto* map : {&files_, &links_}) {
      for (const auto& entry : *map) {
        if (entry.first.compare(0, path.size() + 1, path + "/") != 0) continue;
        const std::string rest = entry.first.substr(path.size() + 1);
        names.push_back(rest.substr(0, rest.find('/')));
      }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }
  [[nodiscard]] std::string resolve(std::string path) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [from, to] : links_) {
        if (path != from && path.compare(0, from.size() + 1, from + "/") != 0) continue;
        path.replace(0, from.size(), to);
        changed = true;
      }
    }
    return kind(path) == FileKind::kMissing ? "" : path;
  }
  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> links_;
};

WorkspaceFacts look(const Tree& tree, GitConfig config = GitConfig::kFrozen) {
  return workspace_facts("/ws", tree.view(), config);
}

bool has(const std::vector<Path>& paths, const Path& path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

TEST(Workspace, without_a_repository_guards_what_editors_and_shells_would_run) {
  const auto facts = look(Tree().file("/ws/a.c"));
  EXPECT_EQ(facts.frozen, (std::vector<Path>{"/ws/.husky", "/ws/.vscode", "/ws/.idea", "/ws/.envrc"}));
  EXPECT_TRUE(facts.writable.empty());
  EXPECT_TRUE(facts.notes.empty());
}

TEST(Workspace, with_a_repository_freezes_its_hooks_config_and_commondir) {
  const auto facts = look(Tree().repository("/ws/.git"));
  EXPECT_EQ(facts.frozen, (std::vector<Path>{"/ws/.git/hooks", "/ws/.git/config", "/ws/.git/commondir", "/ws/.husky",
                                             "/ws/.vscode", "/ws/.idea", "/ws/.envrc"}));
}

TEST(Workspace, guards_hooks_that_are_absent_and_freezes_mcp_and_githooks_only_where_present) {
  const auto facts = look(Tree().file("/ws/.git/HEAD").file("/ws/.mcp.json").file("/ws/.githooks/pre-commit"));
  EXPECT_TRUE(has(facts.frozen, "/ws/.git/hooks"));
  EXPECT_FALSE(has(facts.frozen, "/ws/.git/config"));
  EXPECT_TRUE(has(facts.frozen, "/ws/.mcp.json"));
  EXPECT_TRUE(has(facts.frozen, "/ws/.githooks"));
}

TEST(Workspace, leaves_git_config_out_when_asked_and_nothing_else) {
  const Tree tree = Tree()
                        .repository("/ws/.git")
                        .file("/ws/.git/config.worktree")
                        .file("/ws/.git/modules/m/config")
                        .file("/ws/.git/modules/m/hooks/x");
  const auto facts = look(tree, GitConfig::kWritable);
  EXPECT_FALSE(has(facts.frozen, "/ws/.git/config"));
  EXPECT_FALSE(has(facts.frozen, "/ws/.git/config.worktree"));
  EXPECT_FALSE(has(facts.frozen, "/ws/.git/modules/m/config"));
  EXPECT_TRUE(has(facts.frozen, "/ws/.git/modules/m/hooks"));
  EXPECT_TRUE(has(facts.frozen, "/ws/.git/hooks"));
}

TEST(Workspace, finds_submodules_at_any_depth_but_no_branch_that_is_called_config) {
  const auto facts = look(Tree()
                              .repository("/ws/.git")
                              .repository("/ws/.git/modules/a/b")
                              .repository("/ws/.git/modules/a/b/modules/c")
                              .file("/ws/.git/modules/a/b/refs/heads/config"));
  EXPECT_TRUE(has(facts.frozen, "/ws/.git/modules/a/b/hooks"));
  EXPECT_TRUE(has(facts.frozen, "/ws/.git/modules/a/b/modules/c/config"));
  EXPECT_FALSE(has(facts.frozen, "/ws/.git/modules/a/b/refs/heads/config"));
}

TEST(Workspace, guards_absent_hooks_and_commondir_of_a_submodule_and_freezes_its_pointer) {
  Tree tree;
  tree.repository("/ws/.git")
      .file("/ws/.git/modules/a/HEAD")
      .file("/ws/.git/modules/a/objects/x")
      .file("/ws/.git/modules/a/config", "[core]\n\tworktree = ../../../lib/a\n")
      .file("/ws/lib/a/.git", "gitdir: ../../.git/modules/a\n");
  const auto facts = look(tree);
  for (const char* path : {"/ws/.git/modules/a/hooks", "/ws/.git/modules/a/commondir", "/ws/lib/a/.git"})
    EXPECT_TRUE(has(facts.frozen, path)) << path;
  EXPECT_FALSE(has(facts.frozen, "/ws/.git/modules/a/objects/commondir"));
}

TEST(Workspace, freezes_the_repositories_that_gitmodules_names_but_none_behind_a_link_or_outside) {
  Tree tree;
  tree.repository("/ws/.git").repository("/ws/old/.git").repository("/else/r/.git").link("/ws/l", "/else");
  tree.file("/ws/.gitmodules",
            "[submodule \"a\"]\npath = old\n[submodule \"b\"]\npath = l/r\n"
            "[submodule \"c\"]\npath = ../else/r\n[submodule \"d\"]\npath = gone\n");
  const auto facts = look(tree);
  EXPECT_TRUE(has(facts.frozen, "/ws/old/.git/config"));
  EXPECT_TRUE(has(facts.frozen, "/ws/old/.git/commondir"));
  for (const Path& path : facts.frozen) EXPECT_EQ(path.rfind("/ws/l/", 0), Path::npos) << path;
  for (const Path& path : facts.frozen) EXPECT_EQ(path.rfind("/else", 0), Path::npos) << path;
}

TEST(Workspace, guards_an_absent_config_worktree_only_where_git_would_read_it) {
  Tree tree;
  tree.repository("/ws/.git");
  EXPECT_FALSE(has(look(tree).frozen, "/ws/.git/config.worktree"));
  tree.file("/ws/.git/config", "[extensions]\n\tworktreeConfig = true\n");
  EXPECT_TRUE(has(look(tree).frozen, "/ws/.git/config.worktree"));
}

Tree submodule() {
  return Tree()
      .repository("/main/.git")
      .repository("/main/.git/modules/lib/ws")
      .file("/main/.git/modules/lib/ws/config", "[core]\nworktree = ../../../../../ws\n")
      .file("/ws/.git", "gitdir: ../main/.git/modules/lib/ws\n");
}

TEST(Workspace, in_a_submodule_adds_its_own_directory_and_freezes_what_it_runs) {
  const auto facts = look(submodule());
  EXPECT_EQ(facts.writable, std::vector<Path>{"/main/.git/modules/lib/ws"});
  EXPECT_TRUE(facts.notes.empty());
  for (const char* name : {"hooks", "config", "commondir"})
    EXPECT_TRUE(has(facts.frozen, "/main/.git/modules/lib/ws/" + std::string(name))) << name;
}

TEST(Workspace, a_forged_pointer_of_a_submodule_grants_nothing) {
  const std::string git_dir = "/main/.git/modules/lib/ws";
  const std::vector<std::pair<std::string, Tree>> forged = {
      {"files elsewhere", submodule().file(git_dir + "/config", "[core]\nworktree = /other\n")},
      {"no files", submodule().file(git_dir + "/config", "")},
      {"not among the modules of a repository",
       submodule().repository("/x/y").file("/x/y/config", "[core]\nworktree = /ws\n").file("/ws/.git", "gitdir: /x/y")},
      {"a link on the way", submodule().link("/l", "/main").file("/ws/.git", "gitdir: /l/.git/modules/lib/ws")},
      {"no repository", Tree()
                            .repository("/main/.git")
                            .file("/ws/.git", "gitdir: /main/.git/modules/lib/ws")
                            .file(git_dir + "/config", "[core]\nworktree = /ws\n")},
  };
  for (const auto& [why, tree] : forged) {
    const auto facts = look(tree);
    EXPECT_TRUE(facts.writable.empty()) << why;
    EXPECT_EQ(facts.notes.size(), 1U) << why;
  }
}

TEST(Workspace, does_not_take_a_planted_head_for_the_end_of_the_search) {
  const auto facts =
      look(Tree().repository("/ws/.git").file("/ws/.git/modules/a/HEAD").repository("/ws/.git/modules/a/b"));
  EXPECT_TRUE(has(facts.frozen, "/ws/.git/modules/a/b/hooks"));
}

TEST(Workspace, freezes_all_of_modules_when_there_are_too_many_folders_to_look_into) {
  Tree tree;
  tree.repository("/ws/.git");
  FileView view = tree.view();
  const auto list = view.list;
  const auto kind = view.kind;
  view.list = [&](const std::string& path) {
    return path.find("/modules") != std::string::npos ? std::vector<std::string>{"a", "b"} : list(path);
  };
  view.kind = [&](const std::string& path) {
    return path.find("/modules/") != std::string::npos ? FileKind::kDirectory : kind(path);
  };
  int depth = 0;
  view.list = [&depth, inner = view.list](const std::string& path) {
    return path.size() > 300 ? std::vector<std::string>() : (++depth, inner(path));
  };
  EXPECT_TRUE(has(workspace_facts("/ws", view, GitConfig::kFrozen).frozen, "/ws/.git/modules"));
  EXPECT_LT(depth, 100000);
}

TEST(Workspace, freezes_the_hooks_directory_that_config_names_inside_the_workspace) {
  Tree tree;
  tree.repository("/ws/.git").file("/ws/.git/config", "[core]\n\tHooksPath = tools/../tools/hooks # ours\n");
  EXPECT_TRUE(has(look(tree).frozen, "/ws/tools/hooks"));
  tree.file("/ws/.git/config", "[core] hooksPath = /elsewhere\n");
  EXPECT_FALSE(has(look(tree).frozen, "/elsewhere"));
  tree.file("/ws/.git/config", "[core] hooksPath = .\n");
  EXPECT_FALSE(has(look(tree).frozen, "/ws"));
  EXPECT_EQ(look(tree).notes.size(), 1U);
}

TEST(Workspace, freezes_what_config_includes_and_reads_it_once) {
  Tree tree;
  tree.repository("/ws/.git")
      .file("/ws/.git/config", "[include]\npath = ../shared\n[includeIf \"gitdir:/ws\"]\n path = ../shared\n")
      .file("/ws/shared", "[include]\npath = shared\n[core]\nhooksPath = deep/hooks\n");
  const auto facts = look(tree);
  EXPECT_TRUE(has(facts.frozen, "/ws/shared"));
  EXPECT_TRUE(has(facts.frozen, "/ws/deep/hooks"));
}

Tree worktree() {
  return Tree()
      .repository("/main/.git")
      .file("/ws/.git", "gitdir: /main/.git/worktrees/ws\n")
      .file("/main/.git/worktrees/ws/commondir", "../..\n")
      .file("/main/.git/worktrees/ws/gitdir", "/ws/.git\n");
}

TEST(Workspace, in_a_worktree_adds_the_common_directory_and_freezes_what_it_runs) {
  const auto facts = look(worktree());
  EXPECT_EQ(facts.writable, std::vector<Path>{"/main/.git"});
  for (const char* path : {"/ws/.git", "/main/.git/hooks", "/main/.git/config", "/main/.git/commondir",
                           "/main/.git/worktrees/ws/commondir", "/main/.git/worktrees/ws/gitdir"})
    EXPECT_TRUE(has(facts.frozen, path)) << path;
}

TEST(Workspace, takes_relative_pointers_of_a_worktree) {
  Tree tree = worktree();
  tree.file("/ws/.git", "gitdir: ../main/.git/worktrees/ws\n")
      .file("/main/.git/worktrees/ws/gitdir", "../../../../ws/.git\n");
  EXPECT_EQ(look(tree).writable, std::vector<Path>{"/main/.git"});
}

TEST(Workspace, a_forged_pointer_grants_nothing_and_is_said) {
  const std::vector<std::pair<std::string, Tree>> forged = {
      {"no back-pointer", worktree().file("/main/.git/worktrees/ws/gitdir", "")},
      {"a back-pointer to someone else", worktree().file("/main/.git/worktrees/ws/gitdir", "/other/.git\n")},
      {"a common directory elsewhere", worktree().file("/main/.git/worktrees/ws/commondir", "/home/victim\n")},
      {"no worktrees folder", worktree().file("/ws/.git", "gitdir: /main/.git\n")},
      {"a link on the way", worktree().file("/ws/.git", "gitdir: /l/.git/worktrees/ws\n").link("/l", "/main")},
      {"no pointer at all", worktree().file("/ws/.git", "gitdir: /gone/.git/worktrees/ws\n")},
  };
  for (const auto& [why, tree] : forged) {
    const auto facts = look(tree);
    EXPECT_TRUE(facts.writable.empty()) << why;
    EXPECT_EQ(facts.notes.size(), 1U) << why;
    EXPECT_TRUE(has(facts.frozen, "/ws/.git")) << why;
  }
}

TEST(Workspace, a_common_directory_that_holds_the_workspace_is_not_opened) {
  Tree tree;
  tree.repository("/main")
      .file("/main/worktrees/w/commondir", "../..")
      .file("/main/worktrees/w/gitdir", "/main/w/.git")
      .file("/main/w/.git", "gitdir: /main/worktrees/w");
  EXPECT_TRUE(workspace_facts("/main/w", tree.view(), GitConfig::kFrozen).writable.empty());
}

TEST(Workspace, freezes_a_repository_elsewhere_in_the_workspace_that_a_file_or_a_link_names) {
  Tree tree;
  tree.repository("/ws/.bare").file("/ws/.git", "gitdir: ./.bare\n");
  EXPECT_TRUE(has(look(tree).frozen, "/ws/.bare/hooks"));
  Tree linked;
  linked.repository("/ws/.bare").link("/ws/.git", "/ws/.bare");
  EXPECT_TRUE(has(look(linked).frozen, "/ws/.git"));
  EXPECT_TRUE(has(look(linked).frozen, "/ws/.bare/config"));
  Tree away;
  away.repository("/else/.git").link("/ws/.git", "/else/.git");
  EXPECT_FALSE(has(look(away).frozen, "/else/.git/config"));
  EXPECT_EQ(look(away).notes.size(), 1U);
}

TEST(Workspace, defaults_are_those_of_the_specification) {
  const Policy policy = workspace_default("/ws", WorkspaceFacts{{"/ws/.git/hooks"}, {"/main/.git"}, {}});
  EXPECT_EQ(policy.writable_roots, (std::vector<Path>{"/ws", "/main/.git"}));
  EXPECT_EQ(policy.readable_roots, policy.writable_roots);
  EXPECT_EQ(policy.frozen, std::vector<Path>{"/ws/.git/hooks"});
  EXPECT_EQ(policy.limits, (Limits{300, 600, 2147483648U, 512, 1073741824U, 4194304U}));
  EXPECT_EQ(policy.network, Network{});
  EXPECT_TRUE(policy.scratch.is_tmpfs());
}

TEST(Workspace, every_entry_of_the_table_has_a_reason_and_stands_once) {
  for (const auto& entry : kRunLaterEntries) {
    EXPECT_FALSE(entry.reason.empty());
    EXPECT_EQ(std::count_if(kRunLaterEntries.begin(), kRunLaterEntries.end(),
                            [&](const auto& other) { return other.path == entry.path; }),
              1);
  }
}

TEST(GitConfig, reads_values_as_git_does) {
  const auto settings = parse_git_config(
      "; comment\n[Core]\n\tEditor = \"a b\"  # why\nempty\n\tpath = one \\\n two\\t\\\"q\\\"\n"
      "[remote \"o]x\\\"\"] URL=x;y\n[a.b]k=v");
  ASSERT_EQ(settings.size(), 5U);
  EXPECT_EQ(settings[0].section + "." + settings[0].key, "core.editor");
  EXPECT_EQ(settings[0].value, "a b");
  EXPECT_EQ(settings[1].key, "empty");
  EXPECT_EQ(settings[2].value, "one  two\t\"q\"");
  EXPECT_EQ(settings[3].section + "." + settings[3].key + "=" + settings[3].value, "remote.url=x");
  EXPECT_EQ(settings[4].value, "v");
}

TEST(GitConfig, takes_any_bytes) {
  for (const char* text : {"[", "[a", "[a \"", "k = \"", "k = \\", "=", "\\", "[]\n=x", "k"})
    (void)parse_git_config(text);
  EXPECT_TRUE(parse_git_config("").empty());
}

}  // namespace
}  // namespace loom
