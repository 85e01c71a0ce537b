// Starts a helper: frames on its stdin and stdout, the base policy on its descriptor 3, stderr ours, nothing else
// inherited. The Boost.Process adapter is spawn.cc; no Boost header leaves it. Carries out: spec/wire.md "The base
// policy reaches the helper on fd 3", spec/broker.md "Helpers and the pool", spec/style.md "Ownership has a type".
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace loom {

struct SpawnRequest {
  std::string program;            // a path, as exec takes it
  std::vector<std::string> args;  // without argv[0]
  int policy_fd = -1;             // borrowed; -1: descriptor 3 is closed in the child
};

// A started child. Whoever holds it must have its end reaped (os/subreaper.h); the pidfd stays good for signals until
// then and never hits another process after.
struct SpawnedChild {
  pid_t pid = -1;
  UniqueFd pidfd;
  UniqueFd to_child;    // its stdin, non-blocking
  UniqueFd from_child;  // its stdout, non-blocking
};

// The child leads a session of its own (a terminal's signals are the broker's to interpret), has default signal
// dispositions and an empty mask, and is killed when this process dies. Errors: spawn_failed (with what exec said), and
// nothing is left.
[[nodiscard]] Result<SpawnedChild> spawn_child(const SpawnRequest& request);

// `bytes` in a sealed memory file, its offset at the start. Error: spawn_failed.
[[nodiscard]] Result<UniqueFd> sealed_memfd(std::string_view bytes);

// Whether `path` is a file that this process may execute; the error (spawn_failed) says what it is instead.
[[nodiscard]] Status check_executable(const std::string& path);

}  // namespace loom
