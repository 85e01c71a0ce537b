#include "egress/url.h"

#include <gtest/gtest.h>

#include "egress/judge.h"
#include "test/support/host_table.h"

namespace loom::egress {
namespace {

Url url(std::string_view text) {
  auto parsed = parse_url(text, Schemes::kHttpsAndHttp);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Url{};
}

std::string code_of(std::string_view text, Schemes schemes = Schemes::kHttpsOnly) {
  const auto parsed = parse_url(text, schemes);
  return parsed ? "taken" : std::string(failure_code(parsed.error()));
}

// What a request for this authority meets, under a policy that lists its canonical host: as hosts.tsv writes it.
std::string verdict_of(const test::HostRow& row) {
  const auto parsed = parse_url("https://" + row.authority + "/", Schemes::kHttpsOnly);
  if (!parsed) return std::string(failure_code(parsed.error()));
  EXPECT_EQ(parsed->origin.host.text, row.canonical) << row.authority;
  EgressPolicy policy;
  policy.origins.push_back({parsed->origin, {Method::kGet}, {"/"}, {}, {}});
  Request request;
  request.url = *parsed;
  request.method = "GET";
  const auto judged = judge_request(policy, request);
  if (judged) return parsed->origin.host.kind == HostKind::kName ? "name" : "public";
  const auto* refused = std::get_if<AddressRefused>(&judged.error().cause);
  return std::string(failure_code(judged.error())) +
         (refused != nullptr ? " " + std::string(render_fault(refused->why)) : "");
}

TEST(HostTable, a_request_gives_the_verdict_of_every_row) {
  for (const test::HostRow& row : test::host_rows())
    EXPECT_EQ(verdict_of(row), row.verdict + (row.why.empty() ? "" : " " + row.why)) << row.authority;
}

TEST(HostTable, a_connect_target_gives_the_same_hosts) {
  for (const test::HostRow& row : test::host_rows()) {
    const auto parsed = parse_host_port(row.has_port() ? row.authority : row.authority + ":443");
    EXPECT_EQ(parsed.has_value(), row.verdict != "host_syntax") << row.authority;
    if (parsed) {
      EXPECT_EQ(parsed->host.text, row.canonical);
    }
  }
}

TEST(Url, an_absent_port_is_the_schemes_own) {
  EXPECT_EQ(url("https://a.test").origin, url("https://a.test:443/").origin);
  EXPECT_NE(url("https://a.test").origin, url("https://a.test:8443/").origin);
  EXPECT_EQ(url("http://a.test/").origin.port, 80);
  EXPECT_NE(url("http://a.test:443/").origin, url("https://a.test/").origin);
  EXPECT_EQ(render_origin(url("HTTPS://A.test.:443/x").origin), "https://a.test");
  EXPECT_EQ(render_origin(url("https://[::1]:8443").origin), "https://[::1]:8443");
  EXPECT_EQ(render_host_port(url("https://[::1]").origin.host, 443), "[::1]:443");
}

TEST(Url, path_and_query_are_kept_as_they_are_written) {
  EXPECT_EQ(url("https://a.test").target(), "/");
  EXPECT_EQ(url("https://a.test?q").target(), "/?q");
  EXPECT_EQ(url("https://a.test/a//b%2F/?x=1&y[]=?/").target(), "/a//b%2F/?x=1&y[]=?/");
  EXPECT_EQ(url("https://a.test/?").target(), "/?");
}

TEST(Url, refuses_what_other_parsers_repair) {
  for (const char* text : {"",
                           "a.test",
                           "//a.test/",
                           "https:a.test",
                           "https:/a.test",
                           "ftp://a.test/",
                           " https://a.test",
                           "https://a.test/ ",
                           "https://a.test/a b",
                           "https://a.test/\t",
                           "https://a.test/#f",
                           "https://a.test#f",
                           "https://a.test/?q#f",
                           "https://a.test/a\\b",
                           "https://a.test/%",
                           "https://a.test/%2",
                           "https://a.test/%zz",
                           "https://a.test/\xc3\xbc",
                           "https://a.test/\"",
                           "https://a.test/<x>",
                           "https://a.test/?q={x}",
                           "https://a.test/\x7f",
                           "javascript:x",
                           "file:///etc/passwd",
                           "gopher://a.test/"})
    EXPECT_EQ(code_of(text), "bad_request") << text;
  EXPECT_EQ(code_of(std::string("https://a.test/\0x", 17)), "bad_request");
  EXPECT_EQ(code_of("https://a.test/" + std::string(9000, 'a')), "bad_request");
  for (const char* text : {"https:///h", "https://", "https://?q", "https://a.test\\/x", "https://a.test:0/"})
    EXPECT_EQ(code_of(text), "host_syntax") << text;
}

TEST(Url, plain_http_is_refused_as_a_rule_not_as_syntax) {
  EXPECT_EQ(code_of("http://a.test/"), "not_allowed");
  EXPECT_EQ(code_of("http://a.test/", Schemes::kHttpsAndHttp), "taken");
  EXPECT_EQ(code_of("http://127.1/"), "host_syntax");
}

TEST(Url, an_origin_has_nothing_behind_it) {
  EXPECT_EQ(render_origin(parse_origin("https://A.test:443", Schemes::kHttpsOnly).value()), "https://a.test");
  for (const char* text : {"https://a.test/", "https://a.test?q", "https://a.test/x", "http://a.test", "a.test",
                           "https://", "https://u@a.test", "https://127.1"})
    EXPECT_EQ(parse_origin(text, Schemes::kHttpsOnly).error().code, "bad_origin") << text;
}

TEST(Url, records_leave_out_the_values_of_the_query) {
  EXPECT_EQ(render_without_values(url("https://a.test/p?key=K&b=&bare&x=1=2")), "https://a.test/p?key=&b=&&x=");
  EXPECT_EQ(render_without_values(url("https://a.test/p")), "https://a.test/p");
  EXPECT_EQ(render_without_values(url("https://a.test/" + std::string(3000, 'a'))).size(), 512U);
}

std::string resolved(std::string_view base, std::string_view reference) {
  const auto target = resolve_reference(url(base), reference, Schemes::kHttpsAndHttp);
  return target ? render_url(*target) : "refused";
}

TEST(Reference, is_taken_relative_to_the_url_it_came_from) {
  const std::string base = "https://a.test:8443/d/e?q=1";
  EXPECT_EQ(resolved(base, "https://b.test/x"), "https://b.test/x");
  EXPECT_EQ(resolved(base, "http://a.test/"), "http://a.test/");
  EXPECT_EQ(resolved(base, "//c.test/y"), "https://c.test/y");
  EXPECT_EQ(resolved(base, "/y?z"), "https://a.test:8443/y?z");
  EXPECT_EQ(resolved(base, "f"), "https://a.test:8443/d/f");
  EXPECT_EQ(resolved(base, "f/g:h"), "https://a.test:8443/d/f/g:h");
  EXPECT_EQ(resolved(base, "?z"), "https://a.test:8443/d/e?z");
  EXPECT_EQ(resolved(base, ""), "https://a.test:8443/d/e?q=1");
}

TEST(Reference, refuses_what_would_have_to_be_repaired) {
  for (const char* text : {"../x",
                           "./x",
                           "/a/../b",
                           "..",
                           "x#f",
                           "#f",
                           "\\\\b.test",
                           "/\\b.test",
                           "ftp://b.test/",
                           "mailto:x",
                           "https:/b.test",
                           "https:b",
                           "//",
                           "///b",
                           "//u@b.test/",
                           "/a\r\nb",
                           "/a b",
                           "/\xc3\xbc",
                           "https://127.1/",
                           "javascript:alert(1)"})
    EXPECT_EQ(resolved("https://a.test/d/e", text), "refused") << text;
}

}  // namespace
}  // namespace loom::egress
