// The versions the census names (spec/cli.md, spec/broker.md "census").
#pragma once

#include <cstdint>
#include <string_view>

namespace loom {

inline constexpr std::string_view kVersion = "0.1.0";
inline constexpr std::uint64_t kEnvelopeVersion = 1;
inline constexpr std::uint64_t kExecProto = 4;
inline constexpr std::uint64_t kControlProto = 1;
inline constexpr std::uint64_t kCapProto = 1;
inline constexpr std::uint64_t kPolicyVersion = 3;

}  // namespace loom
