#include "shell.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "policy/decode.h"

namespace loom::broker {
namespace {

constexpr std::size_t kInboundBytes = 64U << 20U;
constexpr std::size_t kEntropyBytes = 32;
constexpr std::int64_t kLingerMs = 5000;
constexpr std::int64_t kTellMs = 1000;
// Host ids of a root helper's jails (spec/jail.md "Started by root"): block N begins here.
constexpr std::uint64_t kFirstJailId = 1'879'048'192;
constexpr std::uint64_t kJailIds = 65'536;

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
      inbound_(kInboundBytes) {}

Shell::~Shell() = default;

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
                        [this](const Reply& order) { reply(order); },
                        [this](const CloseClient& order) { close_client(order.conn); },
                        [this](const LogLine& line) { events_.log(line); },
                        [this](const Closed& closed) { events_.closed(closed); }},
             effect);
}

template <class T>
void Shell::bury(T object) {
  loop_.post([buried = std::make_shared<T>(std::move(object))] {});
}

// ---- helpers

void Shell::spawn(const SpawnHelper& order) {
  // One of its own for each: a shared file would share its offset, too.
  auto policy = sealed_memfd(policy_);
  if (!policy) return handle(HelperSpawnFailed{order.helper, std::move(policy).error()});
  SpawnRequest request{options_.helper, {"serve"}, policy->get()};
  request.args.insert(request.args.end(), options_.helper_args.begin(), options_.helper_args.end());
  if (options_.blocks_of_ids) {
    request.args.insert(request.args.end(), {"--jail-uid", std::to_string(kFirstJailId + kJailIds * order.block)});
  }
  const HelperId id = order.helper;
  HelperEvents events{[this, id](Frame frame) {
                        handle(HelperFrame{id, std::move(frame)});
                      },
                      [this, id](service::ChannelEnd how, const Error& why) { on_helper_channel(id, how, why); },
                      [this, id](ChildEnd end) { on_helper_exit(id, end); }};
  auto started = HelperProcess::start(loop_, *reaper_, request, std::move(events));
  if (!started) return handle(HelperSpawnFailed{id, std::move(started).error()});
  const pid_t pid = (*started)->pid();
  helpers_.emplace(id, std::move(*started));
  handle(HelperSpawned{id, pid});
}

void Shell::send_to_helper(SendToHelper order) {
  const auto found = helpers_.find(order.helper);
  if (found == helpers_.end()) return;
  auto* start = std::get_if<ExecStart>(&order.message);
  found->second->send(encode_exec(order.id, order.message), start != nullptr);
  if (start != nullptr) wipe(start->token);
}

void Shell::on_helper_channel(HelperId helper, service::ChannelEnd how, const Error& why) {
  switch (how) {
    case service::ChannelEnd::kEof:
      return handle(HelperEof{helper});
    case service::ChannelEnd::kMalformed:
    case service::ChannelEnd::kBroken:
      return handle(HelperFault{helper, why});
  }
}

void Shell::on_helper_exit(HelperId helper, ChildEnd end) {
  HelperExited event{helper, end.signal != 0, end.signal != 0 ? end.signal : end.code, new_orphans()};
  if (const auto found = helpers_.find(helper); found != helpers_.end()) {
    bury(std::move(found->second));
    helpers_.erase(found);
  }
  handle(std::move(event));
}

std::vector<Pid> Shell::new_orphans() {
  std::vector<Pid> found;
  for (const pid_t pid : reaper_->orphans()) {
    told_orphans_.insert(pid);
    found.push_back(pid);
  }
  return found;
}

// What an orphan leaves behind comes to us when it is reaped. Its own end is told only when theirs was seen, too, so
// that "reaped" keeps meaning that nothing of the helper is left.
void Shell::on_orphan(pid_t pid) {
  if (found_orphans_.erase(pid) == 0 && told_orphans_.erase(pid) == 0) return;
  withheld_.push_back(pid);
  for (const pid_t child : reaper_->orphans()) {
    if (told_orphans_.count(child) != 0) continue;
    found_orphans_.insert(child);
    ::kill(child, SIGKILL);
  }
  if (!found_orphans_.empty()) return;
  for (const pid_t reaped : std::exchange(withheld_, {})) handle(OrphanReaped{reaped});
}

// ---- clients

void Shell::add_client(UniqueFd socket, bool allowed) {
  const ConnId conn = next_conn_++;
  Client client;
  client.channel = std::make_unique<service::FrameChannel>(
      loop_, std::move(socket),
      service::ChannelEvents{
          [this, conn](Frame frame) {
            const bool clears = frame.kind == "clear_call";
            handle(ClientFrame{conn, std::move(frame), clears ? random_bytes(kEntropyBytes) : std::string()});
          },
          [this, conn](service::ChannelEnd how, const Error& why) { on_client_end(conn, how, why); }},
      &inbound_);
  clients_.emplace(conn, std::move(client));
  handle(ClientConnected{conn, allowed, false});
}

void Shell::on_client_end(ConnId conn, service::ChannelEnd how, const Error& why) {
  const auto found = clients_.find(conn);
  if (found == clients_.end()) return;
  switch (how) {
    case service::ChannelEnd::kMalformed:
      if (!found->second.closing) handle(ClientFault{conn, why});
      return;
    case service::ChannelEnd::kEof:
    case service::ChannelEnd::kBroken:
      // A closed client may still be reading what it was told last.
      if (found->second.closing && how == service::ChannelEnd::kEof) return;
      if (!found->second.closing) handle(ClientVanished{conn});
      return forget_client(conn);
  }
}

void Shell::forget_client(ConnId conn) {
  const auto found = clients_.find(conn);
  if (found == clients_.end()) return;
  bury(std::move(found->second));
  clients_.erase(found);
}

void Shell::reply(const Reply& order) {
  if (order.conn == embedded_ && embedded_reply_) return embedded_reply_(order.id, order.message);
  if (const auto found = clients_.find(order.conn); found != clients_.end()) {
    found->second.channel->send(encode_control(order.id, order.message));
  }
}

void Shell::close_client(ConnId conn) {
  if (conn == embedded_) return embed(nullptr);
  const auto found = clients_.find(conn);
  if (found == clients_.end() || std::exchange(found->second.closing, true)) return;
  found->second.linger = loop_.timer(loop_.now() + milliseconds(kLingerMs), [this, conn] { forget_client(conn); });
  found->second.channel->when_written([this, conn] { forget_client(conn); });
}

void Shell::when_told(std::function<void()> callback) {
  look_at_told(loop_.now() + milliseconds(kTellMs), std::move(callback));
}

void Shell::look_at_told(TimePoint until, std::function<void()> callback) {
  const bool all_written = std::all_of(clients_.begin(), clients_.end(),
                                       [](const auto& client) { return client.second.channel->unwritten() == 0; });
  if (all_written || loop_.now() >= until) return loop_.post(std::move(callback));
  telling_ = loop_.timer(loop_.now() + milliseconds(5),
                         [this, until, then = std::move(callback)] { look_at_told(until, then); });
}

void Shell::embed(EmbeddedReply reply) {
  embedded_reply_ = std::move(reply);
  if (!embedded_reply_) return;
  embedded_ = next_conn_++;
  handle(ClientConnected{embedded_, true, true});
}

void Shell::request(std::uint64_t id, Request request) {
  const bool clears = std::holds_alternative<CallSpec>(request);
  handle(ClientRequest{embedded_, id, std::move(request), clears ? random_bytes(kEntropyBytes) : std::string()});
}

}  // namespace loom::broker
