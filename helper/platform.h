// Which platforms have a jail. Others are served only to callers who say that they know (spec/jail.md "Layers and the
// report": "A platform with no jail").
#pragma once

namespace loom::helper {

enum class Platform { kJail, kNoJail };

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
inline constexpr Platform kThisPlatform = Platform::kJail;
#else
inline constexpr Platform kThisPlatform = Platform::kNoJail;
#endif

inline constexpr char kNoJailReason[] = "this platform has none: the command runs with all that its caller may do";

}  // namespace loom::helper
