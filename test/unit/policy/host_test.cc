#include "policy/host.h"

#include <gtest/gtest.h>

#include "policy/entry.h"
#include "policy/punycode.h"

namespace loom {
namespace {

std::string host(std::string_view text) {
  const auto parsed = parse_host(text);
  if (!parsed) {
    EXPECT_EQ(parsed.error().code, "host_syntax") << text;
    return "refused";
  }
  return parsed->text;
}

TEST(Host, names_are_lower_cased_and_lose_one_trailing_dot) {
  EXPECT_EQ(host("Example.ORG"), "example.org");
  EXPECT_EQ(host("example.org."), "example.org");
  EXPECT_EQ(host("localhost"), "localhost");
  EXPECT_EQ(host("r3---sn-x.example"), "r3---sn-x.example");
  EXPECT_EQ(host("1password.com"), "1password.com");
}

TEST(Host, refuses_what_other_parsers_would_guess_at) {
  for (const char* text : {"",
                           ".",
                           "..",
                           "a..b",
                           "example.org..",
                           ".example.org",
                           "-a.test",
                           "a-.test",
                           "a_b.test",
                           "a b",
                           "a%2e.test",
                           "\xc3\xbc.test",
                           "user@a.test",
                           "a.test:80",
                           "a.test/x",
                           "a\\b",
                           "fe80::1",
                           "[fe80::1%eth0]",
                           "[::1",
                           "::1]",
                           "[a.test]",
                           "[127.0.0.1]",
                           "*.a.test"})
    EXPECT_EQ(host(text), "refused") << text;
  EXPECT_EQ(host(std::string(64, 'a') + ".test"), "refused");
  EXPECT_EQ(host(std::string(63, 'a') + ".test"), std::string(63, 'a') + ".test");
  std::string longest;
  for (int i = 0; i < 127; ++i) longest += "a.";
  EXPECT_EQ(host(longest), longest.substr(0, 253));
  EXPECT_EQ(host(longest + "a"), "refused");
}

TEST(Host, an_ipv4_address_is_four_decimal_numbers_and_nothing_else_is) {
  EXPECT_EQ(host("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(host("127.0.0.1."), "127.0.0.1");
  for (const char* text : {"127.1", "2130706433", "0x7f.0.0.1", "0x7f000001", "127.0.0.01", "127.0.0.010", "256.0.0.1",
                           "1.2.3.4.5", "1.2.3", "1..2.3", "a.0x1", "a.1", "127.0.0.0x1", "0x"})
    EXPECT_EQ(host(text), "refused") << text;
}

TEST(Host, ipv6_has_one_spelling) {
  EXPECT_EQ(host("[::1]"), "::1");
  EXPECT_EQ(host("[::]"), "::");
  EXPECT_EQ(host("[2001:DB8:0:0:0:0:0:1]"), "2001:db8::1");
  EXPECT_EQ(host("[2001:db8:0:1:1:1:1:1]"), "2001:db8:0:1:1:1:1:1");
  EXPECT_EQ(host("[1:0:0:2:0:0:0:3]"), "1:0:0:2::3");
  EXPECT_EQ(host("[1:0:0:2:2:0:0:3]"), "1::2:2:0:0:3");
  EXPECT_EQ(host("[::ffff:1.2.3.4]"), "::ffff:102:304");
  EXPECT_EQ(host("[1::]"), "1::");
  for (const char* text :
       {"[]", "[:]", "[:::]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1::2::3]", "[12345::]", "[g::]",
        "[1:2:3:4:5:6:7:8::]", "[::1.2.3]", "[1.2.3.4::]", "[::1.2.3.4:5]", "[:1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:]"})
    EXPECT_EQ(host(text), "refused") << text;
}

TEST(Host, xn_labels_must_be_punycode_of_something_beyond_ascii) {
  EXPECT_EQ(host("xn--bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_TRUE(is_punycode("fiqs8s"));    // two Chinese characters
  EXPECT_TRUE(is_punycode("e1afmkfd"));  // Cyrillic
  EXPECT_TRUE(is_punycode("ihqwcrb4cv8a8dqg056pqjye"));
  for (const char* text : {"", "-", "abc-", "99999999", "a-9999999999", "kva_", "KVA"})
    EXPECT_FALSE(is_punycode(text)) << text;
  EXPECT_EQ(host("xn--.example"), "refused");
  EXPECT_EQ(host("xn--abc-.example"), "refused");
}

TEST(Host, ports_are_decimal_without_leading_zeros) {
  EXPECT_EQ(parse_port("1").value(), 1);
  EXPECT_EQ(parse_port("65535").value(), 65535);
  for (const char* text : {"", "0", "00", "080", "65536", "99999999999", "-1", "+1", " 1", "1 ", "0x50"})
    EXPECT_FALSE(parse_port(text)) << text;
}

std::string entry(std::string_view text) {
  const auto parsed = parse_entry(text);
  if (!parsed) {
    EXPECT_EQ(parsed.error().code, "bad_entry") << text;
    return "refused";
  }
  return render_entry(*parsed);
}

bool covers_entry(std::string_view wide, std::string_view narrow) {
  return entry_covers(parse_entry(wide).value(), parse_entry(narrow).value());
}

TEST(Entry, has_one_spelling) {
  EXPECT_EQ(entry("Example.org.:443"), "example.org");
  EXPECT_EQ(entry("*.Example.org:8443"), "*.example.org:8443");
  EXPECT_EQ(entry("http://Mirror.test:80"), "http://mirror.test");
  EXPECT_EQ(entry("http://mirror.test:443"), "http://mirror.test:443");
  EXPECT_EQ(entry("[2001:DB8::1]:8443"), "[2001:db8::1]:8443");
  EXPECT_EQ(entry("[2001:db8::1]"), "2001:db8::1");
  EXPECT_EQ(entry("2001:db8::/32"), "2001:db8::/32");
  EXPECT_EQ(entry("[2001:db8::]/32:8443"), "[2001:db8::]/32:8443");
  EXPECT_EQ(entry("10.0.0.0/8:8443"), "10.0.0.0/8:8443");
  EXPECT_EQ(entry("10.0.0.1/32"), "10.0.0.1");
  EXPECT_EQ(entry("0.0.0.0/0"), "0.0.0.0/0");
}

TEST(Entry, refuses_what_names_no_host_or_too_many) {
  for (const char* text : {"",
                           "*",
                           "*.",
                           "*:443",
                           "**.a.test",
                           "a.*.test",
                           "*a.test",
                           "*.*.test",
                           "*.1.2.3.4",
                           "https://a.test",
                           "ftp://a.test",
                           "http://",
                           "a.test/",
                           "a.test/x",
                           "http://a.test/",
                           "a.test:0",
                           "a.test:",
                           "a.test:80:80",
                           "10.0.0.1/8",
                           "10.0.0.0/33",
                           "10.0.0.0/08",
                           "10.0.0.0/",
                           "2001:db8::1/32",
                           "[::1",
                           "a b.test",
                           "a.test,b.test",
                           "user@a.test",
                           "\xff"})
    EXPECT_EQ(entry(text), "refused") << text;
}

TEST(Entry, a_wildcard_is_one_or_more_labels_and_never_the_apex) {
  EXPECT_TRUE(covers_entry("*.a.test", "b.a.test"));
  EXPECT_TRUE(covers_entry("*.a.test", "c.b.a.test"));
  EXPECT_TRUE(covers_entry("*.a.test", "*.b.a.test"));
  EXPECT_TRUE(covers_entry("*.a.test", "*.a.test"));
  EXPECT_FALSE(covers_entry("*.a.test", "a.test"));
  EXPECT_FALSE(covers_entry("*.a.test", "xa.test"));
  EXPECT_FALSE(covers_entry("*.b.a.test", "*.a.test"));
  EXPECT_FALSE(covers_entry("a.test", "*.a.test"));
}

TEST(Entry, scheme_and_port_must_be_the_same) {
  EXPECT_FALSE(covers_entry("a.test", "http://a.test"));
  EXPECT_FALSE(covers_entry("http://a.test:443", "a.test"));
  EXPECT_FALSE(covers_entry("a.test", "a.test:8443"));
  EXPECT_TRUE(covers_entry("a.test:443", "a.test"));
}

TEST(Entry, a_range_covers_what_lies_in_it_within_one_family) {
  EXPECT_TRUE(covers_entry("10.0.0.0/8", "10.1.0.0/16"));
  EXPECT_TRUE(covers_entry("10.0.0.0/8", "10.1.2.3"));
  EXPECT_FALSE(covers_entry("10.1.0.0/16", "10.0.0.0/8"));
  EXPECT_FALSE(covers_entry("0.0.0.0/0", "::1"));
  EXPECT_TRUE(covers_entry("2001:db8::/33", "2001:db8:7fff::"));
  EXPECT_FALSE(covers_entry("2001:db8::/33", "2001:db8:8000::"));
  EXPECT_FALSE(covers_entry("0.0.0.0/0", "a.test"));
}

}  // namespace
}  // namespace loom
