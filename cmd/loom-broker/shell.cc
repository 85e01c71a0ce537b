#include "shell.h"

#include <signal.h>

#include <utility>

#include "policy/decode.h"

namespace loom::broker {
namespace {

constexpr std::size_t kInboundBytes = 64U << 20U;

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

Shell::Shell(Loop& loop, ShellOptions options, ShellEvents events)
    : loop_(loop),
      options_(std::move(options)),
      events_(std::move(events)),
      core_(options_.config),
      policy_(render_policy_msgpack(options_.config.base)),
      inbound_(kInboundBytes),
      jail_dir_(options_.config.jail_dir) {}

Shell::~Shell() {
  end_proxies();
}

Result<std::unique_ptr<Shell>> Shell::open(Loop& loop, ShellOptions options, ShellEvents events) {
  std::unique_ptr<Shell> shell(new Shell(loop, std::move(options), std::move(events)));
  LOOM_TRY(shell->reaper_, Subreaper::open(loop, [self = shell.get()](pid_t pid) { self->on_orphan(pid); }));
  return shell;
}

void Shell::boot() {
  handle(Boot{});
}

void Shell::close(std::optional<std::uint64_t> drain_ms) {
  handle(CloseRequested{drain_ms});
}

// Effects may bring about events at once (a helper that cannot be started); they wait until the present effects are
// done.
void Shell::handle(Event event) {
  pending_.push_back(std::move(event));
  if (std::exchange(handling_, true)) return;
  while (!pending_.empty()) {
    Event next = std::move(pending_.front());
    pending_.pop_front();
    for (Effect& effect : core_.step(std::move(next), loop_.now())) carry_out(std::move(effect));
  }
  handling_ = false;
  arm_tick();
}

void Shell::arm_tick() {
  const auto due = core_.next_deadline();
  if (due == tick_at_) return;
  tick_at_ = due;
  tick_.reset();
  if (!due) return;
  tick_ = loop_.timer(*due, [this] {
    tick_at_.reset();
    handle(Tick{});
  });
}

void Shell::carry_out(Effect effect) {
  std::visit(Overloaded{[this](const SpawnHelper& order) { spawn(order); },
                        [this](SendToHelper& order) { send_to_helper(std::move(order)); },
                        [this](const KillHelper& order) {
                          if (const auto found = helpers_.find(order.helper); found != helpers_.end())
                            found->second->kill();
                        },
                        [this](const KillOrphan& order) {
                          const auto pid = static_cast<pid_t>(order.pid);
                          // Only what is known to be our unreaped child: its number cannot be anybody else's.
                          if (told_orphans_.count(pid) != 0) ::kill(pid, SIGKILL);
                        },
                        [this](const StartProxy& order) { start_proxy(order); },
                        [this](const StopProxy& order) { stop_proxy(order.proxy); },
                        [this](const GrantToken& token) {
                          if (const auto found = proxies_.find(token.proxy); found != proxies_.end())
                            found->second->grant(token);
                        },
                        [this](const RevokeToken& token) {
                          if (const auto found = proxies_.find(token.proxy); found != proxies_.end())
                            found->second->revoke(token.sha256);
                        },
                        [this](const Reply& order) { reply(order); },
                        [this](const CloseClient& order) { close_client(order.conn); },
                        [this](const LogLine& line) { events_.log(line); },
                        [this](const Closed& closed) {
                          end_proxies();
                          events_.closed(closed);
                        }},
             effect);
}

}  // namespace loom::broker
