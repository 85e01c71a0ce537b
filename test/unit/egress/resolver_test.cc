#include "egress/resolver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "test/support/dns_server.h"

namespace loom::egress {
namespace {

using Addresses = Outcome<std::vector<Address>>;

struct World {
  Loop loop;
  test::DnsServer server{loop};
  NameResolver resolver = std::move(*NameResolver::make(loop, server.address()));

  Addresses ask(const std::string& host, Duration patience = seconds(20)) {
    std::optional<Addresses> got;
    const auto lookup = resolver.look_up(*parse_host(host), loop.now() + patience, [&](Addresses answer) {
      got = std::move(answer);
      loop.stop();
    });
    EXPECT_FALSE(got);
    loop.run();
    return std::move(*got);
  }
};

std::string texts(const Addresses& answer) {
  if (!answer) return std::string(failure_code(answer.error()));
  std::string all;
  for (const Address& address : *answer) all += (all.empty() ? "" : " ") + render_address(address);
  return all;
}

TEST(Resolver, AnswersAllAddressesOfBothKinds) {
  World world;
  world.server.set("many.test", {{"192.0.2.1", "2001:db8::1", "192.0.2.2", "::ffff:127.0.0.1"}});
  const Addresses answer = world.ask("many.test");
  ASSERT_TRUE(answer);
  std::vector<std::string> got;
  for (const Address& address : *answer) got.push_back(render_address(address));
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (std::vector<std::string>{"192.0.2.1", "192.0.2.2", "2001:db8::1", "::ffff:7f00:1"}));
}

TEST(Resolver, AnAnswerThatIsTooLongForADatagramIsAskedForOverTcp) {
  World world;
  test::DnsAnswer many = {"TRUNCATED"};
  for (int i = 1; i <= 100; ++i) many.push_back("192.0.2." + std::to_string(i));
  world.server.set("long.test", {many});
  const Addresses answer = world.ask("long.test");
  ASSERT_TRUE(answer) << texts(answer);
  EXPECT_EQ(answer->size(), 100U);
  const auto& asked = world.server.asked();
  EXPECT_NE(std::find(asked.begin(), asked.end(), "TCP A long.test"), asked.end());
}

TEST(Resolver, AnAddressIsItsOwnAnswerAndNobodyIsAsked) {
  World world;
  EXPECT_EQ(texts(world.ask("127.0.0.1")), "127.0.0.1");
  EXPECT_EQ(texts(world.ask("[::1]")), "::1");
  EXPECT_TRUE(world.server.asked().empty());
}

TEST(Resolver, AsksTheNameAloneWithoutASearchList) {
  World world;
  EXPECT_EQ(texts(world.ask("plain")), "dns");
  for (const std::string& question : world.server.asked())
    EXPECT_TRUE(question == "A plain" || question == "AAAA plain") << question;
  EXPECT_FALSE(world.server.asked().empty());
}

TEST(Resolver, ANameThatDoesNotExistHasNoAddressOrFailsIsToldInWords) {
  World world;
  world.server.set("empty.test", {{}});
  world.server.set("broken.test", {{"SERVFAIL"}});
  const Addresses none = world.ask("none.test");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().stage, Stage::kResolve);
  EXPECT_EQ(std::get<DnsFailed>(none.error().cause).what.text(), "no such name");
  EXPECT_EQ(std::get<DnsFailed>(world.ask("empty.test").error().cause).what.text(), "the name has no address");
  EXPECT_EQ(texts(world.ask("broken.test")), "dns");
}

TEST(Resolver, ANamedServerThatIsNotThereIsADnsError) {
  Loop loop;
  std::string gone;
  {
    const test::DnsServer server(loop);
    gone = server.address();
  }
  const NameResolver resolver = std::move(*NameResolver::make(loop, gone));
  std::optional<Addresses> got;
  const auto lookup = resolver.look_up(*parse_host("a.test"), loop.now() + seconds(20), [&](Addresses answer) {
    got = std::move(answer);
    loop.stop();
  });
  loop.run();
  EXPECT_EQ(texts(*got), "dns");
}

TEST(Resolver, TheDeadlineEndsAQuestionThatNobodyAnswers) {
  World world;
  world.server.set("silent.test", {{"SILENT"}});
  const Addresses late = world.ask("silent.test", milliseconds(50));
  ASSERT_FALSE(late);
  EXPECT_EQ(failure_code(late.error()), "deadline");
  EXPECT_EQ(late.error().stage, Stage::kResolve);
}

TEST(Resolver, AnAnswerThatChangesIsToldAsItChanges) {
  World world;
  world.server.set("flip.test", {{"192.0.2.1"}, {"127.0.0.1"}});
  EXPECT_EQ(texts(world.ask("flip.test")), "192.0.2.1");
  EXPECT_EQ(texts(world.ask("flip.test")), "127.0.0.1");
}

TEST(Resolver, ADestroyedLookupNeverCallsBack) {
  World world;
  world.server.set("a.test", {{"192.0.2.1"}});
  bool called = false;
  auto lookup = world.resolver.look_up(*parse_host("a.test"), world.loop.now() + seconds(20),
                                       [&](const Addresses&) { called = true; });
  auto literal = world.resolver.look_up(*parse_host("127.0.0.1"), world.loop.now() + seconds(20),
                                        [&](const Addresses&) { called = true; });
  lookup.reset();
  literal.reset();
  EXPECT_EQ(texts(world.ask("a.test")), "192.0.2.1");
  EXPECT_FALSE(called);
}

TEST(Resolver, TheCallbackMayDestroyItsLookup) {
  World world;
  world.server.set("a.test", {{"192.0.2.1"}});
  NameResolver::Lookup lookup;
  lookup = world.resolver.look_up(*parse_host("a.test"), world.loop.now() + seconds(20), [&](const Addresses& answer) {
    EXPECT_EQ(texts(answer), "192.0.2.1");
    lookup.reset();
    world.loop.stop();
  });
  world.loop.run();
  EXPECT_EQ(lookup, nullptr);
}

TEST(Resolver, ManyLookupsRunAtOnce) {
  World world;
  std::vector<NameResolver::Lookup> lookups;
  std::size_t answered = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string name = "n" + std::to_string(i) + ".test";
    world.server.set(name, {{"192.0.2." + std::to_string(i)}});
    lookups.push_back(
        world.resolver.look_up(*parse_host(name), world.loop.now() + seconds(20), [&, i](const Addresses& answer) {
          EXPECT_EQ(texts(answer), "192.0.2." + std::to_string(i));
          if (++answered == 50) world.loop.stop();
        }));
  }
  world.loop.run();
  EXPECT_EQ(answered, 50U);
}

TEST(Resolver, AServerIsAnAddressWithAPort) {
  Loop loop;
  for (const char* good : {"system", "127.0.0.1:53", "[::1]:5353"}) EXPECT_TRUE(NameResolver::make(loop, good)) << good;
  for (const char* bad : {"", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:", "::1", "::1:53x", "name.test:53", "1.2.3:53",
                          "127.0.0.1:53,8.8.8.8:53", "system:53"}) {
    const auto made = NameResolver::make(loop, bad);
    ASSERT_FALSE(made) << bad;
    EXPECT_EQ(made.error().code, "bad_resolver");
  }
}

}  // namespace
}  // namespace loom::egress
