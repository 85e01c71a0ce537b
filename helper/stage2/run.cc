#include "helper/stage2/run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "helper/stage2/command.h"
#include "helper/stage2/favours.h"
#include "helper/stage2/filter.h"
#include "helper/stage2/orders.h"
#include "helper/stage2/reap.h"
#include "helper/stage2/sys.h"
#include "helper/stage2/talk.h"
#include "helper/stage2/watch.h"
#include "helper/stage2/way_out.h"
#include "helper/stage2/witness.h"

namespace loom::stage2 {
namespace {

constexpr std::size_t kStackSize = 256U << 10U;
constexpr int kNoControllingTerminal = O_NOCTTY;

void close_the_doors() {
  const std::uint64_t all = ~std::uint64_t{0};
  call(__NR_rt_sigprocmask, SIG_SETMASK, &all, nullptr, sizeof all);
  call(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
  call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  call(__NR_close_range, 5, ~0U, 0);
  // The helper's own streams end here; their numbers stay taken, so that no descriptor that comes lands on them.
  for (int stream = 0; stream < 3; ++stream) call(__NR_dup3, kControlFd, stream, O_CLOEXEC);
  call(__NR_setsid);
}

int failed(ExecFault fault, int error, const char* what) {
  ExecFailed message;
  message.type = static_cast<std::uint32_t>(FromStage2::kExecFailed);
  message.fault = fault;
  message.error = error;
  const std::size_t text = copy_text(message.path, sizeof message.path, what);
  say(&message, sizeof message - sizeof message.path + text + 1);
  return 0;
}

// Both layers go on here and are inherited; what the kernel refuses shows in the report. Whoever answers the calls of a
// watched command cannot wear its filter: that one goes on in the command's own process.
void put_on(const Orders& orders) {
  call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (orders.setup->watch != Watch::kNothing) return;
  load_filter(orders, Tag::kSeccomp, 0);
}

// The jail's own terminal: the master goes to the helper, the peer becomes the command's streams.
int open_terminal(const Tty& tty, Start& start) {
  const long master = call(__NR_openat, AT_FDCWD, "/dev/ptmx", O_RDWR | kNoControllingTerminal | O_CLOEXEC, 0);
  if (master < 0) return static_cast<int>(-master);
  int unlock = 0;
  const unsigned short size[4] = {tty.rows, tty.cols, 0, 0};
  call(__NR_ioctl, master, TIOCSPTLCK, &unlock);
  call(__NR_ioctl, master, TIOCSWINSZ, size);
  const long peer = call(__NR_ioctl, master, TIOCGPTPEER, O_RDWR | kNoControllingTerminal | O_CLOEXEC);
  if (peer < 0) return static_cast<int>(-peer);
  const Plain plain{static_cast<std::uint32_t>(FromStage2::kPty)};
  say(&plain, sizeof plain, static_cast<int>(master));
  call(__NR_close, master);
  start.terminal = static_cast<int>(peer);
  for (int& stream : start.streams) stream = start.terminal;
  return 0;
}

// Without a namespace that ends with us, our own death must not come first: the helper's end is seen on the socket, and
// everything below is killed then.
void become_subreaper() {
  call(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  call(__NR_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

int signals_of_children() {
  const std::uint64_t child = std::uint64_t{1} << (SIGCHLD - 1);
  return static_cast<int>(call(__NR_signalfd4, -1, &child, sizeof child, O_CLOEXEC | O_NONBLOCK));
}

// The child's stack, its streams and the maps are of no use to an init that only reaps. What it keeps moves to where
// the witness was and right after it.
void keep_only(int& signals, int& listener, int& lifeline) {
  constexpr int kLifeline = kWitnessFd + 1;
  signals = static_cast<int>(call(__NR_fcntl, signals, F_DUPFD_CLOEXEC, kLifeline + 1));
  call(__NR_close_range, 0, kControlFd - 1, 0);
  const auto put = [](int& kept, int number) {
    if (kept < 0) {
      call(__NR_close, number);
    } else if (kept != number) {
      call(__NR_dup3, kept, number, O_CLOEXEC);
      kept = number;
    }
  };
  // Never over the other one: a number that it could have is left first.
  if (lifeline == kWitnessFd) lifeline = static_cast<int>(call(__NR_fcntl, lifeline, F_DUPFD_CLOEXEC, kLifeline));
  put(listener, kWitnessFd);
  put(lifeline, kLifeline);
  if (signals > kLifeline + 1) call(__NR_close_range, kLifeline + 1, signals - 1, 0);
  call(__NR_close_range, signals + 1, ~0U, 0);
}

// Starts the command's process and returns when it has become the command, or never will; the listener of its calls
// when they are watched.
long start_command(const Orders& orders, Start& start, char* stack_top, int& listener) {
  if (orders.setup->watch == Watch::kNothing) return spawn(stack_top, &become_command, &start, Meanwhile::kStandStill);
  int ends[2] = {-1, -1};
  if (const long answer = call(__NR_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends); answer < 0)
    return answer;
  start.handoff = ends[1];
  const long child = spawn(stack_top, &become_command, &start, Meanwhile::kGoOn);
  call(__NR_close, ends[1]);
  if (child > 0) listener = answer_until_exec(orders, ends[0]);
  call(__NR_close, ends[0]);
  return child;
}

// The bridge stands before the command does, which asks the way through it.
Bridge open_way_out(const Orders& orders, const Heard& heard, Start& start) {
  Bridge bridge;
  if (orders.proxy == nullptr) return bridge;
  const int* last = heard.passed + heard.passed_count;
  const int error = start_bridge(orders, last[-2], last[-1], bridge);
  if (error != 0) note(start.report, kSawEgress, error);
  start.asks_way_out = error == 0;  // it counts when it was asked
  call(__NR_close, last[-2]);
  call(__NR_close, last[-1]);
  return bridge;
}

int start_and_reap(const Orders& orders, Start& start, const Bridge& bridge) {
  int signals = signals_of_children();
  const long stack = call(__NR_mmap, nullptr, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack < 0 && stack > -4096) return failed(ExecFault::kSetup, static_cast<int>(-stack), "stack");
  int listener = -1;
  const long child = start_command(orders, start, reinterpret_cast<char*>(stack) + kStackSize, listener);
  if (child < 0) return failed(ExecFault::kSetup, static_cast<int>(-child), "process");
  if (!start.execed) {
    call(__NR_wait4, child, nullptr, 0, nullptr);
    return 0;
  }
  int lifeline = bridge.lifeline;
  keep_only(signals, listener, lifeline);
  reap_all({static_cast<int>(child), orders.setup->container != Container::kNone, signals, listener, &orders,
            bridge.pid, lifeline});
  return 0;
}

}  // namespace

int run() {
  give_up_favours();
  close_the_doors();
  const Heard heard = hear();
  if (heard.gone || heard.what != ToStage2::kOrders) return 1;
  // What is passed and does not fit the limit of open files is dropped by the kernel.
  if (heard.passed_count < 2) return failed(ExecFault::kSetup, EMFILE, "orders");
  Orders orders;
  if (const int error = read_orders(heard.passed[0], heard.passed[1], orders); error != 0) {
    return failed(ExecFault::kSetup, error, "orders");
  }
  const int expected = 2 + (orders.tty != nullptr ? 0 : 3) + (orders.proxy != nullptr ? 2 : 0);
  if (heard.passed_count != expected) return failed(ExecFault::kSetup, EMFILE, "streams");
  Start start{};
  start.orders = &orders;
  start.policy = heard.passed[0];
  start.terminal = -1;
  start.handoff = -1;
  start.execed = true;
  if (orders.tty != nullptr) {
    if (const int error = open_terminal(*orders.tty, start); error != 0)
      return failed(ExecFault::kSetup, error, "terminal");
  } else {
    for (int i = 0; i < 3; ++i) start.streams[i] = heard.passed[2 + i];
  }
  if (orders.setup->container == Container::kNone) become_subreaper();
  put_on(orders);
  look_around(orders, start.report);
  return start_and_reap(orders, start, open_way_out(orders, heard, start));
}

}  // namespace loom::stage2
