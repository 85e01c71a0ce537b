// How a placeholder is told from what people make (spec/jail.md "Missing"): a directory of mode 0500, or a file of mode
// 0444 with at most one byte, each with one fixed time of modification that nothing else has and that any change to it
// takes away. One that is just being made has the sticky bit in its place.
//
// Whoever looks the host up takes a placeholder for what it is, an absent entry: what another execution has put there,
// or a helper that was killed has left, changes no plan.
#pragma once

#include <sys/stat.h>

#include <ctime>

namespace loom {

inline constexpr std::time_t kPlaceholderTime = 0x4c4f4f4d;
inline constexpr mode_t kPlaceholderBeingMade = 01500;
inline constexpr mode_t kPlaceholderDirectory = 0500;
inline constexpr mode_t kPlaceholderFile = 0444;

// By these facts alone. Whether a directory is empty they do not say, nor what a file's byte is.
[[nodiscard]] bool looks_like_placeholder(const struct stat& facts);
// And empty, or a file that holds nothing or ".", as far as this process may read it. Nothing is followed.
[[nodiscard]] bool is_placeholder_at(const char* path, const struct stat& facts);

}  // namespace loom
