// A BrokerCore with everything around it played: helpers that answer as they are told to, clients that keep what they
// hear. No process, no descriptor, no clock but the one that the test moves.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/version.h"
#include "broker/broker_core.h"
#include "plan/report.h"

namespace loom::broker::test {

// What a call's caller heard, in the order in which it came.
struct Heard {
  int started = 0;
  int refused = 0;
  int settled = 0;
  std::uint64_t seq = 0;
  std::string output;
  std::optional<CallRefused> refusal;
  std::optional<CallSettled> settlement;
  bool after_the_end = false;  // anything after refused or settled, or output before started
};

struct PlayedExecution {
  std::uint64_t sent = 0;  // of stdout
  bool cancelled = false;
  bool stdin_eof = false;
  std::string stdin_data;
  std::uint64_t stdout_upto = kInitialCredit;
};

struct PlayedHelper {
  bool said_hello = false;
  bool gone = false;
  bool killed = false;
  bool shutdown = false;
  std::uint32_t block = 0;
  std::map<std::uint64_t, PlayedExecution> running;
};

struct PlayedProxy {
  std::vector<std::string> allow;
  std::string socket;
  int starts = 0;
  bool running = false;
  bool stopped = false;
};

inline Policy small_policy() {
  Policy policy;
  policy.writable_roots = {"/ws"};
  policy.readable_roots = {"/ws"};
  policy.env_allow = {"LANG", "PATH"};
  return policy;
}

inline BrokerConfig small_config() {
  BrokerConfig config;
  config.base = small_policy();
  config.pool_size = 4;
  config.per_helper = 4;
  config.incarnation = 7;
  config.peer = "loom-broker/test";
  return config;
}

class World {
 public:
  explicit World(BrokerConfig config = small_config()) : core(config), base(config.base) {
    for (std::string& layer : required_layers(base, {})) layers.push_back(std::move(layer));
    post(Boot{});
  }

  BrokerCore core;
  Policy base;
  Report layers;  // what the helpers say that they hold, and report at the end
  TimePoint now{seconds(1000)};

  // How helpers behave by themselves.
  bool answer_spawn = true;   // hello at once
  bool obey_kill = true;      // the status follows a kill
  bool obey_shutdown = true;  // exit 0 follows a shutdown
  bool obey_cancel = true;    // an exit follows a cancel
  std::optional<Error> spawn_error;

  bool answer_proxy = true;  // a proxy is ready at once

  std::map<HelperId, PlayedHelper> helpers;
  std::map<ProxyId, PlayedProxy> proxies;
  std::map<std::string, std::string> granted;  // tokens at the endpoint, by digest
  std::map<std::pair<ConnId, std::uint64_t>, Heard> calls;
  std::vector<Reply> replies;  // the others: ok, error, hello, heartbeat, call_credit
  std::vector<LogLine> log;
  std::vector<Closed> verdicts;
  std::set<ConnId> closed;  // by the core
  std::vector<Pid> killed_orphans;
  std::vector<std::uint64_t> dispatched;  // start ids with their helper, in order: helper * 1000000 + id
  std::vector<ExecStart> started;
  std::set<ConnId> vanished;

  void post(Event event) {
    inbox.push_back(std::move(event));
    if (turning) return;
    turning = true;
    while (!inbox.empty()) {
      Event next = std::move(inbox.front());
      inbox.pop_front();
      std::vector<Effect> effects = core.step(std::move(next), now);
      for (Effect& effect : effects) take(effect);
    }
    turning = false;
  }

  void pass(Duration time) {
    const TimePoint until = now + time;
    for (int guard = 0; guard < 10'000; ++guard) {
      const auto due = core.next_deadline();
      if (!due || *due > until) break;
      now = std::max(now, *due);
      post(Tick{});
    }
    now = until;
    post(Tick{});
  }

  // ---- clients
  ConnId connect(bool embedded = true) {
    const ConnId conn = next_conn++;
    post(ClientConnected{conn, true, embedded});
    return conn;
  }
  std::uint64_t ask(ConnId conn, Request request) {
    const std::uint64_t id = ++next_id;
    post(ClientRequest{conn, id, std::move(request), {}});
    return id;
  }
  static CallSpec spec(std::string op = "op", std::string step = "1") {
    CallSpec out;
    out.op_id = std::move(op);
    out.step_id = std::move(step);
    out.argv = {"true"};
    return out;
  }
  std::uint64_t call(ConnId conn, CallSpec wanted = spec()) {
    const std::uint64_t id = ++next_id;
    calls[{conn, id}];
    post(ClientRequest{conn, id, std::move(wanted), fresh_entropy()});
    return id;
  }
  void vanish(ConnId conn) {
    vanished.insert(conn);
    post(ClientVanished{conn});
  }
  Heard& heard(ConnId conn, std::uint64_t id) { return calls[{conn, id}]; }
  [[nodiscard]] const ControlReply* answer(std::uint64_t id) const {
    for (const Reply& reply : replies) {
      if (reply.id == id) return &reply.message;
    }
    return nullptr;
  }
  [[nodiscard]] Value fields(std::uint64_t id) const {
    const ControlReply* found = answer(id);
    const Ok* ok = found == nullptr ? nullptr : std::get_if<Ok>(found);
    return ok == nullptr ? Value{} : ok->fields;
  }
  std::string fresh_entropy() {
    std::string bytes(32, 'e');
    const std::string number = std::to_string(++next_entropy);
    bytes.replace(0, number.size(), number);
    return bytes;
  }

  // ---- helpers
  void hello(HelperId id, std::uint64_t capacity = 4, std::uint64_t proto = kExecProto) {
    helpers[id].said_hello = true;
    frame(id, 1, "hello", encode(ExecHello{proto, "loom-exec/test", layers, capacity}));
  }
  void frame(HelperId id, std::uint64_t frame_id, std::string kind, Value body) {
    post(HelperFrame{id, Frame{frame_id, std::move(kind), std::move(body)}});
  }
  void output(HelperId id, std::uint64_t start, std::string data) {
    PlayedExecution& execution = helpers[id].running[start];
    execution.sent += data.size();
    post(HelperOutput{id, start, ExecOut{Stream::kStdout, std::move(data), execution.sent, false}});
  }
  void exit(HelperId id, std::uint64_t start, std::int64_t code = 0, bool cancelled = false) {
    ExecExit message;
    message.code = code;
    message.cancelled = cancelled;
    message.enforcement = layers;
    message.stdout_bytes = helpers[id].running[start].sent;
    helpers[id].running.erase(start);
    frame(id, start, "exec_exit", encode(message));
  }
  void die(HelperId id, bool signalled, int number, std::vector<Pid> orphans = {}) {
    PlayedHelper& helper = helpers[id];
    if (helper.gone) return;
    helper.gone = true;
    helper.running.clear();
    post(HelperExited{id, signalled, number, std::move(orphans)});
  }
  void refuse(HelperId id, std::uint64_t start, std::string code, std::string msg) {
    helpers[id].running.erase(start);
    frame(id, start, "error", encode(ErrorMessage{std::move(code), std::move(msg)}));
  }
  [[nodiscard]] std::vector<std::pair<HelperId, std::uint64_t>> running() const {
    std::vector<std::pair<HelperId, std::uint64_t>> out;
    for (const auto& [id, helper] : helpers) {
      if (helper.gone) continue;
      for (const auto& [start, execution] : helper.running) out.emplace_back(id, start);
    }
    return out;
  }

  Value snapshot() {
    if (observer == 0) observer = connect();
    return fields(ask(observer, SnapshotRequest{}));
  }

 private:
  void take(Effect& effect) {
    std::visit([this](auto& each) { carry_out(each); }, effect);
  }
  void carry_out(SpawnHelper& order) {
    if (spawn_error) return inbox.push_back(HelperSpawnFailed{order.helper, *spawn_error});
    helpers[order.helper].block = order.block;
    inbox.push_back(HelperSpawned{order.helper, 1000 + static_cast<Pid>(order.helper)});
    if (!answer_spawn) return;
    helpers[order.helper].said_hello = true;
    inbox.push_back(
        HelperFrame{order.helper, Frame{1, "hello", encode(ExecHello{kExecProto, "loom-exec/test", layers, 4})}});
  }
  void carry_out(SendToHelper& order) {
    PlayedHelper& helper = helpers[order.helper];
    if (helper.gone) return;
    if (auto* start = std::get_if<ExecStart>(&order.message)) {
      helper.running.emplace(order.id, PlayedExecution{});
      dispatched.push_back(order.helper * 1'000'000 + order.id);
      started.push_back(std::move(*start));
    } else if (const auto* cancel = std::get_if<Cancel>(&order.message)) {
      const auto at = helper.running.find(cancel->target);
      if (at == helper.running.end()) return;
      if (at->second.cancelled) cancelled_twice = true;
      at->second.cancelled = true;
      if (obey_cancel) end_later(order.helper, cancel->target);
    } else if (const auto* in = std::get_if<ExecStdin>(&order.message)) {
      const auto at = helper.running.find(in->target);
      if (at == helper.running.end()) return;
      at->second.stdin_data += in->data;
      at->second.stdin_eof = at->second.stdin_eof || in->eof;
    } else if (const auto* credit = std::get_if<ExecCredit>(&order.message)) {
      const auto at = helper.running.find(credit->target);
      if (at != helper.running.end() && credit->stream == Stream::kStdout) at->second.stdout_upto = credit->upto;
    } else if (std::holds_alternative<Shutdown>(order.message)) {
      helper.shutdown = true;
      if (!obey_shutdown) return;
      std::vector<std::uint64_t> left;
      for (const auto& [start, execution] : helper.running) left.push_back(start);
      for (const std::uint64_t start : left) end_later(order.helper, start);
      helper.gone = true;
      inbox.push_back(HelperExited{order.helper, false, 0, {}});
    }
  }
  void end_later(HelperId id, std::uint64_t start) {
    ExecExit message;
    message.code = 143;
    message.signal = 15;
    message.cancelled = true;
    message.enforcement = layers;
    message.stdout_bytes = helpers[id].running[start].sent;
    helpers[id].running.erase(start);
    inbox.push_back(HelperFrame{id, Frame{start, "exec_exit", encode(message)}});
  }
  void carry_out(KillHelper& order) {
    PlayedHelper& helper = helpers[order.helper];
    helper.killed = true;
    if (!obey_kill || helper.gone) return;
    helper.gone = true;
    helper.running.clear();
    inbox.push_back(HelperExited{order.helper, true, 9, {}});
  }
  void carry_out(StartProxy& order) {
    PlayedProxy& proxy = proxies[order.proxy];
    proxy.allow = order.allow;
    proxy.socket = order.socket;
    proxy.running = true;
    ++proxy.starts;
    inbox.push_back(ProxySpawned{order.proxy, 2000 + static_cast<Pid>(order.proxy)});
    if (answer_proxy) inbox.push_back(ProxyReady{order.proxy});
  }
  void carry_out(StopProxy& order) {
    proxies[order.proxy].running = false;
    proxies[order.proxy].stopped = true;
  }
  void carry_out(GrantToken& order) { granted[order.sha256] = order.caller; }
  void carry_out(RevokeToken& order) { granted.erase(order.sha256); }
  void carry_out(KillOrphan& order) { killed_orphans.push_back(order.pid); }
  void carry_out(Reply& reply) {
    // The broker's own frames have ids of their own; a credit may bear the number of a call.
    const auto at = calls.find({reply.conn, reply.id});
    const bool other =
        std::holds_alternative<CallCredit>(reply.message) || std::holds_alternative<Hello>(reply.message);
    if (at == calls.end() || other) return replies.push_back(std::move(reply));
    Heard& heard = at->second;
    heard.after_the_end = heard.after_the_end || heard.refused + heard.settled > 0;
    if (auto* message = std::get_if<CallStarted>(&reply.message)) {
      ++heard.started;
      heard.seq = message->execution.seq;
    } else if (auto* refused = std::get_if<CallRefused>(&reply.message)) {
      ++heard.refused;
      heard.refusal = std::move(*refused);
    } else if (auto* settled = std::get_if<CallSettled>(&reply.message)) {
      ++heard.settled;
      heard.settlement = std::move(*settled);
    } else if (auto* output_message = std::get_if<CallOutput>(&reply.message)) {
      heard.after_the_end = heard.after_the_end || heard.started == 0;
      heard.output += output_message->data;
    }
  }
  void carry_out(CloseClient& order) { closed.insert(order.conn); }
  void carry_out(LogLine& line) { log.push_back(std::move(line)); }
  void carry_out(Closed& verdict) { verdicts.push_back(verdict); }

 public:
  bool cancelled_twice = false;

 private:
  std::deque<Event> inbox;
  bool turning = false;
  ConnId next_conn = 1;
  ConnId observer = 0;
  std::uint64_t next_id = 0;
  std::uint64_t next_entropy = 0;
};

// snapshot()["pool"]["lent"] as at(snapshot, {"pool", "lent"}).
inline std::uint64_t count_at(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* here = &value;
  for (const std::string_view key : path) {
    here = here->find(key);
    if (here == nullptr) return ~0ULL;
  }
  const auto* count = here->get_if<std::uint64_t>();
  return count == nullptr ? ~0ULL : *count;
}

}  // namespace loom::broker::test
