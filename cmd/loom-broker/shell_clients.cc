// The shell's clients: connections on a socket, and the one in this process.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "shell.h"

namespace loom::broker {
namespace {

constexpr std::size_t kEntropyBytes = 32;
constexpr std::int64_t kLingerMs = 5000;
constexpr std::int64_t kTellMs = 1000;
constexpr std::size_t kLastBytes = 1U << 20U;  // more than a socket's buffer holds

}  // namespace

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
    case service::ChannelEnd::kCutShort:
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

// What has been asked of us and not read is answered before we leave: a call whose caller hears nothing may have run.
void Shell::hear_out() {
  std::vector<ConnId> conns;
  for (const auto& [conn, client] : clients_) conns.push_back(conn);
  for (const ConnId conn : conns) {
    if (const auto found = clients_.find(conn); found != clients_.end()) found->second.channel->read_rest(kLastBytes);
  }
}

void Shell::when_told(std::function<void()> callback) {
  hear_out();
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
