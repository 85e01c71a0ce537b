#include "os/runtime_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "os/socket.h"

namespace loom {
namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string reason() {
  return std::strerror(errno);
}

struct SplitPath {
  std::string directory;
  std::string name;
};

Result<SplitPath> split(const std::string& path) {
  if (path.empty() || path.front() != '/') return fail("socket_path_relative", path, "a socket's path is absolute");
  if (path.size() > kMaxSocketPath) {
    return fail("socket_path_too_long", path,
                "a socket's path has at most " + std::to_string(kMaxSocketPath) + " bytes, this one " +
                    std::to_string(path.size()));
  }
  const std::size_t slash = path.find_last_of('/');
  SplitPath parts{path.substr(0, slash), path.substr(slash + 1)};
  if (parts.name.empty() || parts.name == "." || parts.name == "..") {
    return fail("socket_path_relative", path, "a socket's path ends in its name");
  }
  if (parts.directory.find_first_not_of('/') == std::string::npos) {
    return fail("socket_under_root", path, "a socket directly under / is refused",
                "give it a directory of its own that only you can write to");
  }
  return parts;
}

// Walks the directory's path one component at a time and refuses links, so that what was judged is what is used.
Result<UniqueFd> open_without_links(const std::string& directory) {
  UniqueFd at(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::size_t begin = 0;
  while (begin < directory.size()) {
    const std::size_t end = std::min(directory.find('/', begin), directory.size());
    const std::string name = directory.substr(begin, end - begin);
    const std::string so_far = directory.substr(0, end);
    begin = end + 1;
    if (name.empty() || name == ".") continue;
    UniqueFd next(::openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next && errno == ENOENT) return fail("socket_dir_missing", so_far, "there is no such directory");
    if (!next) return fail("socket_failed", so_far, "cannot look: " + reason());
    struct stat info {};
    if (::fstat(next.get(), &info) != 0) return fail("socket_failed", so_far, "cannot look: " + reason());
    if (S_ISLNK(info.st_mode)) {
      return fail("socket_through_link", so_far, "the way to a socket may not lead through a link");
    }
    if (!S_ISDIR(info.st_mode)) return fail("socket_failed", so_far, "not a directory");
    at = std::move(next);
  }
  return at;
}

Status judge_directory(int fd, const std::string& directory) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail("socket_failed", directory, "cannot look: " + reason());
  constexpr const char* kHint = "give --socket a directory that does not exist yet (it is made 0700), or one of yours";
  if (info.st_uid != ::geteuid()) {
    return fail("socket_dir_unsafe", directory, "the directory belongs to uid " + std::to_string(info.st_uid), kHint);
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail("socket_dir_unsafe", directory, "others can write to the directory", kHint);
  }
  return {};
}

// Held while one broker looks for another and binds; the directory is ours, so only another broker of ours (or root)
// holds it.
Status lock_directory(int directory_fd, const std::string& path) {
  for (int tries = 0; ::flock(directory_fd, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return fail("socket_failed", path, "cannot lock its directory: " + reason());
    if (tries == 100) return fail("socket_failed", path, "its directory stays locked by another process");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {};
}

}  // namespace

Result<std::string> choose_runtime_dir(const RuntimeDirSources& sources) {
  const auto given = [](const std::optional<std::string>& value) { return value && !value->empty(); };
  if (given(sources.flag)) return *sources.flag;
  if (given(sources.loom_env)) return *sources.loom_env;
  std::string tried = "--runtime-dir and LOOM_RUNTIME_DIR are not given";
  if (given(sources.xdg_env)) {
    if (sources.is_directory(*sources.xdg_env)) return *sources.xdg_env + "/loom";
    tried += ", XDG_RUNTIME_DIR (" + *sources.xdg_env + ") is no directory";
  } else {
    tried += ", XDG_RUNTIME_DIR is not set";
  }
  const std::string user_dir = "/run/user/" + std::to_string(sources.uid);
  if (sources.is_directory(user_dir)) return user_dir + "/loom";
  tried += ", " + user_dir + " is no directory";
  if (sources.uid == 0) return std::string("/run/loom");
  return fail("no_runtime_dir", "", "no place for the socket: " + tried + ", and /run/loom is root's",
              "name one: --socket PATH, or LOOM_RUNTIME_DIR");
}

Result<std::string> find_runtime_dir(const std::optional<std::string>& flag) {
  return choose_runtime_dir(RuntimeDirSources{flag, environment("LOOM_RUNTIME_DIR"), environment("XDG_RUNTIME_DIR"),
                                              ::geteuid(), is_directory});
}

Result<UniqueFd> prepare_socket_dir(const std::string& socket_path) {
  LOOM_TRY(const SplitPath parts, split(socket_path));
  auto found = open_without_links(parts.directory);
  if (!found && found.error().code == "socket_dir_missing" && found.error().where == parts.directory) {
    if (::mkdir(parts.directory.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail("socket_failed", parts.directory, "cannot make the directory: " + reason());
    }
    found = open_without_links(parts.directory);
  }
  if (!found) return fail(std::move(found).error());
  LOOM_CHECK(judge_directory(found->get(), parts.directory));
  UniqueFd directory(::openat(found->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail("socket_failed", parts.directory, "cannot open: " + reason());
  return directory;
}

std::optional<FileIdentity> identify(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
  return FileIdentity{info.st_dev, info.st_ino};
}

Result<OwnSocket> open_own_socket(const std::string& path, mode_t mode) {
  LOOM_TRY(const UniqueFd directory, prepare_socket_dir(path));
  LOOM_CHECK(lock_directory(directory.get(), path));
  switch (probe_unix(path)) {
    case SocketLife::kAbsent:
      break;
    case SocketLife::kStale:
      if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return fail("socket_failed", path, "cannot remove the stale socket: " + reason());
      }
      break;
    case SocketLife::kLive:
      return fail("socket_live", path, "a broker answers there already", "stop it: loom-broker stop --socket " + path);
    case SocketLife::kNotASocket:
      return fail("socket_in_use", path, "something that is no socket is there");
  }
  OwnSocket own;
  LOOM_TRY(own.fd, listen_unix(path, mode));
  const auto identity = identify(path);
  if (!identity) return fail("socket_failed", path, "the socket vanished while it was made");
  own.path = path;
  own.identity = *identity;
  return own;
}

void remove_own_socket(const OwnSocket& socket) {
  if (identify(socket.path) == socket.identity) ::unlink(socket.path.c_str());
}

}  // namespace loom
