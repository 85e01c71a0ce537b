#include "egress/failure.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "base/json.h"

namespace loom::egress {
namespace {

TEST(Failures, have_stable_codes_and_their_fields) {
  const std::vector<std::pair<Failure, std::string>> rows = {
      {{BadRequest{"/url", "x", false}, Stage::kRequest},
       R"("code":"bad_request","message":"x","where":"/url","hint":"","stage":"request")"},
      {{HostSyntax{"x"}, Stage::kRequest}, R"("code":"host_syntax","message":"x")"},
      {{NotAllowed{Rule{RuleKind::kPathPrefixes, 3}}, Stage::kPolicy}, R"("rule":"/origins/3/path_prefixes")"},
      {{MethodNotAllowed{Rule{RuleKind::kMethods, 0}}, Stage::kPolicy},
       R"("stage":"policy","rule":"/origins/0/methods")"},
      {{AddressRefused{ipv4(10, 0, 0, 1), AddressFault::kPrivate}, Stage::kResolve},
       R"("address":"10.0.0.1","why":"private")"},
      {{SecretMissing{"gh"}, Stage::kSecret}, R"("name":"gh")"},
      {{HeaderRefused{"host", HeaderFault::kReserved}, Stage::kRequest}, R"("name":"host","why":"reserved")"},
      {{DnsFailed{"no such name"}, Stage::kResolve}, R"("code":"dns","message":"no such name")"},
      {{ConnectFailed{"refused"}, Stage::kConnect}, R"("what":"refused")"},
      {{TlsFailed{"x"}, Stage::kTls}, R"("stage":"tls","what":"x")"},
      {{RedirectRefused{"https://b.test", RedirectFault::kOtherOrigin}, Stage::kRedirect},
       R"("to":"https://b.test","why":"other_origin")"},
      {{ResponseTooLarge{5}, Stage::kBody}, R"("code":"response_too_large","message":"the response is over 5 bytes")"},
      {{DeadlinePassed{}, Stage::kTls}, R"("message":"the deadline passed while in the TLS handshake")"},
      {{UpstreamFailed{"x"}, Stage::kBody}, R"("code":"upstream")"},
  };
  EXPECT_EQ(rows.size(), std::variant_size_v<Cause>);
  for (const auto& [failure, text] : rows) {
    EXPECT_NE(render_json(Value(render_failure(failure))).find(text), std::string::npos)
        << render_json(Value(render_failure(failure)));
    EXPECT_EQ(to_error(failure).code, failure_code(failure));
  }
}

// The words of a failure are written in the source: text that was received does not convert to them.
static_assert(!std::is_constructible_v<Words, std::string>);
static_assert(!std::is_constructible_v<Words, std::string_view>);
static_assert(!std::is_constructible_v<Words, const char*>);
static_assert(std::is_constructible_v<Words, const char (&)[3]>);

}  // namespace
}  // namespace loom::egress
