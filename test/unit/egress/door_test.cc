#include "egress/door.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace loom::egress {
namespace {

EgressPolicy policy() {
  EgressPolicy made;
  made.origins = {{parse_origin("https://a.test", Schemes::kHttpsOnly).value(),
                   {Method::kGet, Method::kPost, Method::kPut},
                   {"/v1/"},
                   {"accept"},
                   {"gh"}},
                  {parse_origin("https://10.0.0.1", Schemes::kHttpsOnly).value(), {Method::kPost}, {"/"}, {}, {}}};
  made.secrets = {{"gh", "GH_TOKEN", "authorization", ""}};
  made.request_bytes = 16;
  return made;
}

struct Call {
  std::vector<const char*> grants = {"tool:gh@a.test:POST"};
  CallBudget budget;
  std::optional<std::string> secret = "value";
  std::string document;
  std::string judge() {
    const EgressPolicy under = policy();
    std::vector<Grant> parsed;
    for (const char* text : grants) parsed.push_back(parse_grant(text).value());
    const DoorRules rules{&under, {}, [this](const std::string&) { return secret; }};
    const CallVerdict verdict = judge_call(rules, parsed, budget, std::nullopt, document);
    if (verdict.outcome) return "taken " + verdict.destination;
    const Failure& failure = verdict.outcome.error();
    return std::to_string(door_status(failure)) + " " + std::string(failure_code(failure)) + " " +
           failure_reason(failure);
  }
};

// A call with everything wrong at once; mended one fault after another, it meets the next rule of the order.
TEST(Door, judges_in_the_order_of_the_specification) {
  Call call;
  call.budget = CallBudget(0);
  call.secret = std::nullopt;
  call.grants = {"tool::"};
  call.document = std::string(70000, '{');
  EXPECT_EQ(call.judge(), "403 not_allowed grant");
  call.grants = {"tool::GET"};
  EXPECT_EQ(call.judge(), "413 bad_request ");  // size
  call.document = "{";
  EXPECT_EQ(call.judge(), "400 bad_request ");  // JSON
  const auto document = [&](const std::string& url, const std::string& method, const std::string& headers,
                            const std::string& credential = "") {
    call.document = R"({"url":")" + url + R"(","method":")" + method + R"(","headers":{)" + headers + "}" +
                    (credential.empty() ? "" : R"(,"credential":")" + credential + "\"") + "}";
  };
  document("https://127.1/", "DELETE", R"("Authorization":"x","X":"\n")", "other");
  EXPECT_EQ(call.judge(), "400 header_refused X control");
  document("https://127.1/", "DELETE", R"("Authorization":"x","X":"")", "other");
  EXPECT_EQ(call.judge(), "403 header_refused Authorization reserved");
  document("https://127.1/", "DELETE", R"("X":"")", "other");
  EXPECT_EQ(call.judge(), "400 host_syntax ");
  document("https://c.test/", "DELETE", R"("X":"")", "other");
  EXPECT_EQ(call.judge(), "403 not_allowed calls");
  call.budget = CallBudget();
  EXPECT_EQ(call.judge(), "403 not_allowed /origins");
  document("https://a.test/v1/", "DELETE", R"("X":"")", "other");
  EXPECT_EQ(call.judge(), "403 method_not_allowed /origins/0/methods");
  document("https://10.0.0.1/", "POST", "");
  EXPECT_EQ(call.judge(), "403 address_refused 10.0.0.1 private");
  document("https://a.test/v1/", "POST", "", "gh");
  EXPECT_EQ(call.judge(), "403 method_not_allowed grant/methods");
  call.grants = {"tool::POST"};
  EXPECT_EQ(call.judge(), "403 not_allowed grant/credentials");
  call.grants = {"tool:gh@b.test:POST"};
  EXPECT_EQ(call.judge(), "403 not_allowed grant/credentials");
  call.grants = {"tool:gh@a.test:POST"};
  EXPECT_EQ(call.judge(), "403 secret_missing gh");
  call.secret = "two\nlines";
  EXPECT_EQ(call.judge(), "403 header_refused authorization control");
  call.secret = "value";
  EXPECT_EQ(call.judge(), "taken a.test:443");
}

TEST(Door, a_call_takes_along_what_its_grants_let) {
  const EgressPolicy under = policy();
  const auto methods = [&](std::initializer_list<const char*> grants, const std::string& credential) {
    std::vector<Grant> parsed;
    for (const char* text : grants) parsed.push_back(parse_grant(text).value());
    const DoorRules rules{&under, {}, [](const std::string&) { return "value"; }};
    CallBudget budget;
    const std::string document = R"({"url":"https://a.test/v1/","method":"POST")" + credential + "}";
    return judge_call(rules, parsed, budget, std::nullopt, document).outcome.value().granted_methods.value();
  };
  EXPECT_EQ(methods({"t::POST"}, ""), std::vector<Method>{Method::kPost});
  EXPECT_EQ(methods({"t:gh@a.test:POST", "t::GET"}, R"(,"credential":"gh")"), std::vector<Method>{Method::kPost});
  EXPECT_EQ(methods({"t:gh@a.test:POST", "t::GET"}, ""), (std::vector<Method>{Method::kPost, Method::kGet}));
}

TEST(Door, refused_calls_spend_budget_too) {
  Call call;
  call.document = "no json";
  for (int i = 0; i < 64; ++i) EXPECT_EQ(call.judge(), "400 bad_request ");
  call.document = R"({"url":"https://a.test/v1/","method":"POST"})";
  EXPECT_EQ(call.judge(), "403 not_allowed calls");
}

TEST(Door, the_body_counts_as_it_is_and_not_as_it_is_written) {
  Call call;
  const auto with = [&](const std::string& body) {
    call.document = R"({"url":"https://a.test/v1/","method":"POST","body":)" + body + "}";
    return call.judge();
  };
  EXPECT_EQ(with("\"" + std::string(16, 'x') + "\""), "taken a.test:443");
  EXPECT_EQ(with("\"" + std::string(17, 'x') + "\""), "413 bad_request ");
  EXPECT_EQ(with(R"({"base64":"AAAAAAAAAAAAAAAAAAAAAA=="})"), "taken a.test:443");
  EXPECT_EQ(with(R"({"base64":"AAAAAAAAAAAAAAAAAAAAAAA="})"), "413 bad_request ");
}

TEST(Door, answers_with_status_error_and_code) {
  const auto status = [](Cause cause, Stage stage) { return door_status(Failure{std::move(cause), stage}); };
  EXPECT_EQ(status(TlsFailed{"x"}, Stage::kTls), 502);
  EXPECT_EQ(status(DeadlinePassed{}, Stage::kBody), 502);
  EXPECT_EQ(status(AddressRefused{}, Stage::kResolve), 403);
  const Failure failure{NotAllowed{Rule{RuleKind::kOrigins, std::nullopt}}, Stage::kPolicy};
  EXPECT_EQ(
      render_json(Value(render_door_body(failure))),
      R"({"error":"no entry of the policy has this origin","code":"not_allowed","where":"","stage":"policy","rule":"/origins"})");
}

}  // namespace
}  // namespace loom::egress
