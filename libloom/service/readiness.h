// How a daemon tells that it serves, and takes over what its supervisor has opened: --ready-fd, sd_notify, LISTEN_FDS
// (spec/broker.md "The socket", spec/style.md "A test waits on readiness").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/unique_fd.h"

namespace loom::service {

// Writes one line to `fd` and closes it. Error: ready_fd_failed.
[[nodiscard]] Status announce_ready(int fd, std::string_view line);

// "READY=1", "STOPPING=1", "STATUS=..." to NOTIFY_SOCKET; nothing when that is not set. Failures are not told: a
// supervisor that does not listen is its own fault.
void notify_supervisor(std::string_view state);

// The one listening socket passed by a supervisor (LISTEN_PID is us, LISTEN_FDS is 1), made close-on-exec; nothing when
// none was passed. The variables are removed so that no child takes them for its own. Error: listen_fds (more than one,
// or not a listening Unix stream socket).
[[nodiscard]] Result<std::optional<UniqueFd>> take_listen_fd();
// The path a Unix socket is bound to; "" when it has none.
[[nodiscard]] std::string bound_path(int fd);

}  // namespace loom::service
