// What stage 2 and the builder left in bytes, as words and values. Pure but for the two readers of files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "helper/stage2/protocol.h"
#include "policy/model.h"

namespace loom::helper {

// One of wire.md's codes, the path in `where`, the reason in words.
[[nodiscard]] Error explain_exec(const stage2::ExecFailed& failed);
// NUL-terminated strings; an unterminated rest is dropped.
[[nodiscard]] std::vector<std::string> split_strings(std::string_view block);
// The same without empty ones.
[[nodiscard]] std::vector<std::string> split_facts(std::string_view block);
// The paths of the mount checks of a policy's orders, in order.
[[nodiscard]] std::vector<Path> checked_paths(std::string_view orders);

[[nodiscard]] std::string read_memory_file(int fd);
[[nodiscard]] std::uint64_t inode_of(const std::string& path);  // 0 when there is none

}  // namespace loom::helper
