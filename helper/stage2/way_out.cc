#include "helper/stage2/way_out.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "helper/bridge/bridge.h"
#include "helper/stage2/filter.h"
#include "helper/stage2/protocol.h"
#include "helper/stage2/sys.h"

namespace loom::stage2 {
namespace {

constexpr std::size_t kStackSize = 64U << 10U;
constexpr int kEmptyPath = 0x1000;     // AT_EMPTY_PATH
constexpr std::int64_t kPatience = 5;  // seconds for the whole answer
constexpr int kMonotonic = 1;
constexpr char kRequest[] = "GET http://loom.invalid/ready HTTP/1.1\r\nHost: loom.invalid\r\nConnection: close\r\n\r\n";
constexpr char kAnswer[] = "HTTP/1.? 204";
constexpr std::size_t kAnswerSize = sizeof kAnswer - 1;

struct Clock {
  std::int64_t sec;
  std::int64_t nsec;
};

struct ToStart {
  const Orders* orders;
  int program;
  int listener;
  int lifeline;
  int error;
};

// Its descriptors are above all the numbers that they get.
[[noreturn]] void become_bridge(void* argument) {
  ToStart& start = *static_cast<ToStart*>(argument);
  call(__NR_setsid);
  // Init wears the filter, unless it watches the command's calls; the bridge always does.
  if (start.orders->setup->watch != Watch::kNothing) load_filter(*start.orders, Tag::kSeccomp, 0);
  call(__NR_dup3, start.listener, bridge::kListenFd, 0);
  call(__NR_dup3, start.lifeline, bridge::kLifelineFd, 0);
  call(__NR_close_range, bridge::kLifelineFd + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  const char* argv[] = {"loom-bridge", start.orders->proxy, nullptr};
  const char* env[] = {nullptr};
  start.error = static_cast<int>(-call(__NR_execveat, start.program, "", argv, env, kEmptyPath));
  leave(1);
}

// A copy out of the way of the numbers that the bridge's two get.
int out_of_the_way(int fd) {
  constexpr int kPastThem = bridge::kLifelineFd + 1;
  return static_cast<int>(call(__NR_fcntl, fd, F_DUPFD_CLOEXEC, kPastThem));
}

bool wait_for(int fd, short what, const Clock& until) {
  for (;;) {
    Clock now{};
    call(__NR_clock_gettime, kMonotonic, &now);
    Clock left{until.sec - now.sec, until.nsec - now.nsec};
    if (left.nsec < 0) {
      left.nsec += 1000000000;
      --left.sec;
    }
    if (left.sec < 0) return false;
    pollfd asked{fd, what, 0};
    const long answer = call(__NR_ppoll, &asked, 1, &left, nullptr, 0);
    if (answer > 0) return true;
    if (answer == 0) return false;
  }
}

int send_request(int fd, const Clock& until) {
  const char* rest = kRequest;
  std::size_t left = sizeof kRequest - 1;
  while (left > 0) {
    if (!wait_for(fd, POLLOUT, until)) return ETIMEDOUT;
    const long put = call(__NR_sendto, fd, rest, left, MSG_NOSIGNAL, nullptr, nullptr);
    if (put == -EAGAIN || put == -EINTR) continue;
    if (put < 0) return static_cast<int>(-put);
    rest += put;
    left -= static_cast<std::size_t>(put);
  }
  return 0;
}

int hear_answer(int fd, const Clock& until) {
  char answer[kAnswerSize] = {};
  std::size_t got = 0;
  while (got < sizeof answer) {
    if (!wait_for(fd, POLLIN, until)) return ETIMEDOUT;
    const long more = call(__NR_recvfrom, fd, answer + got, sizeof answer - got, 0, nullptr, nullptr);
    if (more == -EAGAIN || more == -EINTR) continue;
    if (more < 0) return static_cast<int>(-more);
    if (more == 0) return got == 0 ? ECONNRESET : EPROTO;
    got += static_cast<std::size_t>(more);
  }
  for (std::size_t i = 0; i < sizeof answer; ++i) {
    if (kAnswer[i] != '?' && answer[i] != kAnswer[i]) return EPROTO;
  }
  return 0;
}

int ask(int fd) {
  Clock until{};
  call(__NR_clock_gettime, kMonotonic, &until);
  until.sec += kPatience;
  sockaddr_in bridge{};
  bridge.sin_family = AF_INET;
  bridge.sin_port = __builtin_bswap16(kBridgePort);
  bridge.sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK);
  const long joined = call(__NR_connect, fd, &bridge, sizeof bridge);
  if (joined < 0 && joined != -EINPROGRESS) return static_cast<int>(-joined);
  if (const int error = send_request(fd, until); error != 0) return error;
  return hear_answer(fd, until);
}

}  // namespace

int start_bridge(const Orders& orders, int program, int listener, Bridge& bridge) {
  int ends[2] = {-1, -1};
  if (const long failed = call(__NR_pipe2, ends, O_CLOEXEC); failed < 0) return static_cast<int>(-failed);
  ToStart start{&orders, out_of_the_way(program), out_of_the_way(listener), out_of_the_way(ends[0]), 0};
  const long stack = call(__NR_mmap, nullptr, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start.program < 0 || start.listener < 0 || start.lifeline < 0) return EMFILE;
  if (stack < 0 && stack > -4096) return static_cast<int>(-stack);
  const long child = spawn(reinterpret_cast<char*>(stack) + kStackSize, &become_bridge, &start, Meanwhile::kStandStill);
  call(__NR_munmap, stack, kStackSize);
  const int done_with[] = {start.program, start.listener, start.lifeline, ends[0]};
  for (const int fd : done_with) call(__NR_close, fd);
  if (child < 0) return static_cast<int>(-child);
  bridge.pid = static_cast<int>(child);
  bridge.lifeline = ends[1];
  if (start.error != 0) return start.error;
  // What keeps the command from it knows it by this number.
  return child == kBridgePid ? 0 : EBUSY;
}

int ask_way_out() {
  const long fd = call(__NR_socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return static_cast<int>(-fd);
  const int error = ask(static_cast<int>(fd));
  call(__NR_close, fd);
  return error;
}

}  // namespace loom::stage2
