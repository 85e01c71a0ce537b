// Small questions and deeds about descriptors that are not ours to change (spec/broker.md "Flags of run and call").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/unique_fd.h"

namespace loom {

// Whether readiness of this descriptor can be waited for. Regular files, directories and some devices cannot: they are
// always ready.
[[nodiscard]] bool can_wait_for(int fd);
[[nodiscard]] bool is_open(int fd);

// A second open file description of the same pipe, FIFO or terminal that does not block, so that the flags of the one
// we were given (which others share) stay as they are. Nothing when the kernel refuses or the descriptor is of another
// type.
enum class Direction { kRead, kWrite };
[[nodiscard]] std::optional<UniqueFd> reopen_nonblocking(int fd, Direction direction);

// Everything to the end of the file, at most `max_bytes`. `timeout_ms` bounds the wait for a writer that never ends (0:
// none). Errors: too_large, read_failed, read_timeout. `name` is the place in errors.
[[nodiscard]] Result<std::string> read_to_end(int fd, std::size_t max_bytes, int timeout_ms, std::string_view name);
// The same of a named file. Errors also unreadable.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t max_bytes);
// All of it, blocking. Errors: write_failed; reader_gone, of a pipe that nobody reads.
[[nodiscard]] Status write_all(int fd, std::string_view bytes, std::string_view name);

// "No such file or directory": the words for an errno, without its number.
[[nodiscard]] std::string errno_text(int error);

}  // namespace loom
