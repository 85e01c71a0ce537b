#include <rapidcheck.h>

#include <algorithm>

#include "egress/addresses.h"
#include "egress/headers.h"
#include "egress/judge.h"
#include "egress/redirects.h"
#include "egress/reflection.h"
#include "test/support/property.h"

namespace loom::egress {
namespace {

using test::property;

template <class T>
std::vector<T> some_of(const std::vector<T>& all) {
  std::vector<T> chosen;
  for (const T& one : all) {
    if (*rc::gen::arbitrary<bool>()) chosen.push_back(one);
  }
  return chosen;
}

const std::vector<std::string> kOrigins = {"https://a.test", "https://a.test:8443", "https://b.test"};
const std::vector<std::string> kPaths = {"/", "/v1/", "/v1/x", "/v2/", "/v1/../v2/", "/v1/%2e"};
const std::vector<std::string> kNames = {"accept", "x-one", "x-two"};
const std::vector<std::string> kCredentials = {"gh", "gl"};

OriginEntry any_entry() {
  OriginEntry entry;
  entry.origin = parse_origin(*rc::gen::elementOf(kOrigins), Schemes::kHttpsOnly).value();
  entry.methods = some_of(std::vector<Method>{Method::kGet, Method::kPost, Method::kDelete});
  entry.path_prefixes = some_of(std::vector<std::string>{"/", "/v1/", "/v1/x"});
  entry.headers = some_of(kNames);
  entry.secrets = some_of(kCredentials);
  return entry;
}

EgressPolicy any_policy() {
  EgressPolicy policy;
  const int count = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) policy.origins.push_back(any_entry());
  return policy;
}

// Often one that the policy admits, or nearly: drawn from one of its entries.
Tuple any_tuple(const EgressPolicy& policy) {
  Tuple tuple;
  if (!policy.origins.empty() && *rc::gen::inRange(0, 4) > 0) {
    const OriginEntry& entry = *rc::gen::elementOf(policy.origins);
    tuple.origin = entry.origin;
    tuple.path = entry.path_prefixes.empty() ? "/" : *rc::gen::elementOf(entry.path_prefixes) + "x";
    tuple.method = entry.methods.empty() ? "GET" : std::string(render_method(*rc::gen::elementOf(entry.methods)));
    if (!entry.secrets.empty() && *rc::gen::arbitrary<bool>()) tuple.credential = *rc::gen::elementOf(entry.secrets);
    tuple.header_names = some_of(entry.headers);
    return tuple;
  }
  tuple.origin = parse_origin(*rc::gen::elementOf(kOrigins), Schemes::kHttpsOnly).value();
  tuple.path = *rc::gen::elementOf(kPaths);
  tuple.method = *rc::gen::element<std::string>("GET", "POST", "DELETE", "PUT", "get");
  if (*rc::gen::arbitrary<bool>()) tuple.credential = *rc::gen::elementOf(kCredentials);
  tuple.header_names = some_of(kNames);
  return tuple;
}

// The rule said once more, as a reader of the specification would: some single entry admits every part.
bool admits(const OriginEntry& entry, const Tuple& tuple) {
  const auto has = [](const std::vector<std::string>& list, const std::string& text) {
    return std::count(list.begin(), list.end(), text) > 0;
  };
  const auto method = parse_method(tuple.method);
  return entry.origin == tuple.origin && method &&
         std::count(entry.methods.begin(), entry.methods.end(), *method) > 0 &&
         std::any_of(entry.path_prefixes.begin(), entry.path_prefixes.end(),
                     [&](const std::string& prefix) { return tuple.path.rfind(prefix, 0) == 0; }) &&
         (!tuple.credential || has(entry.secrets, *tuple.credential)) &&
         std::all_of(tuple.header_names.begin(), tuple.header_names.end(),
                     [&](const std::string& name) { return has(entry.headers, name); }) &&
         tuple.path.find("..") == std::string::npos && tuple.path.find("%2e") == std::string::npos;
}

TEST(JudgeProperties, admits_exactly_what_one_entry_admits_whole) {
  int taken = 0;
  property("judge_tuple = some entry admits all", [&] {
    const EgressPolicy policy = any_policy();
    const Tuple tuple = any_tuple(policy);
    const auto verdict = judge_tuple(policy, tuple);
    const bool expected = std::any_of(policy.origins.begin(), policy.origins.end(),
                                      [&](const OriginEntry& entry) { return admits(entry, tuple); });
    RC_ASSERT(verdict.has_value() == expected);
    if (verdict) {
      ++taken;
      RC_ASSERT(admits(policy.origins.at(verdict->entry), tuple));
    } else {
      RC_ASSERT(!failure_message(verdict.error()).empty());
    }
  });
  EXPECT_GT(taken, 30);
}

TEST(JudgeProperties, one_entry_more_never_refuses_what_was_admitted) {
  property("judge is monotone in the entries", [] {
    EgressPolicy policy = any_policy();
    const Tuple tuple = any_tuple(policy);
    const bool before = judge_tuple(policy, tuple).has_value();
    policy.origins.push_back(any_entry());
    RC_ASSERT(!before || judge_tuple(policy, tuple).has_value());
  });
}

TEST(JudgeProperties, a_chain_of_redirects_never_leaves_its_origin) {
  property("every hop followed has the first origin and an entry of its own", [] {
    EgressPolicy policy = any_policy();
    policy.same_host_redirects = 3;
    Judged current;
    current.url = parse_url("https://a.test/v1/x", Schemes::kHttpsOnly).value();
    const Origin first = current.url.origin;
    for (unsigned hops = 0; hops < 6; ++hops) {
      const HopAnswer answer{*rc::gen::element(301, 302, 303, 307, 308),
                             {*rc::gen::element<std::string>("/v1/y", "/v2/", "//b.test/", "https://a.test:8443/v1/",
                                                             "http://a.test/", "x", "?q", "https://a.test/v1/")}};
      const auto next = judge_redirect(policy, current, hops, answer, Reflection());
      if (!next || !next->has_value()) return;
      current = **next;
      RC_ASSERT(current.url.origin == first);
      RC_ASSERT(policy.origins.at(current.entry).origin == first);
      RC_ASSERT(hops < 3U);
    }
  });
}

Address any_address() {
  Address address;
  address.v6 = *rc::gen::arbitrary<bool>();
  for (std::size_t i = 0; i < (address.v6 ? 16U : 4U); ++i) address.bytes[i] = *rc::gen::arbitrary<std::uint8_t>();
  return address;
}

TEST(AddressProperties, an_address_that_carries_a_refused_one_is_refused) {
  property("embedded forms are judged as the IPv4 in them", [] {
    Address inner;
    for (int i = 0; i < 4; ++i)
      inner.bytes[static_cast<std::size_t>(i)] =
          *rc::gen::element<std::uint8_t>(0, 1, 8, 10, 127, 169, 172, 192, 224, 254, 255);
    const std::string form = *rc::gen::element<std::string>("::ffff:", "::", "::ffff:0:", "64:ff9b::", "2a00::5efe:");
    const auto outer = parse_address(form + render_address(inner)).value();
    const bool inner_refused = judge_address(inner, 443, {}).has_value();
    if (inner_refused) RC_ASSERT(judge_address(outer, 443, {}).has_value());
  });
}

TEST(AddressProperties, listing_exactly_an_address_lets_it_and_no_other) {
  property("ip_allow of one address lets one address", [] {
    const Address listed = any_address();
    const Address asked = any_address();
    AddressRules rules;
    rules.allow = {AddressRange{listed, listed.v6 ? 128U : 32U}};
    RC_ASSERT(!judge_address(listed, 443, rules));
    if (!(asked == listed))
      RC_ASSERT(judge_address(asked, 443, rules).has_value() == judge_address(asked, 443, {}).has_value());
    RC_ASSERT(parse_address(render_address(asked)).value() == asked);
  });
}

TEST(HeaderProperties, latin1_comes_back_and_everything_over_it_is_refused) {
  property("to_latin1", [] {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    std::string utf8;
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80) {
        utf8 += c;
      } else {
        utf8 += static_cast<char>(0xc0U | byte >> 6U);
        utf8 += static_cast<char>(0x80U | (byte & 0x3fU));
      }
    }
    RC_ASSERT(to_latin1(utf8) == bytes);
    RC_ASSERT(!to_latin1(utf8 + "\xc4\x80"));
  });
}

TEST(ReflectionProperties, no_secret_is_left_in_scrubbed_text) {
  property("scrub leaves none", [] {
    const auto secret =
        *rc::gen::resize(24, rc::gen::suchThat(rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f)),
                                               [](const std::string& text) { return text.size() >= 8; }));
    const Reflection reflection(secret);
    std::string text = *rc::gen::string<std::string>();
    for (int i = 0; i < 3; ++i) text += secret + *rc::gen::string<std::string>();
    RC_ASSERT(reflection.found_in(text));
    RC_ASSERT(reflection.scrub(text).find(secret) == std::string::npos);
  });
}

}  // namespace
}  // namespace loom::egress
