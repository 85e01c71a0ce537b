// What a broker of this tool knows of the way out before it starts: the proxy's program, its configuration, where the
// sockets for jails will lie (spec/egress.md "How the jail reaches it", spec/broker.md "The socket").
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "proxy_process.h"

namespace loom::broker {

// loom-egress beside this tool, where it is; the configuration read and judged. Errors: egress_unavailable (a
// configuration and no program), those of reading and decoding it, `where` "--egress-config".
[[nodiscard]] Result<ProxyOptions> find_way_out(const std::optional<std::string>& config);

// jail-INCARNATION in `above`; without one in RUNTIME, and where there is none, under a name of its own in /tmp.
[[nodiscard]] std::string jail_dir_for(const std::string& above, std::uint64_t incarnation);

}  // namespace loom::broker
