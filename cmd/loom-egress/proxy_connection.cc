#include "proxy_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "egress/failure.h"
#include "os/fds.h"
#include "os/tcp.h"

namespace loom::egress_tool {

namespace effect = egress::tunnel_effect;
namespace event = egress::tunnel_event;

namespace {

constexpr std::size_t kReadBytes = 16U << 10U;

egress::ProxyRefusal connect_refusal(int error) {
  if (error == ETIMEDOUT) return {"deadline", "", "the upstream did not answer in time"};
  return {"connect", "", "cannot connect to the upstream: " + errno_text(error)};
}

// What the resolver answers; its codes, dns and deadline, are those of a refusal.
tl::expected<std::vector<egress::Address>, egress::ProxyRefusal> answer_of(
    egress::Outcome<std::vector<egress::Address>> answer) {
  if (answer) return *std::move(answer);
  const egress::Failure& failure = answer.error();
  return tl::unexpected(egress::ProxyRefusal{std::string(failure_code(failure)), "", egress::failure_message(failure)});
}

}  // namespace

ProxyConnection::ProxyConnection(Loop& loop, UniqueFd client, ProxySide side)
    : loop_(loop), client_(std::move(client)), side_(std::move(side)), core_(egress::begin_tunnel(loop.now())) {
  client_held_ = loop_.hold(client_.get());
  watch_client();
  arm_timer();
}

void ProxyConnection::stop() {
  feed(event::Stop{});
}

void ProxyConnection::feed(egress::TunnelEvent event) {
  waiting_.push_back(std::move(event));
  if (stepping_) return;
  stepping_ = true;
  while (!waiting_.empty() && !over_) {
    const egress::TunnelEvent next = std::move(waiting_.front());
    waiting_.pop_front();
    step(next);
  }
  stepping_ = false;
  if (over_) return;
  watch_client();
  arm_timer();
}

// The configuration is looked at where something is judged by it.
egress::TunnelContext ProxyConnection::context_for(const egress::TunnelEvent& event) const {
  const bool judges = core_.phase == egress::TunnelPhase::kOpening || core_.phase == egress::TunnelPhase::kSocksRequest;
  if (judges && std::holds_alternative<event::ClientBytes>(event)) return side_.context();
  egress::TunnelContext context;
  context.now = loop_.now();
  return context;
}

void ProxyConnection::step(const egress::TunnelEvent& event) {
  for (egress::TunnelEffect& each : egress::step(core_, event, context_for(event))) {
    if (!std::visit([this](auto& effect) { return (*this)(effect); }, each)) return;
  }
}

bool ProxyConnection::operator()(effect::Record& effect) {
  if (side_.record(effect.decision)) return true;
  feed(event::RecordFailed{});
  return false;
}

bool ProxyConnection::operator()(effect::RecordClosing& effect) const {
  side_.record_closing(effect.closing);
  return true;
}

bool ProxyConnection::operator()(effect::Say& effect) {
  unsaid_ += effect.bytes;
  write_client();
  return true;
}

void ProxyConnection::write_client() {
  while (!unsaid_.empty()) {
    const ssize_t put = ::send(client_.get(), unsaid_.data(), unsaid_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!client_writable_)
        client_writable_ = loop_.watch(client_.get(), Readiness::kWrite, [this] { write_client(); });
      return;
    }
    if (put < 0) {
      unsaid_.clear();
      client_writable_.reset();
      return feed(event::ClientLost{});
    }
    unsaid_.erase(0, static_cast<std::size_t>(put));
  }
  client_writable_.reset();
  if (shut_when_said_) ::shutdown(client_.get(), SHUT_WR);
}

bool ProxyConnection::operator()(effect::LookUp& effect) {
  lookup_ = side_.resolver().look_up(effect.host, effect.deadline,
                                     [this](egress::Outcome<std::vector<egress::Address>> answer) {
                                       feed(event::Resolved{answer_of(std::move(answer))});
                                     });
  return true;
}

bool ProxyConnection::operator()(effect::Connect& effect) {
  lookup_.reset();
  connecting_.reset();
  upstream_held_.reset();
  auto begun = begin_connect({effect.address.v6, effect.address.bytes, effect.port});
  if (!begun) {
    feed(event::ConnectFailed{{"connect", "", "cannot connect to the upstream: " + begun.error().what}});
    return true;
  }
  upstream_ = std::move(*begun);
  upstream_held_ = loop_.hold(upstream_.get());
  connecting_ = loop_.watch(upstream_.get(), Readiness::kWrite, [this] { on_connect(); });
  return true;
}

void ProxyConnection::on_connect() {
  connecting_.reset();
  const int error = connect_error(upstream_.get());
  if (error == 0) return feed(event::Connected{});
  upstream_held_.reset();
  upstream_.reset();
  feed(event::ConnectFailed{connect_refusal(error)});
}

bool ProxyConnection::operator()(effect::Relay& effect) {
  client_readable_.reset();
  client_writable_.reset();
  Relay::Callbacks callbacks{[this](std::uint64_t up, std::uint64_t down) {
                               feed(event::Moved{up, down});
                             },
                             [this](Relay::End how) { on_relay_end(how); }};
  relay_ = std::make_unique<Relay>(loop_, client_.get(), upstream_.get(), std::move(callbacks), effect.gate);
  relay_->begin(std::move(effect.first), std::exchange(unsaid_, {}));
  return true;
}

void ProxyConnection::on_relay_end(Relay::End how) {
  switch (how) {
    case Relay::End::kClientEof:
      return feed(event::ClientEof{});
    case Relay::End::kClientLost:
      return feed(event::ClientLost{});
    case Relay::End::kUpstreamEof:
      return feed(event::UpstreamEof{});
    case Relay::End::kUpstreamLost:
      return feed(event::UpstreamLost{});
    case Relay::End::kBodyFault:
      return feed(event::BodyFault{});
  }
}

bool ProxyConnection::operator()(effect::ShutUpstream& /*effect*/) {
  ::shutdown(upstream_.get(), SHUT_WR);
  return true;
}

bool ProxyConnection::operator()(effect::ShutClient& /*effect*/) {
  if (unsaid_.empty()) ::shutdown(client_.get(), SHUT_WR);
  shut_when_said_ = true;
  return true;
}

// The relay may be the one that is calling: it is stopped now, and gone soon.
void ProxyConnection::end_upstream() {
  lookup_.reset();
  connecting_.reset();
  if (relay_) {
    relay_->stop();
    loop_.post([dead = std::shared_ptr<Relay>(std::move(relay_))] {});
  }
  upstream_held_.reset();
  upstream_.reset();
}

bool ProxyConnection::operator()(effect::EndUpstream& /*effect*/) {
  end_upstream();
  return true;
}

bool ProxyConnection::operator()(effect::Finish& /*effect*/) {
  over_ = true;
  waiting_.clear();
  end_upstream();
  client_readable_.reset();
  client_writable_.reset();
  client_held_.reset();
  timer_.reset();
  client_.reset();
  side_.finished();
  return false;
}

void ProxyConnection::watch_client() {
  if (!egress::wants_client_bytes(core_) || core_.client_eof) {
    client_readable_.reset();
  } else if (!client_readable_) {
    client_readable_ = loop_.watch(client_.get(), Readiness::kRead, [this] { read_client(); });
  }
}

void ProxyConnection::read_client() {
  static std::array<char, kReadBytes> buffer;
  const ssize_t got = ::recv(client_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) return feed(event::ClientBytes{{buffer.data(), static_cast<std::size_t>(got)}});
  if (got == 0) return feed(event::ClientEof{});
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) feed(event::ClientLost{});
}

// A tunnel in use is due later with each byte: the timer is left alone, and looks again when it fires.
void ProxyConnection::arm_timer() {
  if (!core_.due) {
    timer_.reset();
    armed_.reset();
    return;
  }
  if (armed_ && *armed_ <= *core_.due) return;
  armed_ = core_.due;
  timer_ = loop_.timer(*armed_, [this] {
    armed_.reset();
    feed(event::Due{});
  });
}

}  // namespace loom::egress_tool
