#include "helper/bridge/bridge.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "helper/bridge/flow.h"
#include "helper/stage2/sys.h"

namespace loom::bridge {

using stage2::call;

namespace {

constexpr long kAgainNanoseconds = 50 * 1000 * 1000;  // between two tries of what the kernel had no room for
constexpr unsigned kFixed = 2;                        // of the polled descriptors: the lifeline, the listener
constexpr unsigned kOtherFiles = 8;

// Apart from the buffers, so that a page of theirs is only touched when something passes through it.
struct Link {
  int client;   // -1: a free place
  int proxy;    // -1: not yet
  bool joined;  // the proxy's socket took the connection; else it is asked again
  Flow* up;     // from the client
  Flow* down;
};

Link links[kMostLinks];
Flow flows[2 * kMostLinks];
pollfd polled[kFixed + 2 * kMostLinks];
unsigned room = kMostLinks;  // links there are descriptors for
sockaddr_un address;

void leave(Link& link) {
  call(__NR_close, link.client);
  if (link.proxy >= 0) call(__NR_close, link.proxy);
  link.client = link.proxy = -1;
  link.joined = false;
  link.up->clear();
  link.down->clear();
}

// False: the proxy's socket is of no use, and the client hears it by its connection's end.
bool join(Link& link) {
  if (link.proxy < 0) {
    const long made = call(__NR_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0) return made == -EMFILE || made == -ENFILE || made == -ENOMEM || made == -ENOBUFS;
    link.proxy = static_cast<int>(made);
  }
  const long answer = call(__NR_connect, link.proxy, &address, sizeof address);
  link.joined = answer == 0;
  return answer == 0 || answer == -EAGAIN || answer == -EINTR;
}

// The answer is false when the kernel has no room for another connection now.
bool take_in() {
  for (unsigned i = 0; i < room; ++i) {
    if (links[i].client >= 0) continue;
    const long made = call(__NR_accept4, kListenFd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (made == -EAGAIN || made == -EINTR || made == -ECONNABORTED) return true;
    if (made < 0) return false;
    links[i].client = static_cast<int>(made);
    const int at_once = 1;
    call(__NR_setsockopt, links[i].client, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    if (!join(links[i])) leave(links[i]);
  }
  return true;
}

short wanted(const Flow& in, const Flow& out) {
  return static_cast<short>((in.wants_input() ? POLLIN : 0) | (out.has_output() ? POLLOUT : 0));
}

// A descriptor of which nothing is wanted is left out: its hang-up would be told again and again.
void ask(pollfd& slot, int fd, short events) {
  slot.fd = events != 0 ? fd : -1;
  slot.events = events;
  slot.revents = 0;
}

// What must be tried again without a descriptor telling when.
bool prepare(bool accepts) {
  bool again = !accepts;
  bool free_place = false;
  for (unsigned i = 0; i < room; ++i) {
    Link& link = links[i];
    free_place = free_place || link.client < 0;
    again = again || (link.client >= 0 && !link.joined);
    ask(polled[kFixed + 2 * i], link.client, link.joined ? wanted(*link.up, *link.down) : short{0});
    ask(polled[kFixed + 2 * i + 1], link.proxy, link.joined ? wanted(*link.down, *link.up) : short{0});
  }
  ask(polled[0], kLifelineFd, POLLIN);
  ask(polled[1], kListenFd, accepts && free_place ? POLLIN : short{0});
  return again;
}

bool carry(Link& link, short client, short proxy) {
  constexpr short kReadable = POLLIN | POLLHUP | POLLERR;
  if ((client & kReadable) != 0 && take(*link.up, link.client) == Moved::kBroken) return false;
  if ((proxy & kReadable) != 0 && take(*link.down, link.proxy) == Moved::kBroken) return false;
  // A proxy that has refused hears no more; what it said on the way out is still passed on.
  if (give(*link.up, link.proxy) == Moved::kBroken) link.up->drop();
  if (give(*link.down, link.client) == Moved::kBroken) return false;
  return !(link.up->over() && link.down->over());
}

void turn(unsigned i) {
  Link& link = links[i];
  if (link.client < 0) return;
  const bool stays =
      link.joined ? carry(link, polled[kFixed + 2 * i].revents, polled[kFixed + 2 * i + 1].revents) : join(link);
  if (!stays) leave(link);
}

// No constructor runs before a program without libc.
void empty_places() {
  for (unsigned i = 0; i < kMostLinks; ++i) links[i] = {-1, -1, false, &flows[2 * i], &flows[2 * i + 1]};
}

// Two descriptors a connection: as many connections as the limit of open files has room for.
void fit_to_limit() {
  struct {
    std::uint64_t soft, hard;
  } files{};
  if (call(__NR_prlimit64, 0, RLIMIT_NOFILE, nullptr, &files) != 0) return;
  files.soft = files.hard;
  call(__NR_prlimit64, 0, RLIMIT_NOFILE, &files, nullptr);
  const std::uint64_t places = files.soft > kOtherFiles ? (files.soft - kOtherFiles) / 2 : 0;
  if (places < room) room = places > 0 ? static_cast<unsigned>(places) : 1;
}

}  // namespace

int serve(const char* socket) {
  if (stage2::length(socket) >= sizeof address.sun_path) return 1;
  address.sun_family = AF_UNIX;
  stage2::copy_text(address.sun_path, sizeof address.sun_path, socket);
  empty_places();
  fit_to_limit();
  bool accepts = true;
  for (;;) {
    const struct { long seconds, nanoseconds; } soon{0, kAgainNanoseconds};
    const bool again = prepare(accepts);
    call(__NR_ppoll, polled, kFixed + 2 * room, again ? &soon : nullptr, nullptr, 0);
    if (polled[0].revents != 0) return 0;
    for (unsigned i = 0; i < room; ++i) turn(i);
    accepts = polled[1].revents == 0 || take_in();
  }
}

}  // namespace loom::bridge
