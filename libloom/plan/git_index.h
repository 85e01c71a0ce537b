// The gitlinks of a git index: the directories that git will look into as repositories of their own, each with its own
// configuration (spec/jail.md "Git"). The index lies where a command may write, so these are foreign bytes: total, no
// allocation by claim, strict. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loom {

inline constexpr std::size_t kMostGitIndexBytes = 32U << 20U;

// Paths relative to the work tree, as git wrote them. Nothing: an index that this cannot say all of (a version or an
// object format that is not known, a split or sparse one, or no index at all).
[[nodiscard]] std::optional<std::vector<std::string>> gitlinks_of(std::string_view index);

}  // namespace loom
