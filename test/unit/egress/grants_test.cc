#include "egress/grants.h"

#include <gtest/gtest.h>

namespace loom::egress {
namespace {

std::string again(std::string_view text) {
  const auto grant = parse_grant(text);
  return grant ? render_grant(*grant) : grant.error().code;
}

TEST(Grants, are_read_and_have_one_spelling) {
  EXPECT_EQ(again("tool:gh@API.test.:GET+POST"), "tool:gh@api.test:GET+POST");
  EXPECT_EQ(again("tool:gh+gl@b.test:DELETE"), "tool:gh+gl@b.test:DELETE");
  EXPECT_EQ(again("tool:gh@[::1]:GET"), "tool:gh@[::1]:GET");
  EXPECT_EQ(again("tool:gh@10.0.0.1:PUT"), "tool:gh@10.0.0.1:PUT");
  EXPECT_EQ(again("tool::POST"), "tool::POST");
}

TEST(Grants, no_methods_means_get_and_head_and_both_empty_reads_blobs_alone) {
  EXPECT_EQ(again("tool:gh:"), "tool:gh:GET+HEAD");
  EXPECT_EQ(again("tool:gh"), "tool:gh:GET+HEAD");
  EXPECT_EQ(again("tool::"), "tool::");
  EXPECT_TRUE(parse_grant("tool::")->blobs_only());
}

TEST(Grants, refuses_what_could_mean_something_else) {
  for (const char* text : {"",
                           "tool",
                           "tool:",
                           ":",
                           "::",
                           ":gh:GET",
                           "tool:gh:GET:",
                           "tool:gh:GET:x",
                           "tool:gh:get",
                           "tool:gh:GET+",
                           "tool:gh:+GET",
                           "tool:gh:GET+GET",
                           "tool:gh:*",
                           "tool:*:GET",
                           "tool:gh@:GET",
                           "tool:@a.test:GET",
                           "tool:gh@127.1:GET",
                           "tool:gh@a..b:GET",
                           "tool:gh@a.test@b.test:GET",
                           "tool:gh@a.test:443:GET",
                           "tool:gh++gl:GET",
                           "tool:+gh:GET",
                           "../tool:gh:GET",
                           "to/ol:gh:GET",
                           ".tool:gh:GET",
                           "tool: gh:GET",
                           "tool:gh:GET ",
                           "tool:gh@[::1:GET",
                           "tool:gh,gl:GET",
                           "tool:gh:GET,POST"})
    EXPECT_EQ(again(text), "bad_grant") << text;
  EXPECT_EQ(again("tool:" + std::string(2000, 'a') + ":GET"), "bad_grant");
}

TEST(CredentialSources, name_a_variable_and_never_a_value) {
  const auto source = parse_credential_source("gh@ada=GH_TOKEN").value();
  EXPECT_EQ(source.name, "gh");
  EXPECT_EQ(source.principal, "ada");
  EXPECT_EQ(source.env, "GH_TOKEN");
  EXPECT_FALSE(parse_credential_source("gh=GH_TOKEN")->principal);
  for (const char* text :
       {"", "gh", "gh=", "=GH", "gh@=GH", "@ada=GH", "gh=1X", "gh=ghp-secret.value", "gh=A B", "gh=A=B", "g h=A"}) {
    const auto refused = parse_credential_source(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, "bad_credential");
    EXPECT_EQ(refused.error().text().find("secret"), std::string::npos);  // what was given may be the value itself
  }
}

std::string judge(std::initializer_list<const char*> grants, Method method, std::optional<std::string> credential,
                  const char* host = "api.test", std::optional<std::string> owner = {},
                  const std::optional<std::string>& principal = {}) {
  std::vector<Grant> parsed;
  for (const char* text : grants) parsed.push_back(parse_grant(text).value());
  const auto verdict = judge_grants(
      parsed, Wanted{method, std::move(credential), parse_host(host).value(), std::move(owner)}, principal);
  return verdict ? "given" : std::string(failure_code(verdict.error())) + " " + failure_reason(verdict.error());
}

TEST(Grants, one_of_them_must_give_the_whole_call) {
  EXPECT_EQ(judge({"t:gh:GET"}, Method::kGet, "gh"), "given");
  EXPECT_EQ(judge({"t:gh:GET"}, Method::kGet, std::nullopt), "given");
  EXPECT_EQ(judge({"t:gh@api.test:GET"}, Method::kGet, "gh"), "given");
  EXPECT_EQ(judge({"t:gh@api.test:GET"}, Method::kGet, "gh", "other.test"), "not_allowed grant/credentials");
  EXPECT_EQ(judge({"t:gh:GET", "t:gl:POST"}, Method::kPost, "gh"), "not_allowed grant/credentials");
  EXPECT_EQ(judge({"t:gh:GET"}, Method::kPost, "gh"), "method_not_allowed grant/methods");
  EXPECT_EQ(judge({"t::GET"}, Method::kGet, "gh"), "not_allowed grant/credentials");
  EXPECT_EQ(judge({}, Method::kGet, std::nullopt), "not_allowed grant");
  EXPECT_EQ(judge({"t::"}, Method::kGet, std::nullopt), "not_allowed grant");
}

TEST(Grants, an_owned_credential_needs_its_principal) {
  EXPECT_EQ(judge({"t:gh:GET"}, Method::kGet, "gh", "api.test", "ada", "ada"), "given");
  EXPECT_EQ(judge({"t:gh:GET"}, Method::kGet, "gh", "api.test", "ada", "bob"), "not_allowed principal");
  EXPECT_EQ(judge({"t:gh:GET"}, Method::kGet, "gh", "api.test", "ada"), "not_allowed principal");
}

TEST(CallBudgets, are_spent_and_do_not_come_back) {
  CallBudget budget;
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(budget.spend()) << i;
  EXPECT_FALSE(budget.spend());
  EXPECT_FALSE(budget.spend());
}

}  // namespace
}  // namespace loom::egress
