// Plays a client towards a broker's socket: speaks by a script on stdin (test/support/client_script.h) and prints every
// frame it gets as one line of JSON.
//   control_client SOCKET
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdio>
#include <cstring>
#include <iostream>

#include "os/unique_fd.h"
#include "test/support/client_script.h"

int main(int argc, char** argv) {
  sockaddr_un address{};
  if (argc != 2 || std::strlen(argv[1]) >= sizeof address.sun_path) {
    std::fprintf(stderr, "usage: control_client SOCKET\n");
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, argv[1]);
  const loom::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    std::perror(argv[1]);
    return 2;
  }
  loom::test::FramePort port(socket.get(), socket.get());
  const loom::test::ClientHooks hooks{[&socket] { ::shutdown(socket.get(), SHUT_WR); },
                                      [](const std::string&) { return false; }};
  return loom::test::run_client_script(std::cin, port, hooks, false);
}
