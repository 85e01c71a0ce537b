#include "os/peer.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace loom {

Result<PeerCredentials> peer_credentials(int socket_fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return fail("peer_unknown", "", std::string("cannot tell who connected: ") + std::strerror(errno));
  }
  return PeerCredentials{credentials.pid, credentials.uid, credentials.gid};
}

}  // namespace loom
