// Runs a seccomp program in user space, for the calls this kernel and machine cannot make: x32, i386, arm64, numbers
// that do not exist. Strict: what the kernel's own checker would refuse has no answer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace loom::test {

inline constexpr std::uint32_t kArchX86_64 = 0xc000003e;
inline constexpr std::uint32_t kArchI386 = 0x40000003;
inline constexpr std::uint32_t kArchArm64 = 0xc00000b7;
inline constexpr std::uint32_t kX32Bit = 0x40000000;

inline constexpr std::uint32_t kAllow = 0x7fff0000;
constexpr std::uint32_t refused_with(int error) {
  return 0x00050000U | static_cast<std::uint32_t>(error);
}

struct SeccompCall {
  std::uint32_t number = 0;
  std::uint32_t arch = kArchX86_64;
  std::array<std::uint64_t, 6> args{};
};

// The action, or nothing for a malformed program.
[[nodiscard]] std::optional<std::uint32_t> eval_bpf(std::string_view program, const SeccompCall& call);

}  // namespace loom::test
