// Waits for a descriptor whose flags are not ours: the Loop makes what it watches non-blocking, and with it everybody
// who shares the open file. Here the loop watches an epoll of its own, and the descriptor stays as it is.
#pragma once

#include <functional>

#include "os/loop.h"
#include "os/unique_fd.h"

namespace loom {

// As Loop::watch, for a descriptor of another's. The descriptor must outlive the handle.
[[nodiscard]] Loop::Watch watch_borrowed(Loop& loop, int fd, Readiness what, std::function<void()> callback);

}  // namespace loom
