// Unix stream sockets, every descriptor close-on-exec and non-blocking (spec/broker.md "The socket").
#pragma once

#include <sys/types.h>

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "os/unique_fd.h"

namespace loom {

// sun_path without its terminating NUL.
inline constexpr std::size_t kMaxSocketPath = 107;

// Binds and listens; the file gets exactly `mode`. Errors: socket_path_too_long, socket_in_use (something is there
// already), socket_failed.
[[nodiscard]] Result<UniqueFd> listen_unix(const std::string& path, mode_t mode);

// Connects within `patience` (a full backlog is waited out). Errors: no_broker (nobody listens, or nothing is there;
// the hint says how one is started), socket_path_too_long, socket_failed.
[[nodiscard]] Result<UniqueFd> connect_unix(const std::string& path, Duration patience);

// Whether somebody listens at `path`. A stale file, or none, is false.
enum class SocketLife { kAbsent, kStale, kLive, kNotASocket };
[[nodiscard]] SocketLife probe_unix(const std::string& path);

enum class AcceptFault {
  kNone,
  kNobody,     // nobody waits any more
  kGone,       // the one who waited has left
  kExhausted,  // no descriptor or memory for it: it still waits
  kBroken,     // the listening socket itself is of no use
};
struct Accepted {
  AcceptFault fault = AcceptFault::kNone;
  UniqueFd fd;
  int error = 0;  // errno, for kBroken
};
[[nodiscard]] Accepted accept_unix(int listening_fd);

}  // namespace loom
