// Connections: who may speak, what a frame asks for, and what becomes of a vanished caller's calls.
#include <utility>

#include "base/hash.h"
#include "base/version.h"
#include "broker/broker_state.h"

namespace loom::broker {

namespace {

struct Ask {
  BrokerCore::Impl& core;
  ConnId conn;
  std::uint64_t id;

  void operator()(CallSpec&) const {}  // cleared before, with its entropy
  void operator()(CallStdin& message) const { core.request(conn, id, std::move(message)); }
  template <class Message>
  void operator()(Message& message) const {
    core.request(conn, id, message);
  }
};

}  // namespace

void BrokerCore::Impl::reply(ConnId conn, std::uint64_t id, ControlReply message) {
  if (connections.contains(conn)) outbox.push_back(Reply{conn, id, std::move(message)});
}

void BrokerCore::Impl::reply_error(ConnId conn, std::uint64_t id, std::string code, std::string msg) {
  reply(conn, id, ErrorMessage{std::move(code), std::move(msg)});
}

void BrokerCore::Impl::on_connected(const ClientConnected& event) {
  const auto [at, fresh] = connections.try_emplace(event.conn);
  if (!fresh) return;
  Connection& connection = at->second;
  if (!event.allowed) {
    reply_error(event.conn, 0, "not_authorised", "this broker serves its owner, root and those it was told to allow");
    ++metrics.refused[static_cast<std::size_t>(RefusalReason::kNotAuthorised)];
    return close_client(event.conn);
  }
  if (event.embedded) {
    connection.door.open = true;
    return;
  }
  connection.door.hello_due = now + kClientHello;
  reply(event.conn, connection.next_id++, Hello{kControlProto, config.peer, {}});
}

void BrokerCore::Impl::on_frame(ClientFrame event) {
  const auto at = connections.find(event.conn);
  if (at == connections.end()) return wipe(event.entropy);
  const std::uint64_t id = event.frame.id;
  DoorVerdict verdict = judge(at->second.door, std::move(event.frame), config.peer);
  if (auto* request = std::get_if<Request>(&verdict)) {
    return on_request(event.conn, id, std::move(*request), std::move(event.entropy));
  }
  wipe(event.entropy);
  auto* answer = std::get_if<Answer>(&verdict);
  if (answer == nullptr) return;
  if (std::holds_alternative<CallRefused>(answer->message)) {
    ++metrics.refused[static_cast<std::size_t>(RefusalReason::kBadRequest)];
    log(LogLevel::kInfo, "call.refused", {{"reason", to_text(RefusalReason::kBadRequest)}, {"waited_ms", 0}});
  }
  reply(event.conn, answer->id, std::move(answer->message));
  if (answer->close) close_client(event.conn);
}

void BrokerCore::Impl::on_fault(const ClientFault& event) {
  reply_error(event.conn, 0, event.error.code, event.error.text());
  close_client(event.conn);
}

void BrokerCore::Impl::on_request(ConnId conn, std::uint64_t id, Request asked, std::string entropy) {
  const auto at = connections.find(conn);
  if (at == connections.end()) return wipe(entropy);
  if (auto* spec = std::get_if<CallSpec>(&asked)) {
    // A frame's id was judged at the door; a request that never was a frame is judged here.
    if (id > at->second.door.last_call) at->second.door.last_call = id;
    return clear_call(conn, id, std::move(*spec), std::move(entropy));
  }
  wipe(entropy);
  std::visit(Ask{*this, conn, id}, asked);
}

// Its waiting calls leave undispatched, its running ones are cancelled; nobody is left to be answered.
void BrokerCore::Impl::forget_client(ConnId conn) {
  const auto at = connections.find(conn);
  if (at == connections.end()) return;
  const auto calls = std::move(at->second.calls);
  connections.erase(at);
  refuse_waiting([&](const Clearance& waiting) {
    return waiting.conn == conn ? std::optional(refusal(RefusalReason::kCancelled)) : std::nullopt;
  });
  for (const auto& [call, seq] : calls) {
    const auto row = rows.find(seq);
    if (row == rows.end()) continue;
    row->second.caller_gone = true;
    if (!row->second.cancelled) row->second.cancelled = now;
    row->second.execution->caller_down(now);
  }
}

void BrokerCore::Impl::close_client(ConnId conn) {
  if (!connections.contains(conn)) return;
  outbox.push_back(CloseClient{conn});
  forget_client(conn);
}

}  // namespace loom::broker
