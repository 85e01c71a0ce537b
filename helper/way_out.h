// The helper's part of network mode "proxy": the jail's own loopback and the socket the bridge listens on
// (spec/egress.md "How the jail reaches it").
#pragma once

#include <cstdint>

#include "base/result.h"
#include "helper/host_context.h"
#include "helper/stage2/protocol.h"
#include "os/unique_fd.h"
#include "policy/model.h"

namespace loom::helper {

// In the jail's network namespace, with its capabilities. Errors: spawn_failed.
[[nodiscard]] Status bring_up_loopback();
[[nodiscard]] Result<UniqueFd> listen_on_loopback(std::uint16_t port);

inline constexpr char kNoBridgeInBwrap[] = "the bwrap backend has no bridge to a proxy";

// Why a jail under this policy gets no bridge, in words; nullptr when it gets one. Pure.
[[nodiscard]] const char* no_way_out(const HostContext& host, const Policy& policy, stage2::Container container);

// The bridge of a jail whose init `pidfd` is, by its number here: the first that init started. 0: not known.
[[nodiscard]] int bridge_of(int pidfd);

}  // namespace loom::helper
