// What a compressed body holds, decoded only to look for a reflected secret: the caller gets the bytes as they were
// sent (spec/egress.md "Secrets", "Transfer"). The zlib adapter is content_coding.cc. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loom::egress {

// The body without its codings, for the values of every Content-Encoding header: none or identity leaves it as it is,
// gzip (x-gzip) and deflate are undone. Nothing when it cannot be seen what it holds: another coding, several, bytes
// that are not what they are called, or more than `max_bytes` of them.
[[nodiscard]] std::optional<std::string> undo_coding(const std::vector<std::string>& encodings, std::string_view body,
                                                     std::size_t max_bytes);

}  // namespace loom::egress
