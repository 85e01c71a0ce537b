// Misdeed: the kernel is asked through other kinds of netlink than the list of routes
// Witness: that one answers
// Run: network=full
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("routes", ::socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) >= 0);
  for (int kind = 1; kind < 32; ++kind) forbidden_number("netlink", kind, ::socket(AF_NETLINK, SOCK_RAW, kind) >= 0);
}

const Program kProgram{"netlink_kinds", &run};

}  // namespace
}  // namespace loom::probes
