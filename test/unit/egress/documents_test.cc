#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/json.h"
#include "egress/config_document.h"
#include "egress/policy_document.h"
#include "egress/request_document.h"

namespace loom::egress {
namespace {

constexpr const char* kPolicy = R"({"v":1,
  "origins":[{"origin":"https://api.test:8443","methods":["GET","POST"],"path_prefixes":["/v1/"],"headers":["Accept"],
              "secrets":["gh"]}],
  "secrets":{"gh":{"env":"GH_TOKEN","header":"Authorization","prefix":"Bearer "}},
  "redirects":{"same_host":3},"deadline_ms":30000,"request_bytes":1048576,"response_bytes":1048576,
  "trust":{"roots":["ca.pem","/etc/ca.pem"]},"ip_allow":["127.0.0.1/32"],"resolver":"127.0.0.1:5353",
  "response_headers":["Content-Type"]})";

Value document() {
  return parse_json(kPolicy).value();
}
Value& at(Value& value, std::string_view key) {
  for (Member& member : *value.get_if<Map>()) {
    if (member.first == key) return member.second;
  }
  value.get_if<Map>()->emplace_back(std::string(key), Value());
  return value.get_if<Map>()->back().second;
}
void erase(Value& value, std::string_view key) {
  auto& map = *value.get_if<Map>();
  map.erase(std::remove_if(map.begin(), map.end(), [&](const Member& m) { return m.first == key; }), map.end());
}
Value& entry(Value& value) {
  return at(value, "origins").get_if<Array>()->front();
}

// "code where" of the document after a change.
std::string fault(const std::function<void(Value&)>& change) {
  Value value = document();
  change(value);
  const auto policy = decode_egress_policy(value);
  return policy ? "taken" : policy.error().code + " " + policy.error().where;
}

TEST(PolicyDocument, is_read_as_it_is_written) {
  auto policy = decode_egress_policy_bytes(kPolicy).value();
  EXPECT_EQ(render_origin(policy.origins.at(0).origin), "https://api.test:8443");
  EXPECT_EQ(policy.origins[0].methods, (std::vector<Method>{Method::kGet, Method::kPost}));
  EXPECT_EQ(policy.origins[0].headers, std::vector<std::string>{"accept"});
  EXPECT_EQ(policy.find_secret("gh")->header, "authorization");
  EXPECT_EQ(policy.find_secret("gh")->prefix, "Bearer ");
  EXPECT_EQ(policy.find_secret("gx"), nullptr);
  EXPECT_TRUE(policy.binds_header("authorization"));
  EXPECT_EQ(policy.same_host_redirects, 3U);
  EXPECT_EQ(policy.resolver.server->port, 5353);
  EXPECT_EQ(policy.response_headers, std::vector<std::string>{"content-type"});
  anchor_trust(policy, "/dir");
  EXPECT_EQ(policy.trust.files, (std::vector<std::string>{"/dir/ca.pem", "/etc/ca.pem"}));
}

TEST(PolicyDocument, system_roots_and_resolver_and_no_redirects_are_words) {
  Value value = document();
  at(value, "trust") = Map{{"roots", "system"}};
  at(value, "resolver") = "system";
  at(value, "redirects") = "none";
  const auto policy = decode_egress_policy(value).value();
  EXPECT_TRUE(policy.trust.system_roots);
  EXPECT_FALSE(policy.resolver.server);
  EXPECT_EQ(policy.same_host_redirects, 0U);
}

TEST(PolicyDocument, every_key_is_required_and_no_other_is_known_at_every_level) {
  for (const char* key : {"v", "origins", "secrets", "redirects", "deadline_ms", "request_bytes", "response_bytes",
                          "trust", "ip_allow", "resolver", "response_headers"})
    EXPECT_EQ(fault([&](Value& v) { erase(v, key); }), "missing_key /" + std::string(key));
  for (const char* key : {"origin", "methods", "path_prefixes", "headers", "secrets"})
    EXPECT_EQ(fault([&](Value& v) { erase(entry(v), key); }), "missing_key /origins/0/" + std::string(key));
  for (const char* key : {"env", "header", "prefix"})
    EXPECT_EQ(fault([&](Value& v) { erase(at(at(v, "secrets"), "gh"), key); }),
              "missing_key /secrets/gh/" + std::string(key));
  EXPECT_EQ(fault([](Value& v) { at(v, "verify") = false; }), "unknown_key /verify");
  EXPECT_EQ(fault([](Value& v) { at(entry(v), "deny") = Array(); }), "unknown_key /origins/0/deny");
  EXPECT_EQ(fault([](Value& v) { at(at(at(v, "secrets"), "gh"), "value") = "x"; }), "unknown_key /secrets/gh/value");
  EXPECT_EQ(fault([](Value& v) { at(at(v, "trust"), "verify") = false; }), "unknown_key /trust/verify");
  EXPECT_EQ(decode_egress_policy_bytes(R"({"v":1,"v":1})").error().code, "duplicate_key");
  EXPECT_EQ(decode_egress_policy_bytes("{} {}").error().code, "not_canonical_json");
  EXPECT_EQ(decode_egress_policy_bytes("[]").error().code, "wrong_type");
  EXPECT_EQ(fault([](Value& v) { at(v, "v") = 2; }), "unsupported_version /v");
}

TEST(PolicyDocument, names_each_fault_and_its_place) {
  EXPECT_EQ(fault([](Value& v) { at(entry(v), "origin") = "http://api.test"; }), "bad_origin /origins/0/origin");
  EXPECT_EQ(fault([](Value& v) { at(entry(v), "origin") = "https://api.test/"; }), "bad_origin /origins/0/origin");
  EXPECT_EQ(fault([](Value& v) { at(entry(v), "origin") = "https://127.1"; }), "bad_origin /origins/0/origin");
  EXPECT_EQ(fault([](Value& v) { at(entry(v), "methods") = Array{"GET", "get"}; }), "bad_method /origins/0/methods/1");
  EXPECT_EQ(fault([](Value& v) { at(entry(v), "methods") = Array{"CONNECT"}; }), "bad_method /origins/0/methods/0");
  for (const char* prefix : {"", "v1/", "/a/../b", "/%2e", "/a%2Fb", "/a\\b", "/a?b", "/a b", "/\xc3\xbc"})
    EXPECT_EQ(fault([&](Value& v) { at(entry(v), "path_prefixes") = Array{prefix}; }),
              "bad_path_prefix /origins/0/path_prefixes/0")
        << prefix;
  EXPECT_EQ(fault([](Value& v) { at(entry(v), "headers") = Array{"a b"}; }), "bad_header /origins/0/headers/0");
  for (const char* name : {"Host", "cookie", "AUTHORIZATION", "Proxy-Connection", "te"})
    EXPECT_EQ(fault([&](Value& v) { at(entry(v), "headers") = Array{name}; }), "reserved_header /origins/0/headers/0")
        << name;
  EXPECT_EQ(fault([](Value& v) {
              at(at(at(v, "secrets"), "gh"), "header") = "x-key";
              at(entry(v), "headers") = Array{"X-Key"};
            }),
            "reserved_header /origins/0/headers/0");
  EXPECT_EQ(fault([](Value& v) { at(at(at(v, "secrets"), "gh"), "header") = "Host"; }),
            "reserved_header /secrets/gh/header");
  EXPECT_EQ(fault([](Value& v) { at(at(at(v, "secrets"), "gh"), "prefix") = "a\r\nb"; }),
            "bad_header /secrets/gh/prefix");
  EXPECT_EQ(fault([](Value& v) { at(at(at(v, "secrets"), "gh"), "env") = "A=B"; }), "bad_env_name /secrets/gh/env");
  EXPECT_EQ(fault([](Value& v) { at(entry(v), "secrets") = Array{"other"}; }), "unknown_secret /origins/0/secrets/0");
  EXPECT_EQ(fault([](Value& v) {
              Value second = entry(v);
              at(second, "origin") = "https://api.test";
              at(v, "origins").get_if<Array>()->push_back(second);
            }),
            "secret_of_two_origins /origins/1/secrets/0");
  EXPECT_EQ(fault([](Value& v) { at(v, "ip_allow") = Array{"10.0.0.1/8"}; }), "bad_range /ip_allow/0");
  for (const char* text : {"", "System", "dns.test:53", "127.0.0.1", "127.0.0.1:0", "::1:53"})
    EXPECT_EQ(fault([&](Value& v) { at(v, "resolver") = text; }), "bad_resolver /resolver") << text;
  EXPECT_EQ(fault([](Value& v) { at(v, "resolver") = "[::1]:53"; }), "taken");
  EXPECT_EQ(fault([](Value& v) { at(v, "redirects") = "all"; }), "wrong_type /redirects");
  EXPECT_EQ(fault([](Value& v) { at(v, "redirects") = Map{{"same_host", 0}}; }), "out_of_range /redirects/same_host");
  EXPECT_EQ(fault([](Value& v) { at(v, "redirects") = Map{{"same_host", 21}}; }), "out_of_range /redirects/same_host");
  EXPECT_EQ(fault([](Value& v) { at(v, "trust") = Map{{"roots", "off"}}; }), "wrong_type /trust/roots");
  EXPECT_EQ(fault([](Value& v) { at(v, "trust") = Map{{"roots", Array{""}}}; }), "bad_path /trust/roots/0");
}

TEST(PolicyDocument, out_of_range_is_an_error_and_never_clamped) {
  for (const char* key : {"request_bytes", "response_bytes"}) {
    EXPECT_EQ(fault([&](Value& v) { at(v, key) = kMaxBodyBytes; }), "taken");
    EXPECT_EQ(fault([&](Value& v) { at(v, key) = kMaxBodyBytes + 1; }), "out_of_range /" + std::string(key));
    EXPECT_EQ(fault([&](Value& v) { at(v, key) = -1; }), "out_of_range /" + std::string(key));
    EXPECT_EQ(fault([&](Value& v) { at(v, key) = "1"; }), "wrong_type /" + std::string(key));
  }
  EXPECT_EQ(fault([](Value& v) { at(v, "deadline_ms") = 0; }), "out_of_range /deadline_ms");
}

TEST(ConfigDocument, ties_grants_to_credentials_to_secrets) {
  const auto config = [](const std::string& more) {
    return decode_egress_config_bytes(R"({"v":1,"policy":)" + std::string(kPolicy) + more + "}");
  };
  const auto fault = [&](const std::string& more) {
    const auto read = config(more);
    return read ? "taken" : read.error().code + " " + read.error().where;
  };
  auto full =
      config(R"(,"grants":["tool:gh@api.test:GET+POST","other::GET","tool::DELETE"],"credentials":["gh"],"record":"r")")
          .value();
  EXPECT_EQ(full.callers(), (std::vector<std::string>{"tool", "other"}));
  EXPECT_EQ(full.grants_of("tool").size(), 2U);
  EXPECT_TRUE(full.grants_of("nobody").empty());
  anchor(full, "/d");
  EXPECT_EQ(full.record, "/d/r");
  EXPECT_TRUE(config("").value().grants.empty());
  EXPECT_EQ(fault(R"(,"grants":["tool:gh:GET"])"), "unknown_credential /grants/0");
  EXPECT_EQ(fault(R"(,"credentials":["x"])"), "unknown_credential /credentials/0");
  EXPECT_EQ(fault(R"(,"grants":["tool"])"), "bad_grant /grants/0");
  EXPECT_EQ(fault(R"(,"record":"")"), "bad_path /record");
  EXPECT_EQ(fault(R"(,"allow":[])"), "unknown_key /allow");
  EXPECT_EQ(decode_egress_config_bytes(R"({"v":1})").error().code, "missing_key");
  EXPECT_EQ(decode_egress_config_bytes(R"({"v":1,"policy":{}})").error().where, "/policy/v");
}

std::string request_fault(std::string_view json) {
  const auto request = decode_request(json);
  if (request) return "taken";
  const Map told = render_failure(request.error());
  return std::string(failure_code(request.error())) + " " + *Value(told).find("where")->get_if<std::string>() +
         failure_reason(request.error());
}

TEST(RequestDocument, is_read_as_it_is_written) {
  const auto request = decode_request(R"({"url":"https://a.test/x","method":"POST","headers":{"Accept":"t\u00e9xt"},)"
                                      R"("body":{"base64":"AAH/"},"credential":"gh"})")
                           .value();
  EXPECT_EQ(request.body, std::string("\0\x01\xff", 3));
  EXPECT_EQ(request.headers, (std::vector<HeaderField>{{"Accept", "t\xe9xt"}}));
  EXPECT_EQ(request.credential, "gh");
  EXPECT_FALSE(decode_request(R"({"url":"https://a.test/x","method":"GET"})")->has_body);
  EXPECT_TRUE(decode_request(R"({"url":"https://a.test/x","method":"PUT","body":""})")->has_body);
}

TEST(RequestDocument, names_each_fault_and_its_place) {
  const auto with = [](const std::string& more) { return R"({"url":"https://a.test/","method":"GET")" + more + "}"; };
  EXPECT_EQ(request_fault("nothing"), "bad_request ");
  EXPECT_EQ(request_fault("{}"), "bad_request /url");
  EXPECT_EQ(request_fault(R"({"url":"https://a.test/"})"), "bad_request /method");
  EXPECT_EQ(request_fault(with(R"(,"proxy":"x")")), "bad_request /proxy");
  EXPECT_EQ(request_fault(with(R"(,"headers":1)")), "bad_request /headers");
  EXPECT_EQ(request_fault(with(R"(,"headers":[])")), "bad_request ");
  EXPECT_EQ(request_fault(with(R"(,"headers":{"a":1})")), "bad_request /headers/a");
  EXPECT_EQ(request_fault(with(R"(,"body":{"base64":"AB"})")), "bad_request /body/base64");
  EXPECT_EQ(request_fault(with(R"(,"body":{"base64":"AB=="})")), "bad_request /body/base64");  // a bit is left over
  EXPECT_EQ(request_fault(with(R"(,"body":{"base64":"AA==","x":1})")), "bad_request /body/x");
  EXPECT_EQ(request_fault(with(R"(,"credential":"../x")")), "bad_request /credential");
  EXPECT_EQ(request_fault(R"({"url":"https://a.test/#f","method":"GET"})"), "bad_request /url");
  EXPECT_EQ(request_fault(R"({"url":"https://127.1/","method":"GET"})"), "host_syntax ");
}

// A value costs many times the two bytes it may be written with.
TEST(RequestDocument, members_are_counted_before_they_are_made) {
  const auto fault = [](const std::string& json) {
    return *Value(render_failure(decode_request(json).error())).find("message")->get_if<std::string>();
  };
  const std::string refused = "an array, or more members than a request has";
  std::string zeros = "0";
  for (int i = 0; i < 100000; ++i) zeros += ",0";
  EXPECT_EQ(fault("[" + zeros + "]"), refused);
  EXPECT_EQ(fault(R"({"url":[)" + zeros + "]}"), refused);
  std::string members;
  for (int i = 0; i < 1000; ++i) members += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_EQ(fault(R"({"url":0)" + members + "}"), refused);
  // What stands in text is text.
  const std::string text = R"({"url":"https://a.test/","method":"PUT","body":"[)" + zeros + R"(\"[\\"})";
  ASSERT_TRUE(decode_request(text));
  EXPECT_EQ(decode_request(text)->body, "[" + zeros + "\"[\\");
}

TEST(RequestDocument, headers_are_refused_before_anything_is_sent) {
  const auto fault = [](const std::string& headers) {
    return request_fault(R"({"url":"https://a.test/","method":"GET","headers":{)" + headers + "}}");
  };
  EXPECT_EQ(fault(R"("a":"\ttab~\u0080\u00ff")"), "taken");
  EXPECT_EQ(fault(R"("a":"x\r\ny")"), "header_refused a control");
  EXPECT_EQ(fault(R"("a":"x\ny")"), "header_refused a control");
  EXPECT_EQ(fault(R"("a":"x\ry")"), "header_refused a control");
  EXPECT_EQ(fault(R"("a":"x\u0000y")"), "header_refused a control");
  EXPECT_EQ(fault(R"("a":"x\u007fy")"), "header_refused a control");
  EXPECT_EQ(fault(R"("a":"\u0100")"), "header_refused a not_latin1");
  EXPECT_EQ(fault(R"("a":"\ud83d\ude00")"), "header_refused a not_latin1");
  EXPECT_EQ(fault(R"("a\r\nb":"x")"), "header_refused a??b not_a_token");
  EXPECT_EQ(fault(R"("a:":"x")"), "header_refused a: not_a_token");
  EXPECT_EQ(fault(R"("":"x")"), "header_refused not_a_token");
  EXPECT_EQ(fault(R"("\u0100":"x")"), "header_refused ?? not_a_token");
  EXPECT_EQ(fault(R"("A":"x","a":"y")"), "header_refused a twice");
  EXPECT_EQ(fault("\"a\":\"" + std::string(20000, 'x') + "\""), "header_refused a too_many");
}

}  // namespace
}  // namespace loom::egress
