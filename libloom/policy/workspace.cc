#include "policy/workspace.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "policy/covers.h"
#include "policy/git_config.h"
#include "policy/run_later.h"

namespace loom {

namespace {

constexpr std::size_t kMaxFolders = 20000;   // looked into below .git/modules before the whole of it is frozen instead
constexpr std::size_t kMaxConfigFiles = 64;  // read, however they include each other
constexpr std::size_t kMaxSubmodules = 1000;

Path joined(const Path& dir, std::string_view name) {
  return (dir == "/" ? "" : dir) + "/" + std::string(name);
}

Path parent_of(const Path& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string_view name_of(const Path& path) {
  return std::string_view(path).substr(path.rfind('/') + 1);
}

// `text` seen from `dir`, with ".", ".." and doubled slashes taken out by text alone.
Path normalised(const Path& dir, std::string_view text) {
  const std::string whole = !text.empty() && text.front() == '/' ? std::string(text) : dir + "/" + std::string(text);
  Path path = "/";
  for (std::size_t begin = 0; begin < whole.size();) {
    const std::size_t end = std::min(whole.find('/', begin), whole.size());
    const std::string component = whole.substr(begin, end - begin);
    if (component == "..") {
      path = parent_of(path);
    } else if (!component.empty() && component != ".") {
      path = joined(path, component);
    }
    begin = end + 1;
  }
  return path;
}

std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find_first_of("\r\n"), text.size()));
}

class Finder {
 public:
  Finder(const Path& dir, const FileView& view, GitConfig config) : dir_(dir), view_(view), config_(config) {}

  WorkspaceFacts find() {
    find_repository();
    for (const RunLaterEntry& entry : kRunLaterEntries) {
      if (entry.git_config && config_ == GitConfig::kWritable) continue;
      if (entry.path == "core.hooksPath") {
        for (const Path& path : hook_paths_) add(path);
      } else if (entry.path == "submodule.path") {
        add_submodules();
      } else if (entry.path == "include.path") {
        for (const Path& path : included_) add(path);
      } else if (entry.path.substr(0, kGitDirectory.size()) == kGitDirectory) {
        if (!git_dir_.empty()) expand(git_dir_, entry.path.substr(kGitDirectory.size()), entry);
      } else {
        expand(dir_, entry.path, entry);
      }
    }
    return std::move(facts_);
  }

 private:
  void add(const Path& path) {
    if (listed_.insert(path).second) facts_.frozen.push_back(path);
  }
  void note(std::string text) { facts_.notes.push_back(std::move(text)); }

  [[nodiscard]] bool wanted(const Path& path, Listed listed) const {
    const FileKind kind = view_.kind(path);
    switch (listed) {
      case Listed::kAlways:
        return true;
      case Listed::kWhenPresent:
        return kind != FileKind::kMissing;
      case Listed::kUnlessFolder:
        return kind != FileKind::kMissing && kind != FileKind::kDirectory;
      case Listed::kInRepository:
        return kind != FileKind::kMissing || is_repository(parent_of(path));
      case Listed::kWhenRead:
        return kind != FileKind::kMissing ||
               (worktree_config_ && view_.kind(joined(parent_of(path), "HEAD")) == FileKind::kFile);
    }
    return true;
  }
  [[nodiscard]] bool is_repository(const Path& path) const {
    return view_.kind(joined(path, "HEAD")) == FileKind::kFile &&
           view_.kind(joined(path, "objects")) == FileKind::kDirectory;
  }

  void expand(const Path& at, std::string_view pattern, const RunLaterEntry& entry) {
    const std::size_t slash = pattern.find('/');
    const std::string_view head = pattern.substr(0, slash);
    if (slash == std::string_view::npos) {
      if (wanted(joined(at, head), entry.listed)) add(joined(at, head));
      return;
    }
    const std::string_view tail = pattern.substr(slash + 1);
    if (head == "**") {
      std::size_t left = kMaxFolders;
      if (!walk(at, tail, entry, left)) add(at);
    } else if (head == "*") {
      for (const std::string& name : view_.list(at)) expand(joined(at, name), tail, entry);
    } else {
      expand(joined(at, head), tail, entry);
    }
  }
  // False when there are more folders than anyone has submodules: then the place they are in is frozen as a whole.
  bool walk(const Path& at, std::string_view tail, const RunLaterEntry& entry, std::size_t& left) {
    for (const std::string& name : view_.list(at)) {
      if (name == "objects" || name == "refs" || name == "logs")
        continue;  // no submodule inside, and a branch may be called config
      const Path below = joined(at, name);
      if (name == tail || view_.kind(below) != FileKind::kDirectory) continue;
      if (left-- == 0) return false;
      note_worktree_of(below);
      expand(below, tail, entry);
      if (left == 0 || !walk(below, tail, entry, left)) return false;
    }
    return true;
  }

  // Where a submodule's own directory says that its files are.
  void note_worktree_of(const Path& git_dir) {
    for (const GitSetting& setting : parse_git_config(view_.read(joined(git_dir, "config")))) {
      if (setting.section == "core" && setting.key == "worktree") note_submodule(normalised(git_dir, setting.value));
    }
  }
  // Anybody may have written what names it: only what really lies in the workspace counts.
  void note_submodule(const Path& path) {
    if (submodules_.size() == kMaxSubmodules || !covers_strictly(dir_, path) || view_.resolve(path) != path) return;
    if (std::find(submodules_.begin(), submodules_.end(), path) == submodules_.end()) submodules_.push_back(path);
  }
  void add_submodules() {
    for (const GitSetting& setting : parse_git_config(view_.read(joined(dir_, ".gitmodules")))) {
      if (setting.section == "submodule" && setting.key == "path") note_submodule(normalised(dir_, setting.value));
    }
    for (const Path& path : submodules_) {
      const Path dot_git = joined(path, ".git");
      const FileKind kind = view_.kind(dot_git);
      if (kind == FileKind::kMissing) continue;
      if (kind != FileKind::kDirectory) {
        add(dot_git);
        continue;
      }
      add(joined(dot_git, "hooks"));
      if (config_ == GitConfig::kFrozen && view_.kind(joined(dot_git, "config")) != FileKind::kMissing)
        add(joined(dot_git, "config"));
      if (is_repository(dot_git)) add(joined(dot_git, "commondir"));
    }
  }

  void find_repository() {
    const Path dot_git = joined(dir_, ".git");
    switch (view_.kind(dot_git)) {
      case FileKind::kMissing:
      case FileKind::kOther:
        return;
      case FileKind::kDirectory:
        git_dir_ = dot_git;
        break;
      case FileKind::kFile:
        follow_pointer(first_line(view_.read(dot_git)));
        break;
      case FileKind::kLink:
        git_dir_ = inside_workspace(view_.resolve(dot_git));
        if (git_dir_.empty()) note(".git is a link that leads out of the workspace: nothing was added for it");
        break;
    }
    if (git_dir_.empty()) return;
    read_config(joined(git_dir_, "config"));
    read_config(joined(git_dir_, "config.worktree"));
  }

  [[nodiscard]] Path inside_workspace(const Path& path) const {
    return covers_strictly(dir_, path) && view_.kind(path) == FileKind::kDirectory ? path : Path();
  }

  void follow_pointer(const std::string& line) {
    constexpr std::string_view kPointer = "gitdir: ";
    if (line.substr(0, kPointer.size()) != kPointer) return;
    const Path pointed = normalised(dir_, line.substr(kPointer.size()));
    const std::optional<Path> common = common_directory(pointed);
    const std::optional<Path> granted = common ? common : submodule_directory(pointed);
    git_dir_ = granted ? *granted : inside_workspace(view_.resolve(pointed));
    if (granted && !covers(dir_, *granted)) facts_.writable.push_back(*granted);
    if (common) read_config(joined(pointed, "config.worktree"));
    if (git_dir_.empty())
      note(".git points to " + pointed + ", which does not point back to this directory: nothing was added for it");
  }

  // The repository of the worktree whose own git directory is `git_dir`: two levels up, and both files there say so. No
  // link may be on the way: whoever can write where the pointer leads could lead it on from there.
  [[nodiscard]] std::optional<Path> common_directory(const Path& git_dir) const {
    const Path folder = parent_of(git_dir);
    const Path common = parent_of(folder);
    if (name_of(folder) != "worktrees" || view_.resolve(git_dir) != git_dir || covers(common, dir_))
      return std::nullopt;
    const std::string forward = first_line(view_.read(joined(git_dir, "commondir")));
    const std::string back = first_line(view_.read(joined(git_dir, "gitdir")));
    if (forward.empty() || normalised(git_dir, forward) != common) return std::nullopt;
    if (back.empty() || normalised(git_dir, back) != joined(dir_, ".git")) return std::nullopt;
    return is_repository(common) ? std::optional<Path>(common) : std::nullopt;
  }

  // The directory of a submodule, in the folder modules of a repository, whose config says that its files are here.
  [[nodiscard]] std::optional<Path> submodule_directory(const Path& git_dir) const {
    if (view_.resolve(git_dir) != git_dir || covers(git_dir, dir_) || !is_repository(git_dir)) return std::nullopt;
    Path folder = parent_of(git_dir);
    while (folder != "/" && !(name_of(folder) == "modules" && is_repository(parent_of(folder))))
      folder = parent_of(folder);
    if (folder == "/") return std::nullopt;
    for (const GitSetting& setting : parse_git_config(view_.read(joined(git_dir, "config")))) {
      if (setting.section == "core" && setting.key == "worktree" && normalised(git_dir, setting.value) == dir_)
        return git_dir;
    }
    return std::nullopt;
  }

  void read_config(const Path& file) {
    if (config_files_.size() == kMaxConfigFiles || !config_files_.insert(file).second) return;
    for (const GitSetting& setting : parse_git_config(view_.read(file))) {
      // A key without a value is true; so is what is not said to be false.
      if (setting.section == "extensions" && setting.key == "worktreeconfig") worktree_config_ = true;
      if (setting.value.empty() || setting.value.front() == '~') continue;
      if (setting.section == "core" && setting.key == "hookspath") {
        const Path hooks = normalised(dir_, setting.value);
        if (covers_strictly(dir_, hooks)) hook_paths_.push_back(hooks);
        if (hooks == dir_)
          note("core.hooksPath is the workspace itself, which cannot be frozen: hooks can be written there");
      }
      if ((setting.section == "include" || setting.section == "includeif") && setting.key == "path") {
        const Path included = normalised(parent_of(file), setting.value);
        if (!covers_strictly(dir_, included)) continue;
        included_.push_back(included);
        read_config(included);
      }
    }
  }

  const Path& dir_;
  const FileView& view_;
  GitConfig config_;
  Path git_dir_;  // where hooks and config are: the common directory of a worktree; "" when there is none to look into
  std::vector<Path> hook_paths_;
  std::vector<Path> included_;
  bool worktree_config_ = false;
  std::vector<Path> submodules_;  // directories of the workspace
  std::unordered_set<Path> config_files_;
  std::unordered_set<Path> listed_;
  WorkspaceFacts facts_;
};

}  // namespace

WorkspaceFacts workspace_facts(const Path& dir, const FileView& view, GitConfig config) {
  return Finder(dir, view, config).find();
}

}  // namespace loom
