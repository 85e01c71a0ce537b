#include "relay.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace loom::egress_tool {
namespace {

constexpr std::size_t kChunk = 128U << 10U;
constexpr int kReadsPerTurn = 8;  // then the others have their turn

}  // namespace

Relay::Relay(Loop& loop, int client, int upstream, Callbacks callbacks, std::optional<egress::BodyGate> gate)
    : loop_(loop), callbacks_(std::move(callbacks)), gate_(gate) {
  up_.from = client;
  up_.to = upstream;
  up_.eof = End::kClientEof;
  up_.from_lost = End::kClientLost;
  up_.to_lost = End::kUpstreamLost;
  down_.from = upstream;
  down_.to = client;
  down_.eof = End::kUpstreamEof;
  down_.from_lost = End::kUpstreamLost;
  down_.to_lost = End::kClientLost;
}

void Relay::begin(std::string up, std::string down) {
  up_.held = std::move(up);
  down_.held = std::move(down);
  if (!flush(down_)) return;
  if (!flush(up_)) return;
  told_moved();
}

void Relay::stop() {
  stopped_ = true;
  for (Lane* lane : {&up_, &down_}) {
    lane->readable.reset();
    lane->writable.reset();
  }
}

bool Relay::end(End how) {
  stop();
  callbacks_.ended(how);
  return false;
}

void Relay::told_moved() const {
  callbacks_.moved(up_.moved, down_.moved);
}

void Relay::watch_reads(Lane& lane) {
  lane.writable.reset();
  const bool complete = &lane == &up_ && gate_ && gate_->done();
  if (stopped_ || lane.readable || lane.at_end || complete) return;
  lane.readable = loop_.watch(lane.from, Readiness::kRead, [this, &lane] {
    if (read_some(lane)) told_moved();
  });
}

bool Relay::read_some(Lane& lane) {
  // One thread, and nothing stays in it.
  static std::array<char, kChunk> buffer;
  for (int reads = 0; reads < kReadsPerTurn; ++reads) {
    const ssize_t got = ::recv(lane.from, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (got < 0) return end(lane.from_lost);
    if (got == 0) return reach_end(lane);
    if (!pass_on(lane, std::string_view(buffer.data(), static_cast<std::size_t>(got)))) return false;
    if (!lane.readable) return true;  // held, or complete
    if (static_cast<std::size_t>(got) < buffer.size()) return true;
  }
  return true;
}

bool Relay::reach_end(Lane& lane) {
  lane.at_end = true;
  lane.readable.reset();
  // A body that ends before its length has been said is not passed off as a whole one.
  if (&lane == &up_ && gate_) return end(End::kBodyFault);
  if (&lane == &down_ && gate_ && !patch_.done()) {
    if (!deliver(lane, patch_.rest())) return false;
    if (!lane.held.empty()) return true;  // the end is told behind it
  }
  told_moved();
  callbacks_.ended(lane.eof);
  return false;
}

bool Relay::pass_on(Lane& lane, std::string_view bytes) {
  if (&lane == &down_ && gate_ && !patch_.done()) return deliver(lane, patch_.pass(bytes));
  if (&lane == &up_ && gate_) {
    const auto body = gate_->admit(bytes);
    if (!body) return end(End::kBodyFault);
    bytes = bytes.substr(0, *body);
    if (gate_->done()) lane.readable.reset();
  }
  return deliver(lane, bytes);
}

bool Relay::deliver(Lane& lane, std::string_view bytes) {
  if (!write_some(lane, bytes)) return false;
  if (bytes.empty()) return true;
  lane.held = bytes;
  lane.start = 0;
  lane.readable.reset();
  lane.writable = loop_.watch(lane.to, Readiness::kWrite, [this, &lane] {
    if (flush(lane)) told_moved();
  });
  return true;
}

bool Relay::write_some(Lane& lane, std::string_view& bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(lane.to, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (put < 0) return end(lane.to_lost);
    lane.moved += static_cast<std::uint64_t>(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool Relay::flush(Lane& lane) {
  std::string_view rest = std::string_view(lane.held).substr(lane.start);
  if (!write_some(lane, rest)) return false;
  lane.start = lane.held.size() - rest.size();
  if (!rest.empty()) {
    if (!lane.writable)
      lane.writable = loop_.watch(lane.to, Readiness::kWrite, [this, &lane] {
        if (flush(lane)) told_moved();
      });
    return true;
  }
  lane.held = std::string();
  lane.start = 0;
  if (lane.at_end) {
    lane.writable.reset();
    told_moved();
    callbacks_.ended(lane.eof);
    return false;
  }
  watch_reads(lane);
  return true;
}

}  // namespace loom::egress_tool
