#include "egress/answer.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/json.h"
#include "egress/base64.h"

namespace loom::egress {
namespace {

EgressPolicy policy_listing(std::vector<std::string> names) {
  EgressPolicy policy;
  policy.response_headers = std::move(names);
  return policy;
}
ResponseHead head_with(std::vector<HeaderField> headers) {
  ResponseHead head;
  head.status = 200;
  head.headers = std::move(headers);
  return head;
}
Outcome<Answer> compose(std::string body, const std::string& secret = "", std::vector<HeaderField> headers = {}) {
  const EgressPolicy policy = policy_listing({"content-type", "x-a"});
  return compose_answer(policy, secret.empty() ? Reflection() : Reflection(secret), head_with(std::move(headers)),
                        std::move(body));
}
std::string rendered(const Answer& answer, std::string_view key) {
  const Value map = render_answer(answer);
  return render_json(*map.find(key));
}

TEST(Answer, HandsBackTheListedHeadersAlone) {
  const auto answer = compose(
      "", "", {{"Content-Type", "text/plain"}, {"Set-Cookie", "a=b"}, {"X-A", "1"}, {"Server", "x"}, {"x-a", "2"}});
  EXPECT_EQ(rendered(*answer, "headers"), R"({"content-type":"text/plain","x-a":["1","2"]})");
  const auto none = compose_answer(policy_listing({}), Reflection(), head_with({{"Content-Type", "text/plain"}}), "");
  EXPECT_EQ(rendered(*none, "headers"), "{}");
}

TEST(Answer, ShowsTheBytesOfAHeaderAsLatin1) {
  EXPECT_EQ(rendered(*compose("", "", {{"X-A", "caf\xe9"}}), "headers"), "{\"x-a\":\"caf\xc3\xa9\"}");
}

TEST(Answer, HasItsBodyAsTextOrAsBase64) {
  EXPECT_EQ(rendered(*compose("gr\xc3\xbc\xc3\x9f"), "body"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(rendered(*compose("\xff\xfe"), "body"), R"({"base64":"//4="})");
  EXPECT_EQ(rendered(*compose("\xff\xfe"), "bytes"), "2");
  EXPECT_EQ(rendered(*compose("abc"), "sha256"),
            "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"");
}

TEST(Answer, ReplacesAReflectedSecretInTextAndInHeaders) {
  const auto answer = compose("you sent s3cret-value", "s3cret-value", {{"X-A", "s3cret-value"}});
  EXPECT_EQ(answer->body, "you sent [secret]");
  EXPECT_EQ(rendered(*answer, "headers"), R"({"x-a":"[secret]"})");
  EXPECT_TRUE(answer->scrubbed);
  EXPECT_EQ(rendered(*answer, "sha256"), "\"" + sha256_hex("you sent [secret]") + "\"");
  EXPECT_FALSE(compose("nothing of it", "s3cret-value")->scrubbed);
}

TEST(Answer, RefusesABinaryBodyThatReflectsASecret) {
  const auto answer = compose("\xff s3cret-value", "s3cret-value");
  ASSERT_FALSE(answer);
  EXPECT_EQ(failure_code(answer.error()), "upstream");
  EXPECT_EQ(failure_message(answer.error()).find("s3cret"), std::string::npos);
  EXPECT_TRUE(compose("\xff something else", "s3cret-value"));
}

TEST(Answer, ItsUrlIsWithoutASecretThatTheUpstreamPutThere) {
  const Reflection secret("s3cret?value");
  const auto shown = [&secret](const std::string& url) {
    return render_url(url_without(secret, *parse_url(url, Schemes::kHttpsOnly)));
  };
  EXPECT_EQ(shown("https://a.test/x/s3cret%3fvalue/y?q"), "https://a.test/[secret]");
  EXPECT_EQ(shown("https://a.test/x/s3cret?value"), "https://a.test/[secret]");
  EXPECT_EQ(shown("https://a.test/x?s3cret%3Fvalue=1"), "https://a.test/[secret]");
  EXPECT_EQ(shown("https://a.test/x?q=1"), "https://a.test/x?q=1");
}

// Made by gzip, zlib and raw deflate of "you sent s3cret-value".
const std::string kGzip = *decode_base64("H4sIAAAAAAACA6vML1UoTs0rUSg2Ti5KLdEtS8wpTQUAYgcs5hUAAAA=");
const std::string kZlib = *decode_base64("eJyrzC9VKE7NK1EoNk4uSi3RLUvMKU0FAFc2B/Y=");
const std::string kRaw = kZlib.substr(2, kZlib.size() - 6);

TEST(Answer, RefusesACompressedBodyThatReflectsASecret) {
  const auto coded = [](const std::string& coding, const std::string& body, const std::string& secret) {
    const auto answer = compose(body, secret, {{"Content-Encoding", coding}});
    return answer ? "fine" : failure_message(answer.error());
  };
  const std::string holds = "the answer is compressed and holds the credential";
  const std::string unseen = "the answer is coded so that no credential can be looked for in it";
  EXPECT_EQ(coded("gzip", kGzip, "s3cret-value"), holds);
  EXPECT_EQ(coded("X-GZIP", kGzip + kGzip, "s3cret-value"), holds);
  EXPECT_EQ(coded("deflate", kZlib, "s3cret-value"), holds);
  EXPECT_EQ(coded("deflate", kRaw, "s3cret-value"), holds);
  EXPECT_EQ(coded("gzip", kGzip, "another-value"), "fine");
  EXPECT_EQ(coded("deflate", kRaw, "another-value"), "fine");
  EXPECT_EQ(coded("identity", "text", "another-value"), "fine");
  EXPECT_EQ(coded("br", "", "another-value"), "fine");
  EXPECT_EQ(coded("br", "\x0b\x02", "another-value"), unseen);
  EXPECT_EQ(coded("gzip, gzip", kGzip, "another-value"), unseen);
  EXPECT_EQ(coded("gzip", kGzip + "behind", "another-value"), unseen);
  EXPECT_EQ(coded("gzip", kGzip.substr(0, 30), "another-value"), unseen);
  EXPECT_EQ(coded("gzip", "no gzip at all", "another-value"), unseen);
  // Without a secret to look for nothing is decoded, whatever it is.
  EXPECT_EQ(coded("br", "\x0b\x02", ""), "fine");
  EXPECT_EQ(compose(kGzip, "another-value", {{"Content-Encoding", "gzip"}})->body, kGzip);
}

}  // namespace
}  // namespace loom::egress
