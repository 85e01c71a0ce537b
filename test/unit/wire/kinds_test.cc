#include "wire/kinds.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "test/support/paths.h"
#include "test/support/wire_bodies.h"

namespace loom {
namespace {

using test::all_kinds;

constexpr Channel kChannels[] = {Channel::kExec, Channel::kControl, Channel::kCapability};
constexpr Receiver kReceivers[] = {Receiver::kHelper, Receiver::kBroker, Receiver::kClient, Receiver::kJail};
constexpr Phase kPhases[] = {Phase::kAwaitingHello, Phase::kOpen, Phase::kClosing};

// The table of loom-wire(7), written down a second time: channel, receiver, the kinds that may arrive before the hello
// is answered, in the open phase, and while closing.
struct Door {
  Channel channel;
  Receiver receiver;
  std::set<Kind> first;
  std::set<Kind> open;
  std::set<Kind> closing;
};

std::vector<Door> doors() {
  using enum Kind;
  const std::set<Kind> to_helper = {kExecStdin, kExecWinsize, kExecCredit, kCancel, kShutdown, kHeartbeat, kError};
  std::set<Kind> to_open_helper = to_helper;
  to_open_helper.insert(kExecStart);
  const std::set<Kind> from_helper = {kExecOut, kExecExit, kExecCredit, kHeartbeat, kError};
  const std::set<Kind> to_broker = {kClearCall, kCallStdin, kCallWinsize, kCallCredit, kCallCancel, kCallHook,
                                    kAbortOp,   kAbortStep, kSnapshot,    kCensus,     kStop,       kHeartbeat};
  const std::set<Kind> to_client = {kCallStarted, kCallRefused, kCallOutput, kCallSettled,
                                    kCallCredit,  kOk,          kHeartbeat,  kError};
  const std::set<Kind> from_jail = {kCapCall, kHookResult, kError};
  const std::set<Kind> to_jail = {kCapResult, kHookCall, kError};
  return {
      {Channel::kExec, Receiver::kHelper, {kHello, kError}, to_open_helper, to_helper},
      {Channel::kExec, Receiver::kBroker, {kHello, kError}, from_helper, from_helper},
      {Channel::kControl, Receiver::kBroker, {kHello}, to_broker, to_broker},
      {Channel::kControl, Receiver::kClient, {kHello, kError}, to_client, to_client},
      {Channel::kCapability, Receiver::kBroker, {kHello, kError}, from_jail, from_jail},
      {Channel::kCapability, Receiver::kJail, {kHello, kError}, to_jail, to_jail},
  };
}

std::set<Kind> expected(Channel channel, Receiver receiver, Phase phase) {
  for (const auto& door : doors()) {
    if (door.channel != channel || door.receiver != receiver) continue;
    switch (phase) {
      case Phase::kAwaitingHello:
        return door.first;
      case Phase::kOpen:
        return door.open;
      case Phase::kClosing:
        return door.closing;
    }
  }
  return {};
}

TEST(Permission, EveryKindInEveryPhaseTowardsEveryReceiverIsAsTheTableSays) {
  int asked = 0;
  for (const auto channel : kChannels) {
    for (const auto receiver : kReceivers) {
      for (const auto phase : kPhases) {
        const auto allowed = expected(channel, receiver, phase);
        for (const auto kind : all_kinds()) {
          const auto want = allowed.count(kind) != 0 ? Permission::kAllowed : Permission::kForbidden;
          EXPECT_EQ(permission(channel, kind, receiver, phase), want)
              << to_text(kind) << " on channel " << static_cast<int>(channel) << " towards "
              << static_cast<int>(receiver) << " in phase " << static_cast<int>(phase);
          ++asked;
        }
      }
    }
  }
  EXPECT_EQ(asked, 3 * 4 * 3 * kKindCount);
}

TEST(Kinds, EveryKindHasItsOwnNameAndIsFoundByIt) {
  std::set<std::string_view> names;
  for (const auto kind : all_kinds()) {
    EXPECT_FALSE(to_text(kind).empty());
    EXPECT_EQ(parse_kind(to_text(kind)), kind);
    names.insert(to_text(kind));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kKindCount));
  for (const auto* unknown : {"", "Hello", "hello ", "exec_out2"}) EXPECT_EQ(parse_kind(unknown), std::nullopt);
}

TEST(Kinds, EveryKindCrossesSomeChannel) {
  for (const auto kind : all_kinds()) {
    bool crosses = false;
    for (const auto channel : kChannels) {
      for (const auto receiver : kReceivers) {
        crosses = crosses || permission(channel, kind, receiver, Phase::kOpen) == Permission::kAllowed ||
                  permission(channel, kind, receiver, Phase::kAwaitingHello) == Permission::kAllowed;
      }
    }
    EXPECT_TRUE(crosses) << to_text(kind);
  }
}

std::string manual() {
  std::ifstream page(test::tree_path("man/loom-wire.7"));
  std::stringstream text;
  text << page.rdbuf();
  return text.str();
}

TEST(Kinds, EveryKindHasItsFileItsFuzzSeedAndItsPlaceInTheManual) {
  const std::string page = manual();
  for (const auto kind : all_kinds()) {
    for (const auto channel : {Channel::kExec, Channel::kControl}) {
      const auto codec = test::tree_path("libloom/wire/" + test::codec_of(channel, kind));
      EXPECT_TRUE(std::filesystem::exists(codec + ".h")) << codec;
      EXPECT_TRUE(std::filesystem::exists(codec + ".cc")) << codec;
    }
    const auto seed = test::tree_path("test/fuzz/corpus/bodies/" + std::string(to_text(kind)));
    EXPECT_TRUE(std::filesystem::exists(seed)) << seed;
    EXPECT_NE(page.find("\n.It Ic " + std::string(to_text(kind)) + " No ("), std::string::npos) << to_text(kind);
  }
}

}  // namespace
}  // namespace loom
