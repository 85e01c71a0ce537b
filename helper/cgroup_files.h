// The files of a cgroup, from its open directory: small texts read and written whole, and directories removed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loom::helper {

// The whole of a small file; nullopt when it is not there or cannot be read.
[[nodiscard]] std::optional<std::string> read_at(int directory, const char* name);
// 0, or the errno.
[[nodiscard]] int write_at(int directory, const char* name, std::string_view text);
[[nodiscard]] std::vector<std::string> directories_in(int directory);
// KILL to all below: by the kernel's own cgroup.kill, else one by one.
void kill_cgroup(int directory);
// Waits until nothing lives in it, at most so long. Whether nothing does.
bool wait_until_empty(int directory, int milliseconds);
// With all below it, deepest first. Never follows a link. Whether it is gone.
bool remove_cgroup(int parent, const std::string& name);

}  // namespace loom::helper
