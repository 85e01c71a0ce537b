#include "helper/stage2/reap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "helper/stage2/descendants.h"
#include "helper/stage2/sys.h"
#include "helper/stage2/talk.h"
#include "helper/stage2/watch.h"

namespace loom::stage2 {
namespace {

constexpr std::int64_t kMillisecond = 1000000;
constexpr std::int64_t kGrace = 100 * kMillisecond;    // what the command left has this long
constexpr std::int64_t kLadder = 2000 * kMillisecond;  // a cancelled command and all its kin have this long
// What was killed is waited for this long, for its processor time to be counted: before the helper loses its patience
// with a cancelled jail, and longer where nobody waits so.
constexpr std::int64_t kCounting = 500 * kMillisecond;
constexpr std::int64_t kCountingOrdered = 50 * kMillisecond;
constexpr int kMonotonic = 1;

struct Clock {
  std::int64_t sec;
  std::int64_t nsec;
};

std::int64_t now() {
  Clock clock{};
  call(__NR_clock_gettime, kMonotonic, &clock);
  return clock.sec * 1000 * kMillisecond + clock.nsec;
}

struct State {
  const Reaper* reaper;
  bool ended = false;  // the command's end was seen
  bool said = false;   // and told
  int status = 0;
  bool asked = false;    // TERM and CONT were sent
  bool ordered = false;  // by the helper
  bool childless = false;
  std::uint64_t bridge_us = 0;  // processor time that was not the command's
  std::int64_t deadline = 0;    // 0: none
};

void ask_all(State& state, std::int64_t patience) {
  const bool container = state.reaper->container;
  signal_all(container, SIGTERM);
  signal_all(container, SIGCONT);
  state.asked = true;
  state.deadline = now() + patience;
}

std::uint64_t used_us(const rusage& usage) {
  const auto us = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000U + static_cast<std::uint64_t>(t.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

void collect(State& state) {
  for (;;) {
    int status = 0;
    rusage usage{};
    const long pid = call(__NR_wait4, -1, &status, WNOHANG, &usage);
    if (pid > 0 && pid == state.reaper->bridge) state.bridge_us = used_us(usage);
    if (pid == -ECHILD) state.childless = true;
    if (pid <= 0) return;
    if (pid != state.reaper->command || state.ended) continue;
    state.ended = true;
    state.status = status;
  }
}

// The command's end by itself, when it left something that is waited for.
void say_ended(State& state) {
  if (!state.ended || state.said) return;
  state.said = true;
  const Ended ended{static_cast<std::uint32_t>(FromStage2::kEnded), state.status};
  say(&ended, sizeof ended);
}

// False when the helper is gone.
bool obey(State& state) {
  const Heard heard = hear();
  if (heard.gone) return false;
  if (state.asked) return true;  // who is being ended is neither stopped nor asked again
  switch (heard.what) {
    case ToStage2::kTerminate:
      state.ordered = true;
      ask_all(state, kLadder);
      break;
    case ToStage2::kStop:
      signal_all(state.reaper->container, SIGSTOP);
      break;
    case ToStage2::kContinue:
      signal_all(state.reaper->container, SIGCONT);
      break;
    case ToStage2::kOrders:
    case ToStage2::kGo:
      break;
  }
  return true;
}

void say_left(const State& state, unsigned killed) {
  say_counts();
  rusage usage{};
  call(__NR_getrusage, RUSAGE_CHILDREN, &usage);
  const std::uint64_t all = used_us(usage);
  const Left left{static_cast<std::uint32_t>(FromStage2::kLeft), killed,
                  all > state.bridge_us ? all - state.bridge_us : 0, state.ended ? 1U : 0U, state.status};
  say(&left, sizeof left);
}

void drain(int signals) {
  char block[128 * 4];
  while (call(__NR_read, signals, block, sizeof block) > 0) {
  }
}

// Nobody is left to be served by it, or nobody is to be any more.
void end_bridge(const State& state) {
  if (state.reaper->lifeline >= 0) call(__NR_close, state.reaper->lifeline);
}

void wait_for_news(const State& state, pollfd* news, unsigned count) {
  Clock patience{};
  Clock* limit = nullptr;
  if (state.deadline != 0) {
    const std::int64_t left = state.deadline > now() ? state.deadline - now() : 0;
    patience = {left / (1000 * kMillisecond), left % (1000 * kMillisecond)};
    limit = &patience;
  }
  call(__NR_ppoll, news, count, limit, nullptr, 0);
}

// A process that was killed and not reaped has used no time, as far as anybody can tell.
void reap_killed(State& state) {
  pollfd children = {state.reaper->signals, POLLIN, 0};
  state.deadline = now() + (state.ordered ? kCountingOrdered : kCounting);
  for (collect(state); !state.childless && now() < state.deadline; collect(state)) {
    wait_for_news(state, &children, 1);
    drain(state.reaper->signals);
  }
}

// The time is over: what is there is counted, killed and reaped, so that the command's own status is still told.
void finish_by_force(State& state) {
  unsigned left = count_all(state.reaper->container, state.reaper->bridge);
  if (!state.ended && left > 0) --left;  // the command itself is not a descendant
  kill_all(state.reaper->container);
  int status = 0;
  while (!state.ended && !state.childless) {
    const long pid = call(__NR_wait4, state.reaper->command, &status, 0, nullptr);
    if (pid != state.reaper->command) break;
    state.ended = true;
    state.status = status;
  }
  reap_killed(state);
  say_left(state, left);
}

}  // namespace

void kill_all(bool container) {
  signal_all(container, SIGKILL);
}

void reap_all(const Reaper& reaper) {
  State state{&reaper};
  pollfd news[3] = {{kControlFd, POLLIN, 0}, {reaper.signals, POLLIN, 0}, {reaper.listener, POLLIN, 0}};
  for (;;) {
    const bool had_ended = state.ended;
    collect(state);
    if (state.ended && !had_ended) end_bridge(state);
    if (state.ended && state.childless) return say_left(state, 0);
    say_ended(state);
    if (state.ended && !had_ended && !state.asked) ask_all(state, kGrace);
    if (state.deadline != 0 && now() >= state.deadline) return finish_by_force(state);
    wait_for_news(state, news, 3);
    if (news[1].revents != 0) drain(reaper.signals);
    if (news[0].revents != 0 && !obey(state)) return kill_all(reaper.container);
    if ((news[2].revents & POLLIN) != 0) answer_one(*reaper.orders, reaper.listener, Remember::kYes);
    if ((news[2].revents & (POLLHUP | POLLERR)) != 0) news[2].fd = -1;  // nobody is left to be watched
  }
}

}  // namespace loom::stage2
