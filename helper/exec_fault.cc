#include "helper/exec_fault.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/fds.h"

namespace loom::helper {

Error explain_exec(const stage2::ExecFailed& failed) {
  const std::string path(failed.path, ::strnlen(failed.path, sizeof failed.path));
  const std::string why = errno_text(failed.error);
  switch (failed.fault) {
    case stage2::ExecFault::kSetup:
      return {"spawn_failed", path, "stage 2 cannot go on: " + why, ""};
    case stage2::ExecFault::kCwd:
      return {"bad_cwd", path, "cannot be the command's directory in the jail: " + why, ""};
    case stage2::ExecFault::kNotFound:
      return {"exec_not_found", path, "no such command in the jail", ""};
    case stage2::ExecFault::kPermission:
      if (failed.error == EISDIR) return {"exec_permission", path, "is a directory, not a program", ""};
      return {"exec_permission", path, "not allowed to execute it: " + why, ""};
    case stage2::ExecFault::kInterpreter:
      return {"exec_interpreter", path, "its interpreter or loader is not in the jail", ""};
    case stage2::ExecFault::kFormat:
      return {"exec_format", path, "not a program this kernel knows: " + why, ""};
    case stage2::ExecFault::kTooBig:
      return {"exec_too_big", path, "arguments and environment are more than the kernel takes", ""};
    case stage2::ExecFault::kOther:
      return {"spawn_failed", path, "cannot execute it: " + why, ""};
  }
  return {"spawn_failed", path, why, ""};
}

std::vector<std::string> split_strings(std::string_view block) {
  std::vector<std::string> strings;
  for (std::size_t end = 0; (end = block.find('\0')) != std::string_view::npos; block.remove_prefix(end + 1)) {
    strings.emplace_back(block.substr(0, end));
  }
  return strings;
}

std::vector<std::string> split_facts(std::string_view block) {
  std::vector<std::string> facts;
  for (std::string& fact : split_strings(block)) {
    if (!fact.empty()) facts.push_back(std::move(fact));
  }
  return facts;
}

std::vector<Path> checked_paths(std::string_view orders) {
  std::vector<Path> paths;
  orders.remove_prefix(std::min(orders.size(), sizeof(std::uint64_t)));
  while (orders.size() >= sizeof(stage2::Record)) {
    stage2::Record record{};
    std::memcpy(&record, orders.data(), sizeof record);
    orders.remove_prefix(sizeof record);
    if (record.length > orders.size()) break;
    if (record.tag == stage2::Tag::kMountCheck && record.length > sizeof(stage2::MountCheck)) {
      paths.emplace_back(orders.substr(sizeof(stage2::MountCheck), record.length - sizeof(stage2::MountCheck) - 1));
    }
    orders.remove_prefix(std::min<std::size_t>(orders.size(), (record.length + 7U) / 8U * 8U));
  }
  return paths;
}

std::string read_memory_file(int fd) {
  std::string bytes;
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return bytes;
  bytes.resize(static_cast<std::size_t>(facts.st_size));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

std::uint64_t inode_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

}  // namespace loom::helper
