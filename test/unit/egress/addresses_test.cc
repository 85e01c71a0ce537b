#include "egress/addresses.h"

#include <gtest/gtest.h>

namespace loom::egress {
namespace {

Address address(std::string_view text) {
  auto parsed = parse_address(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Address{};
}

std::string judge(std::string_view text, const AddressRules& rules = {}, std::uint16_t port = 443) {
  const auto refusal = judge_address(address(text), port, rules);
  return refusal ? std::string(render_fault(refusal->why)) : "allowed";
}

AddressRules allowing(std::initializer_list<const char*> ranges) {
  AddressRules rules;
  for (const char* text : ranges) rules.allow.push_back(parse_range(text).value());
  return rules;
}

TEST(Addresses, ranges_end_where_their_registry_ends_them) {
  for (const char* text :
       {"1.0.0.0",         "9.255.255.255",   "11.0.0.0",        "100.63.255.255", "100.128.0.0",     "126.255.255.255",
        "128.0.0.0",       "169.253.255.255", "169.255.0.0",     "172.15.255.255", "172.32.0.0",      "191.255.255.255",
        "192.0.1.0",       "192.0.3.0",       "192.167.255.255", "192.169.0.0",    "198.17.255.255",  "198.20.0.0",
        "198.51.99.255",   "198.51.101.0",    "203.0.112.255",   "203.0.114.0",    "223.255.255.255", "2001:200::",
        "2001:db7:ffff::", "2001:db9::",      "2003::",          "2a00::1",        "3ffe:ffff::"})
    EXPECT_EQ(judge(text), "allowed") << text;
  for (const char* text :
       {"0.255.255.255", "10.255.255.255", "100.127.255.255", "169.254.255.255", "172.31.255.255", "192.168.255.255",
        "198.19.255.255", "239.255.255.255", "255.255.255.254", "fdff::1", "febf::1", "feff::1", "ffff::1",
        "2001:1ff::", "3fff:fff::", "4000::", "fe00::1", "::2:0:0:1", "1::"})
    EXPECT_NE(judge(text), "allowed") << text;
}

TEST(Addresses, every_form_that_carries_an_ipv4_address_is_judged_as_that_one) {
  for (const char* prefix : {"::ffff:", "::", "::ffff:0:", "64:ff9b::"}) {
    EXPECT_EQ(judge(prefix + std::string("127.0.0.1")), "loopback") << prefix;
    EXPECT_EQ(judge(prefix + std::string("10.1.2.3")), "private") << prefix;
    EXPECT_EQ(judge(prefix + std::string("169.254.169.254")), "metadata") << prefix;
    EXPECT_EQ(judge(prefix + std::string("8.8.8.8")), "allowed") << prefix;
  }
  EXPECT_EQ(judge("2002:a00:1::5"), "private");
  EXPECT_EQ(judge("2002:808:808::5"), "allowed");
  EXPECT_EQ(embedded_ipv4(address("2001:0:4136:e378:8000:63bf:3fff:fdd2")),
            (std::vector<Address>{ipv4(65, 54, 227, 120), ipv4(192, 0, 2, 45)}));
  EXPECT_EQ(judge("2001:0:4136:e378:8000:63bf:3fff:fdd2"), "documentation");
  EXPECT_EQ(judge("2001:0:4136:e378:8000:63bf:f7f7:f7f7"), "allowed");
  EXPECT_EQ(judge("2a00:1::5efe:a00:1"), "private");
  EXPECT_EQ(judge("2a00:1::200:5efe:a00:1"), "private");
}

TEST(Addresses, are_let_by_that_very_address_or_range_alone) {
  EXPECT_EQ(judge("127.0.0.1", allowing({"127.0.0.1/32"})), "allowed");
  EXPECT_EQ(judge("127.0.0.1", allowing({"127.0.0.1"})), "allowed");
  EXPECT_EQ(judge("127.0.0.2", allowing({"127.0.0.1/32"})), "loopback");
  EXPECT_EQ(judge("127.0.0.2", allowing({"127.0.0.0/8"})), "allowed");
  EXPECT_EQ(judge("::1", allowing({"127.0.0.0/8"})), "loopback");
  EXPECT_EQ(judge("::ffff:127.0.0.1", allowing({"127.0.0.1/32"})), "loopback");
  EXPECT_EQ(judge("64:ff9b::7f00:1", allowing({"0.0.0.0/0"})), "loopback");
  EXPECT_EQ(judge("::ffff:127.0.0.1", allowing({"::ffff:127.0.0.1/128"})), "allowed");
  EXPECT_EQ(judge("fd12::1", allowing({"fd00::/8"})), "allowed");
}

TEST(Addresses, a_metadata_service_needs_an_entry_of_its_own) {
  EXPECT_EQ(judge("169.254.169.254", allowing({"169.254.0.0/16", "0.0.0.0/0"})), "metadata");
  EXPECT_EQ(judge("169.254.169.254", allowing({"169.254.169.254/32"})), "allowed");
  EXPECT_EQ(judge("169.254.1.1", allowing({"169.254.0.0/16"})), "allowed");
  EXPECT_EQ(judge("fd00:ec2::254", allowing({"fd00::/8"})), "metadata");
}

TEST(Addresses, our_own_listeners_are_refused_whatever_is_listed) {
  AddressRules rules = allowing({"127.0.0.0/8", "::1", "::ffff:127.0.0.1", "0.0.0.0", "192.168.1.1"});
  rules.own = {{ipv4(127, 0, 0, 1), 3128}, {ipv4(192, 168, 1, 1), 8080}};
  for (const char* text : {"127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "0.0.0.0", "64:ff9b::7f00:1"})
    EXPECT_EQ(judge(text, rules, 3128), "own_listener") << text;
  EXPECT_EQ(judge("127.0.0.1", rules, 3129), "allowed");
  EXPECT_EQ(judge("192.168.1.1", rules, 8080), "own_listener");
  EXPECT_EQ(judge("::ffff:192.168.1.1", rules, 8080), "own_listener");
  EXPECT_EQ(judge("192.168.1.1", rules, 8081), "allowed");
}

TEST(Addresses, one_bad_answer_refuses_the_set) {
  const AddressRules rules;
  const std::vector<Address> good = {ipv4(8, 8, 8, 8), address("2606:4700::1")};
  EXPECT_FALSE(judge_answers(good, 443, rules));
  for (const char* bad : {"10.0.0.1", "::1", "::ffff:10.0.0.1"}) {
    for (std::size_t at = 0; at <= good.size(); ++at) {
      std::vector<Address> mixed = good;
      mixed.insert(mixed.begin() + static_cast<std::ptrdiff_t>(at), address(bad));
      const auto refusal = judge_answers(mixed, 443, rules);
      ASSERT_TRUE(refusal) << bad << " at " << at;
      EXPECT_EQ(refusal->address, address(bad));
    }
  }
}

TEST(Ranges, have_one_spelling) {
  for (const char* text : {"127.0.0.1/32", "0.0.0.0/0", "10.0.0.0/8", "::/0", "fd00::/8", "::1/128", "172.16.0.0/12"})
    EXPECT_EQ(render_range(parse_range(text).value()), text);
  EXPECT_EQ(render_range(parse_range("127.0.0.1").value()), "127.0.0.1/32");
  for (const char* text :
       {"", "/", "127.0.0.1/", "127.0.0.1/33", "127.0.0.1/8", "127.0.0.1/08", "127.1", "::1/129", "[::1]/128", "a.test",
        "127.0.0.1:80", "10.0.0.0/-1", "10.0.0.0/8/8", "fd00::1/8", "1.2.3.4 ", "::1%lo"})
    EXPECT_FALSE(parse_range(text)) << text;
}

}  // namespace
}  // namespace loom::egress
