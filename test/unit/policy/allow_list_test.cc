#include "policy/allow_list.h"

#include <gtest/gtest.h>

namespace loom {
namespace {

std::string rule(const AllowList& list, std::string_view host, std::uint16_t port,
                 EntryScheme scheme = EntryScheme::kTls) {
  const Entry* entry = list.admits(scheme, parse_host(host).value(), port);
  return entry == nullptr ? "" : render_entry(*entry);
}

TEST(AllowList, the_first_entry_that_admits_a_host_is_the_rule) {
  const AllowList list =
      AllowList::parse({"example.org", "*.example.org:8443", "10.0.0.0/8", "http://mirror.test", "[2001:db8::1]:99"})
          .value();
  EXPECT_EQ(rule(list, "example.org", 443), "example.org");
  EXPECT_EQ(rule(list, "EXAMPLE.org.", 443), "example.org");
  EXPECT_EQ(rule(list, "example.org", 22), "");
  EXPECT_EQ(rule(list, "a.b.example.org", 8443), "*.example.org:8443");
  EXPECT_EQ(rule(list, "example.org", 8443), "");
  EXPECT_EQ(rule(list, "10.1.2.3", 443), "10.0.0.0/8");
  EXPECT_EQ(rule(list, "[::ffff:10.1.2.3]", 443), "");
  EXPECT_EQ(rule(list, "mirror.test", 80, EntryScheme::kHttp), "http://mirror.test");
  EXPECT_EQ(rule(list, "mirror.test", 443), "");
  EXPECT_EQ(rule(list, "mirror.test", 80), "");
  EXPECT_EQ(rule(list, "example.org", 443, EntryScheme::kHttp), "");
  EXPECT_EQ(rule(list, "[2001:db8:0::1]", 99), "[2001:db8::1]:99");
}

TEST(AllowList, an_empty_list_admits_nothing) {
  EXPECT_EQ(rule(AllowList(), "example.org", 443), "");
  EXPECT_EQ(rule(AllowList::parse({}).value(), "example.org", 443), "");
}

TEST(AllowList, an_entry_that_does_not_parse_refuses_the_whole_list_and_is_named) {
  const auto list = AllowList::parse({"example.org", "*"});
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, "bad_entry");
  EXPECT_EQ(list.error().where, "*");
}

TEST(AllowList, lists_that_mean_the_same_have_one_digest) {
  const auto digest = [](const std::vector<std::string>& entries) { return AllowList::parse(entries)->digest(); };
  EXPECT_EQ(digest({"a.test", "b.test"}), digest({"B.test.", "a.test:443", "a.test"}));
  EXPECT_NE(digest({"a.test", "b.test"}), digest({"a.test"}));
  EXPECT_NE(digest({}), digest({"a.test"}));
  EXPECT_EQ(digest({}).size(), 64U);
}

}  // namespace
}  // namespace loom
