#include "helper/way_out.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "helper/kernel.h"
#include "os/fds.h"
#include "os/subreaper.h"

namespace loom::helper {
namespace {

constexpr int kBacklog = 512;

}  // namespace

Status bring_up_loopback() {
  const UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!any) return fail(kernel_error("loopback", "make a socket", errno));
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP;
  if (::ioctl(any.get(), SIOCSIFFLAGS, &request) != 0) return fail(kernel_error("loopback", "bring it up", errno));
  return {};
}

Result<UniqueFd> listen_on_loopback(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(kernel_error("loopback", "make a socket", errno));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return fail(kernel_error("loopback", "listen on it", errno));
  }
  return socket;
}

int bridge_of(int pidfd) {
  constexpr std::size_t kMost = 4096;
  constexpr std::string_view kKey = "Pid:\t";
  const auto facts = read_file("/proc/self/fdinfo/" + std::to_string(pidfd), kMost);
  const std::size_t at = facts ? facts->find(kKey) : std::string::npos;
  if (at == std::string::npos) return 0;
  const std::vector<pid_t> children = children_of(std::atoi(facts->c_str() + at + kKey.size()));
  return children.empty() ? 0 : children.front();
}

const char* no_way_out(const HostContext& host, const Policy& policy, stage2::Container container) {
  if (policy.network.mode != NetworkMode::kProxy) return "the network is not a proxy";
  if (container == stage2::Container::kBwrap) return kNoBridgeInBwrap;
  if (container == stage2::Container::kNone)
    return "there is no network namespace of the jail's own to put the bridge in";
  if (policy.network.proxy.empty()) return "the policy names no proxy's socket, and only a broker has one of its own";
  return host.bridge ? nullptr : host.no_bridge.c_str();
}

}  // namespace loom::helper
