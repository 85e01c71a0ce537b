// The three standard streams, as the wire names them.
#pragma once

#include <string_view>

namespace loom {

enum class Stream { kStdin, kStdout, kStderr };
[[nodiscard]] std::string_view to_text(Stream stream);
[[nodiscard]] bool parse_stream(std::string_view text, Stream& stream);

inline constexpr unsigned long long kInitialCredit = 1ULL << 20U;  // every stream's window at its start

}  // namespace loom
