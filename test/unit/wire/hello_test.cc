#include "wire/hello.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/version.h"
#include "test/support/wire_bodies.h"
#include "wire/exec_hello.h"
#include "wire/proto.h"

namespace loom {
namespace {

TEST(Hello, AHelloOfAnotherProtocolIsReadForItsNumberAndItsPeerWhateverElseItSays) {
  const Value foreign(Map{{"proto", 5}, {"peer", "loom-exec/9.0.0"}, {"shape", "of tomorrow"}});
  const auto exec = decode_exec_hello(foreign);
  ASSERT_TRUE(exec);
  EXPECT_EQ(exec->proto, 5U);
  EXPECT_EQ(exec->peer, "loom-exec/9.0.0");
  const auto control = decode_hello(foreign);
  ASSERT_TRUE(control);
  EXPECT_EQ(control->proto, 5U);
  EXPECT_EQ(decode_exec_hello(Value(Map{{"proto", 0}}))->proto, 0U);
}

TEST(Hello, AHelloOfOurProtocolIsHeldToItsTable) {
  EXPECT_EQ(decode_exec_hello(Value(Map{{"proto", kExecProto}})).error().where, "hello: /peer");
  EXPECT_EQ(decode_exec_hello(Value(Map{{"proto", "4"}})).error().where, "hello: /proto");
  EXPECT_EQ(decode_exec_hello(encode(ExecHello{kExecProto, "p", {}, 5})).error().what, "out of range: want 0..4");
}

TEST(ProtoMismatch, BothNumbersAndTheBuildThatIsBehindAreNamed) {
  const auto behind = proto_mismatch({"loom-broker/0.1.0", 4}, {"loom-exec/0.0.9", 3});
  EXPECT_EQ(behind.code, "proto_mismatch");
  EXPECT_EQ(behind.what,
            "loom-broker/0.1.0 speaks protocol 4, loom-exec/0.0.9 speaks protocol 3: loom-exec/0.0.9 is behind");
  const auto ahead = proto_mismatch({"loom-broker/0.1.0", 4}, {"", 5});
  EXPECT_EQ(ahead.what, "loom-broker/0.1.0 speaks protocol 4, the peer speaks protocol 5: loom-broker/0.1.0 is behind");
  EXPECT_LT(proto_mismatch({"us", 1}, {std::string(9000, 'x'), 2}).what.size(), 200U);
}

// What each protocol number of the exec channel meant: required keys, then optional ones behind a "+". A difference
// here bumps kExecProto in the same commit and adds a line to the history.
std::string schema_now() {
  std::string text;
  for (const auto kind : test::all_kinds()) {
    bool crosses = false;
    for (const auto receiver : {Receiver::kHelper, Receiver::kBroker}) {
      for (const auto phase : {Phase::kAwaitingHello, Phase::kOpen}) {
        crosses = crosses || permission(Channel::kExec, kind, receiver, phase) == Permission::kAllowed;
      }
    }
    if (!crosses) continue;
    const auto samples = test::sample_bodies(Channel::kExec, kind);
    text += std::string(to_text(kind)) + "(";
    for (const auto& [key, value] : *samples.front().get_if<Map>()) {
      text += (samples.back().find(key) == nullptr ? "+" : "") + key + " ";
    }
    text += ") ";
  }
  return text;
}

TEST(ExecProtocol, ItsNumberAndItsKeysArePinnedTogether) {
  const std::map<std::uint64_t, std::string> history = {
      {4,
       "hello(proto peer features capacity ) "
       "exec_start(argv env cwd token +policy +limits +demand +why +tty ) "
       "exec_stdin(target data eof ) exec_winsize(target rows cols ) exec_credit(target stream upto ) "
       "exec_out(stream data bytes truncated ) "
       "exec_exit(code signal stdout_bytes stderr_bytes stdout_truncated stderr_truncated enforcement degraded wall_ms "
       "timed_out cancelled ) "
       "cancel(target ) shutdown() heartbeat() error(code msg ) "},
  };
  EXPECT_EQ(history.rbegin()->first, kExecProto);
  EXPECT_EQ(schema_now(), history.at(kExecProto));
}

}  // namespace
}  // namespace loom
