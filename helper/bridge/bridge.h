// The bridge: the one process of a jail that joins its loopback to the proxy's socket. It takes what connects to the
// listening socket it was given, connects once to the proxy for each, and only copies: it reads no byte of what passes,
// keeps half-closes, and holds a bounded number of connections with a bounded buffer each way. No libc, no heap.
// Carries out: spec/egress.md "How the jail reaches it".
#pragma once

namespace loom::bridge {

// The descriptors that cross its exec.
inline constexpr int kListenFd = 3;
inline constexpr int kLifelineFd = 4;  // whoever started it holds the other end: its end of file is the order to leave

// Half of what a proxy carries: jails share one, and none may take all of its tunnels.
inline constexpr unsigned kMostLinks = 128;
inline constexpr unsigned kFlowBytes = 32U << 10U;  // waiting in one direction of one connection

// Serves until the lifeline ends. `socket`: the proxy's, by its path in the jail. The answer is an exit status.
int serve(const char* socket);

}  // namespace loom::bridge
