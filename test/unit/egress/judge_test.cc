#include "egress/judge.h"

#include <gtest/gtest.h>

#include "egress/grants.h"
#include "egress/redirects.h"
#include "egress/secrets.h"

namespace loom::egress {
namespace {

Origin origin(std::string_view text) {
  return parse_origin(text, Schemes::kHttpsAndHttp).value();
}

EgressPolicy policy() {
  EgressPolicy made;
  made.origins = {{origin("https://a.test"), {Method::kGet}, {"/v1/"}, {"accept"}, {}},
                  {origin("https://a.test"), {Method::kPost}, {"/v1/write/"}, {"content-type"}, {"gh"}},
                  {origin("https://b.test:8443"), {Method::kGet, Method::kDelete}, {"/"}, {}, {}}};
  made.secrets = {{"gh", "GH_TOKEN", "x-key", "Bearer "}};
  made.request_bytes = 10;
  made.same_host_redirects = 2;
  return made;
}

// "entry 0", or the code and what it names.
std::string judge(const std::string& url, const std::string& method, std::optional<std::string> credential = {},
                  std::vector<std::string> headers = {}) {
  const auto parsed = parse_url(url, Schemes::kHttpsAndHttp).value();
  const auto verdict =
      judge_tuple(policy(), Tuple{parsed.origin, parsed.path, method, std::move(credential), std::move(headers)});
  if (verdict) return "entry " + std::to_string(verdict->entry);
  return std::string(failure_code(verdict.error())) + " " + failure_reason(verdict.error());
}

TEST(Judge, one_entry_must_admit_the_whole_tuple) {
  EXPECT_EQ(judge("https://a.test/v1/x", "GET"), "entry 0");
  EXPECT_EQ(judge("https://a.test:443/v1/x", "GET", {}, {"ACCEPT"}), "entry 0");
  EXPECT_EQ(judge("https://a.test/v1/write/x", "POST", "gh", {"content-type"}), "entry 1");
  EXPECT_EQ(judge("https://b.test:8443/any", "DELETE"), "entry 2");
  // Each half of these is admitted by one entry, the whole by none.
  EXPECT_EQ(judge("https://a.test/v1/x", "POST"), "method_not_allowed /origins/0/methods");
  EXPECT_EQ(judge("https://a.test/v1/write/x", "GET", "gh"), "not_allowed /origins/0/secrets");
  EXPECT_EQ(judge("https://a.test/v1/write/x", "POST", "gh", {"accept"}), "header_refused accept not_listed");
  EXPECT_EQ(judge("https://b.test:8443/x", "GET", "gh"), "not_allowed /origins/2/secrets");
}

TEST(Judge, names_the_rule_that_decided) {
  EXPECT_EQ(judge("https://c.test/", "GET"), "not_allowed /origins");
  EXPECT_EQ(judge("https://a.test:8443/v1/", "GET"), "not_allowed /origins");
  EXPECT_EQ(judge("https://sub.a.test/v1/", "GET"), "not_allowed /origins");
  EXPECT_EQ(judge("http://a.test:443/v1/", "GET"), "not_allowed scheme");
  EXPECT_EQ(judge("https://a.test/v2/", "GET"), "not_allowed /origins/0/path_prefixes");
  EXPECT_EQ(judge("https://a.test/v1", "GET"), "not_allowed /origins/0/path_prefixes");
  EXPECT_EQ(judge("https://a.test/V1/", "GET"), "not_allowed /origins/0/path_prefixes");
  for (const char* method : {"get", "TRACE", "CONNECT", "OPTIONS", "", "GET ", "G\r\nET"})
    EXPECT_EQ(judge("https://a.test/v1/", method), "method_not_allowed method_set") << method;
}

TEST(Judge, a_path_that_could_be_read_in_two_ways_is_refused_and_not_normalised) {
  for (const char* path :
       {"/v1/../v2", "/v1/..", "/v1/./x", "/v1/.", "/v1/%2e%2e/x", "/v1/%2E/x", "/v1/.%2e/", "/v1/a%2fb", "/v1/a%2Fb",
        "/v1/a%5cb", "/v1/a%5Cb", "/v1/..;/x", "/v1/.;a=b/x", "/../v1/", "/..", "/."})
    EXPECT_EQ(judge("https://a.test" + std::string(path), "GET"), "not_allowed path_form") << path;
  EXPECT_TRUE(is_ambiguous_path("/v1/a\\b"));
  for (const char* path : {"/v1/...", "/v1/.x", "/v1/x.", "/v1/a..b", "/v1/%41", "/v1/;", "/v1//x", "/v1/x;.."})
    EXPECT_EQ(judge("https://a.test" + std::string(path), "GET"), "entry 0") << path;
}

TEST(Judge, an_empty_list_allows_nothing) {
  for (int list = 0; list < 3; ++list) {
    EgressPolicy narrow = policy();
    if (list == 0) narrow.origins.clear();
    if (list == 1) narrow.origins[2].methods.clear();
    if (list == 2) narrow.origins[2].path_prefixes.clear();
    EXPECT_FALSE(judge_tuple(narrow, Tuple{origin("https://b.test:8443"), "/", "GET", {}, {}})) << list;
  }
}

std::string judge_whole(Request request) {
  const auto judged = judge_request(policy(), std::move(request));
  return judged ? "taken" : std::string(failure_code(judged.error())) + " " + failure_reason(judged.error());
}
Request request(const std::string& url) {
  Request made;
  made.url = parse_url(url, Schemes::kHttpsAndHttp).value();
  made.method = "GET";
  return made;
}

TEST(Judge, headers_of_the_client_and_of_bound_secrets_are_not_the_callers) {
  for (const char* name : {"Host", "content-length", "Transfer-Encoding", "Connection", "Proxy-Authorization",
                           "proxy-x", "TE", "Upgrade", "Expect", "Cookie", "Authorization", "X-Key", "x-key"}) {
    Request asked = request("https://a.test/v1/");
    asked.headers = {{name, "v"}};
    EXPECT_EQ(judge_whole(asked), "header_refused " + std::string(name) + " reserved");
  }
}

TEST(Judge, the_body_is_bounded_and_an_address_is_judged_without_a_lookup) {
  Request large = request("https://a.test/v1/");
  large.body = std::string(11, 'x');
  EXPECT_EQ(judge_whole(large), "bad_request ");
  large.body.pop_back();
  EXPECT_EQ(judge_whole(large), "taken");
  EgressPolicy addressed = policy();
  addressed.origins[0].origin = origin("https://127.0.0.1");
  const auto refused = judge_request(addressed, request("https://127.0.0.1/v1/"));
  EXPECT_EQ(failure_reason(refused.error()), "127.0.0.1 loopback");
  addressed.ip_allow = {parse_range("127.0.0.1").value()};
  EXPECT_TRUE(judge_request(addressed, request("https://127.0.0.1/v1/")));
  const auto own = judge_request(addressed, request("https://127.0.0.1/v1/"), {{ipv4(127, 0, 0, 1), 443}});
  EXPECT_EQ(failure_reason(own.error()), "127.0.0.1 own_listener");
}

Judged hop(const std::string& url, Method method = Method::kGet) {
  Judged made;
  made.url = parse_url(url, Schemes::kHttpsAndHttp).value();
  made.method = method;
  return made;
}
// "GET https://...", "handed back", or the fault.
std::string redirect(const Judged& from, int status, std::vector<std::string> locations, unsigned hops = 0,
                     const EgressPolicy& under = policy(), const Reflection& secrets = Reflection()) {
  const auto next = judge_redirect(under, from, hops, HopAnswer{status, std::move(locations)}, secrets);
  if (next)
    return next->has_value() ? std::string(render_method((*next)->method)) + " " + render_url((*next)->url)
                             : "handed back";
  const auto& refused = std::get<RedirectRefused>(next.error().cause);
  return std::string(render_fault(refused.why)) + (refused.to.empty() ? "" : " " + refused.to);
}

TEST(Redirects, are_followed_inside_the_origin_and_at_most_n_times) {
  const Judged from = hop("https://a.test/v1/x");
  EXPECT_EQ(redirect(from, 302, {"/v1/y"}), "GET https://a.test/v1/y");
  EXPECT_EQ(redirect(from, 302, {"https://a.test:443/v1/y"}, 1), "GET https://a.test/v1/y");
  EXPECT_EQ(redirect(from, 302, {"/v1/y"}, 2), "too_many https://a.test");
  EXPECT_EQ(redirect(from, 302, {"https://b.test:8443/"}), "other_origin https://b.test:8443");
  EXPECT_EQ(redirect(from, 302, {"https://a.test:8443/v1/"}), "other_origin https://a.test:8443");
  EXPECT_EQ(redirect(from, 302, {"http://a.test/v1/"}), "other_origin http://a.test");
  EXPECT_EQ(redirect(from, 302, {"//evil.test/v1/"}), "other_origin https://evil.test");
  EXPECT_EQ(redirect(from, 302, {"https://10.0.0.1/"}), "other_origin https://10.0.0.1");
  EXPECT_EQ(redirect(from, 302, {"https://a.test@b.test/"}), "syntax");
}

TEST(Redirects, each_hop_is_judged_whole) {
  const Judged from = hop("https://a.test/v1/x");
  EXPECT_EQ(redirect(from, 302, {"/v2/"}), "not_allowed https://a.test");
  EXPECT_EQ(redirect(from, 302, {"/v1/%2e%2e/v2"}), "not_allowed https://a.test");
  Judged carrying = hop("https://a.test/v1/write/x", Method::kPost);
  carrying.credential = "gh";
  EXPECT_EQ(redirect(carrying, 307, {"/v1/write/y"}), "POST https://a.test/v1/write/y");
  EXPECT_EQ(redirect(carrying, 307, {"/v1/x"}), "method https://a.test");
  EXPECT_EQ(redirect(carrying, 303, {"/v1/write/y"}), "not_allowed https://a.test");  // GET may not carry gh
}

TEST(Redirects, what_cannot_be_judged_is_refused) {
  const Judged from = hop("https://a.test/v1/x");
  EXPECT_EQ(redirect(from, 302, {"/v1/y", "/v1/y"}), "several_locations");
  for (const char* location :
       {"/v1/\ry", "/v1/y\n", "/v1/ y", "../y", "/v1/y#f", "ftp://a.test/", "\\\\b.test", "https://127.1/", "/v1/\x7f"})
    EXPECT_EQ(redirect(from, 302, {location}), "syntax") << location;
}

TEST(Redirects, other_answers_and_other_policies_hand_it_back) {
  const Judged from = hop("https://a.test/v1/x");
  for (const int status : {200, 300, 304, 305, 306, 399, 404})
    EXPECT_EQ(redirect(from, status, {"/v1/y"}), "handed back") << status;
  EXPECT_EQ(redirect(from, 302, {}), "handed back");
  EgressPolicy none = policy();
  none.same_host_redirects = 0;
  EXPECT_EQ(redirect(from, 302, {"https://b.test:8443/"}, 0, none), "handed back");
}

TEST(Redirects, a_303_and_a_301_or_302_after_post_become_a_get_without_a_body) {
  EgressPolicy wide = policy();
  wide.origins = {{origin("https://a.test"),
                   {Method::kGet, Method::kHead, Method::kPost, Method::kPut},
                   {"/"},
                   {"content-type", "accept"},
                   {}}};
  struct Row {
    int status;
    Method method;
    Method then;
  };
  for (const Row& row : {Row{301, Method::kPost, Method::kGet}, Row{302, Method::kPost, Method::kGet},
                         Row{303, Method::kPost, Method::kGet}, Row{307, Method::kPost, Method::kPost},
                         Row{308, Method::kPost, Method::kPost}, Row{301, Method::kPut, Method::kPut},
                         Row{303, Method::kPut, Method::kGet}, Row{303, Method::kHead, Method::kHead}}) {
    Judged from = hop("https://a.test/x", row.method);
    from.body = "b";
    from.has_body = true;
    from.headers = {{"Content-Type", "t"}, {"Accept", "t"}};
    const auto next = judge_redirect(wide, from, 0, {row.status, {"/y"}}, Reflection()).value().value();
    EXPECT_EQ(next.method, row.then) << row.status;
    const bool keeps = row.then == row.method;
    EXPECT_EQ(next.has_body, keeps) << row.status;
    EXPECT_EQ(next.body, keeps ? "b" : "");
    EXPECT_EQ(next.headers.size(), keeps ? 2U : 1U);
  }
  wide.origins[0].methods = {Method::kPost};
  EXPECT_EQ(redirect(hop("https://a.test/x", Method::kPost), 303, {"/y"}, 0, wide), "method https://a.test");
}

TEST(Redirects, a_method_that_changes_is_held_to_the_grants_too) {
  EgressPolicy wide = policy();
  wide.origins = {{origin("https://a.test"), {Method::kGet, Method::kPost}, {"/"}, {}, {}}};
  Judged from = hop("https://a.test/x", Method::kPost);
  EXPECT_EQ(redirect(from, 303, {"/y"}, 0, wide), "GET https://a.test/y");
  from.granted_methods = {Method::kPost};
  EXPECT_EQ(redirect(from, 303, {"/y"}, 0, wide), "method https://a.test");
  EXPECT_EQ(redirect(from, 307, {"/y"}, 0, wide), "POST https://a.test/y");
  from.granted_methods = {Method::kPost, Method::kGet};
  EXPECT_EQ(redirect(from, 303, {"/y"}, 0, wide), "GET https://a.test/y");
}

TEST(Redirects, a_secret_in_the_place_it_leads_to_is_not_told) {
  EXPECT_EQ(redirect(hop("https://a.test/v1/x"), 302, {"https://s3cr3t-value.evil.test/"}, 0, policy(),
                     Reflection("s3cr3t-value")),
            "other_origin https://[secret].evil.test");
}

TEST(Secrets, are_read_or_refused_by_name) {
  const SecretBinding binding = {"gh", "GH_TOKEN", "authorization", "Bearer "};
  const auto reading = [&](std::optional<std::string> value) {
    const auto secret = read_secret(binding, [&](const std::string& name) {
      EXPECT_EQ(name, "GH_TOKEN");
      return value;
    });
    if (secret) return "value " + std::string(secret->reveal());
    EXPECT_EQ(secret.error().stage, Stage::kSecret);
    return std::string(failure_code(secret.error())) + " " + failure_reason(secret.error());
  };
  EXPECT_EQ(reading("abc"), "value abc");
  EXPECT_EQ(reading(std::nullopt), "secret_missing gh");
  EXPECT_EQ(reading(""), "secret_missing gh");
  for (const char* value : {"a\n", "a\r\nX: y", "\x01", "\x7f"})
    EXPECT_EQ(reading(value), "header_refused authorization control");
}

TEST(Secrets, leave_nothing_behind_when_they_move) {
  Secret first(std::string("short"));
  const Secret second = std::move(first);
  EXPECT_EQ(first.reveal(), "");  // NOLINT(bugprone-use-after-move): that nothing is left is what is asked
  EXPECT_EQ(second.reveal(), "short");
}

}  // namespace
}  // namespace loom::egress
