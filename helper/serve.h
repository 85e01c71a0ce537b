// `loom-exec serve`: the exec channel on two descriptors. A shell around ServeCore: frames in, effects out, one thread,
// nothing that blocks (spec/wire.md "Exec channel"; spec/jail.md "Parts").
#pragma once

#include <functional>
#include <memory>

#include "helper/execution.h"
#include "helper/serve_core.h"
#include "os/loop.h"

namespace loom::helper {

using StartExecution = std::function<std::unique_ptr<Execution>(ExecRequest, ExecEvents)>;

// Serves until the channel is closed and every jail is joined; the exit status of the helper. `in` and `out` are
// borrowed; once the channel is closed they lead to /dev/null, so that the peer sees it closed. SIGTERM is a shutdown;
// SIGINT and SIGHUP, which a terminal sends to everything it started, are left to the peer.
[[nodiscard]] int serve(Loop& loop, ServeSettings settings, int in, int out, StartExecution start);

}  // namespace loom::helper
