// Where a broker's socket lives, and whether that place is fit for it (spec/broker.md "The socket").
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/unique_fd.h"

namespace loom {

// What names RUNTIME, in the order in which it is asked. An absent or empty one is passed over.
struct RuntimeDirSources {
  std::optional<std::string> flag;      // --runtime-dir
  std::optional<std::string> loom_env;  // LOOM_RUNTIME_DIR
  std::optional<std::string> xdg_env;   // XDG_RUNTIME_DIR
  uid_t uid = 0;
  std::function<bool(const std::string&)> is_directory;
};
// Pure. Error: no_runtime_dir, naming all that was tried.
[[nodiscard]] Result<std::string> choose_runtime_dir(const RuntimeDirSources& sources);
// The same from this process's own environment.
[[nodiscard]] Result<std::string> find_runtime_dir(const std::optional<std::string>& flag);

// Makes sure that the directory of `socket_path` is one that only we can change: a missing one is created 0700, an
// existing one is judged and never changed. Answers the open directory. Errors: socket_path_relative,
// socket_path_too_long, socket_under_root, socket_through_link, socket_dir_missing (its parent is absent),
// socket_dir_unsafe (not ours, or others can write to it), socket_failed.
[[nodiscard]] Result<UniqueFd> prepare_socket_dir(const std::string& socket_path);

// The name of the file at a path, told apart from any later one in its place.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
[[nodiscard]] std::optional<FileIdentity> identify(const std::string& path);

// A listening socket of our own at `path`, in a directory that was found fit: a live one is refused (socket_live), a
// stale one replaced, anything else there refused (socket_in_use). Two brokers that start at once cannot both win.
struct OwnSocket {
  UniqueFd fd;
  std::string path;
  FileIdentity identity;
};
[[nodiscard]] Result<OwnSocket> open_own_socket(const std::string& path, mode_t mode);
// Unlinks the socket file if it is still ours.
void remove_own_socket(const OwnSocket& socket);

}  // namespace loom
