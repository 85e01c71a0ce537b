// The tunnel's core under any sequence of events: nothing is connected to that was not admitted and recorded, an
// admitted tunnel closes once, and every connection ends.
#include <algorithm>
#include <array>
#include <set>

#include "base/hash.h"
#include "egress/tunnel.h"
#include "test/support/property.h"
#include "test/support/tls_bytes.h"
#include "test/support/tunnel_script.h"

namespace loom::egress {
namespace {

namespace event = tunnel_event;
namespace effect = tunnel_effect;

const std::vector<std::string>& pieces() {
  using std::string_literals::operator""s;
  static const std::vector<std::string> kPieces = {
      "CONNECT listed.test:443 HTTP/1.1\r\n\r\n",
      "CONNECT other.test:443 HTTP/1.1\r\n\r\n",
      "GET http://mirror.test/ HTTP/1.0\r\n\r\n",
      "POST http://mirror.test/ HTTP/1.1\r\nHost: mirror.test\r\nContent-Length: 9\r\n\r\n",
      "GET http://loom.invalid/ready HTTP/1.0\r\n\r\n",
      "\x05\x01\x00"s,
      "\x05\x01\x00\x03\x0blisted.test\x01\xbb"s,
      "\x05\x01\x00\x03\x0aother.test\x01\xbb"s,
      "\x05",
      "CONNECT ",
      test::in_records(test::hello_for("listed.test")),
      test::in_records(test::hello_for("other.test")),
      "\x16",
      "x",
      "\n",
  };
  return kPieces;
}

TunnelEvent any_event(std::string& bytes, std::array<int, 13>& drawn) {
  const int what = *rc::gen::weightedElement<int>(
      {{8, 0}, {1, 1}, {1, 2}, {4, 3}, {4, 4}, {2, 5}, {1, 6}, {1, 7}, {1, 8}, {1, 9}, {1, 10}, {2, 11}, {1, 12}});
  ++drawn[static_cast<std::size_t>(what)];
  switch (what) {
    case 0:
      bytes = *rc::gen::elementOf(pieces());
      return event::ClientBytes{bytes};
    case 1:
      return event::ClientEof{};
    case 2:
      return event::ClientLost{};
    case 3:
      if (*rc::gen::inRange(0, 4) == 0) return event::Resolved{tl::unexpected(ProxyRefusal{"dns", "", "none"})};
      return event::Resolved{*rc::gen::elementOf(std::vector<std::vector<Address>>{
          {ipv4(8, 8, 8, 8)}, {ipv4(8, 8, 8, 8), ipv4(8, 8, 4, 4)}, {ipv4(8, 8, 8, 8), ipv4(127, 0, 0, 1)}})};
    case 4:
      return event::Connected{};
    case 5:
      return event::ConnectFailed{{"connect", "", "refused"}};
    case 6:
      return event::UpstreamEof{};
    case 7:
      return event::UpstreamLost{};
    case 8:
      return event::Moved{1, 1};
    case 9:
      return event::BodyFault{};
    case 10:
      return event::RecordFailed{};
    case 11:
      return event::Due{};
    default:
      return event::Stop{};
  }
}

struct Watcher {
  bool allowed = false;
  bool connected = false;
  bool finished = false;
  int closings = 0;
  std::set<std::string> admitted;

  void see(const TunnelEffect& each) {
    RC_ASSERT(!finished);
    if (const auto* record = std::get_if<effect::Record>(&each); record != nullptr && record->decision.allowed) {
      RC_ASSERT(!allowed);
      allowed = true;
      for (const Address& address : record->decision.addresses) admitted.insert(render_address(address));
    }
    if (const auto* look_up = std::get_if<effect::LookUp>(&each)) RC_ASSERT(look_up->host.text != "other.test");
    if (const auto* connect = std::get_if<effect::Connect>(&each)) {
      RC_ASSERT(allowed);
      RC_ASSERT(admitted.count(render_address(connect->address)) == 1U);
      RC_ASSERT(render_address(connect->address) != "127.0.0.1");
    }
    if (const auto* say = std::get_if<effect::Say>(&each))
      RC_ASSERT(connected || say->bytes.find(" 200 ") == std::string::npos);
    if (std::holds_alternative<effect::Relay>(each)) RC_ASSERT(connected);
    if (std::holds_alternative<effect::RecordClosing>(each)) {
      RC_ASSERT(allowed);
      ++closings;
    }
    if (std::holds_alternative<effect::Finish>(each)) finished = true;
  }
};

TEST(TunnelProperty, NothingUnjudgedIsReachedAndEverythingEnds) {
  std::array<int, 13> drawn{};
  std::set<std::string_view> phases;
  test::property("a connection reaches only what was admitted, and ends", [&drawn, &phases] {
    test::TunnelScript script({"listed.test", "http://mirror.test"});
    Watcher watcher;
    std::string bytes;
    bool record_failed = false;
    const auto feed = [&](const TunnelEvent& each) {
      if (std::holds_alternative<event::Connected>(each) && script.core.phase == TunnelPhase::kConnecting)
        watcher.connected = true;
      // A shell tells it right behind the record, before anything of what followed.
      record_failed = record_failed || std::holds_alternative<event::RecordFailed>(each);
      for (const TunnelEffect& effect : step(script.core, each, script.context)) watcher.see(effect);
      phases.insert(to_text(script.core.phase));
      RC_ASSERT(script.core.due.has_value() == (script.core.phase != TunnelPhase::kOver));
      RC_ASSERT((script.core.phase == TunnelPhase::kOver) == watcher.finished);
    };
    // Some begin as they should: chance alone seldom opens a tunnel.
    const std::vector<TunnelEvent> good = {event::ClientBytes{pieces()[0]},
                                           event::Resolved{std::vector{ipv4(8, 8, 8, 8)}}, event::Connected{},
                                           event::ClientBytes{pieces()[10]}};
    const int ahead = *rc::gen::inRange(0, 5);
    for (int i = 0; i < ahead; ++i) feed(good[static_cast<std::size_t>(i)]);
    const int steps = *rc::gen::inRange(0, 25);
    for (int i = 0; i < steps && !watcher.finished; ++i) {
      script.context.now += milliseconds(*rc::gen::inRange(0, 4000));
      script.context.full = *rc::gen::inRange(0, 20) == 0;
      feed(any_event(bytes, drawn));
    }
    // Left alone, whatever it waits for comes to an end.
    for (int i = 0; i < 10 && !watcher.finished; ++i) {
      script.context.now = *script.core.due;
      feed(event::Due{});
    }
    RC_ASSERT(watcher.finished);
    RC_ASSERT(watcher.closings == (watcher.allowed ? 1 : 0) || record_failed);
  });
  for (const int times : drawn) EXPECT_GT(times, 0);
  EXPECT_EQ(phases.size(), 8U);
}

TEST(BodyGateProperty, TheSameBodyPassesWhateverThePieces) {
  test::property("a chunked body in pieces is taken to its end and not beyond", [] {
    std::string body;
    const int chunks = *rc::gen::inRange(0, 5);
    for (int i = 0; i < chunks; ++i) {
      const auto size = *rc::gen::inRange<std::size_t>(1, 40);
      body += to_hex(std::string(1, static_cast<char>(size))) + "\r\n" + std::string(size, 'd') + "\r\n";
    }
    body += "0\r\n\r\n";
    HttpHead head;
    head.body = BodyKind::kChunked;
    BodyGate gate(head);
    const std::string sent = body + "GET / HTTP/1.1\r\n\r\n";
    std::size_t passed = 0;
    for (std::size_t at = 0; at < sent.size();) {
      const auto piece = std::min(*rc::gen::inRange<std::size_t>(1, 30), sent.size() - at);
      const auto admitted = gate.admit(std::string_view(sent).substr(at, piece));
      RC_ASSERT(admitted.has_value());
      passed += *admitted;
      at += piece;
    }
    RC_ASSERT(gate.done());
    RC_ASSERT(passed == body.size());
  });
}

}  // namespace
}  // namespace loom::egress
