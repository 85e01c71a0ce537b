// Who is at the other end of a Unix socket, as the kernel recorded it when the connection was made (spec/broker.md "The
// socket").
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace loom {

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

// `socket_fd` is borrowed. Error: peer_unknown.
[[nodiscard]] Result<PeerCredentials> peer_credentials(int socket_fd);

}  // namespace loom
