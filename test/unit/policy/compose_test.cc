// What the fixtures do not show: grants as maps and text, unenforceable proxies, leases, differences, sizes.
#include "policy/compose.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "policy/decode.h"
#include "policy/difference.h"
#include "policy/upgrade.h"

namespace loom {
namespace {

Policy policy(std::string_view json) {
  auto decoded = decode_policy_bytes(json);
  EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().text());
  return decoded.value_or(Policy());
}

Policy proxied(std::vector<std::string> allow, std::string socket = "") {
  Policy made;
  made.network = Network{NetworkMode::kProxy, std::move(allow), std::move(socket)};
  return made;
}

TEST(Grants, every_form_of_the_command_line_is_read_and_written_the_same) {
  for (const char* text :
       {"writable_root=/ws/a=b", "readable_root=/", "env=NAME", "limit.pids=0", "limit.mem_bytes=9223372036854775807",
        "network=full", "network=proxy:a.test,*.b.test:8443", "network=proxy:", "scratch=/var/tmp"}) {
    const auto grant = parse_grant(text);
    ASSERT_TRUE(grant) << text << ": " << grant.error().text();
    EXPECT_EQ(render_grant(*grant), text);
    EXPECT_EQ(decode_grant(encode_grant(*grant)).value(), *grant);
  }
}

TEST(Grants, a_faulty_one_is_refused_by_name) {
  const std::vector<std::pair<std::string, std::string>> faulty = {
      {"", "unknown_grant"},
      {"env", "unknown_grant"},
      {"mount=/x", "unknown_grant"},
      {"frozen=/x", "unknown_grant"},
      {"limit.threads=1", "unknown_grant"},
      {"limit.pids=", "wrong_type"},
      {"limit.pids=-1", "wrong_type"},
      {"limit.pids=9223372036854775808", "limit_too_large"},
      {"writable_root=", "empty_path"},
      {"writable_root=ws", "relative_path"},
      {"readable_root=/ws/", "path_not_canonical"},
      {"scratch=tmpfs", "relative_path"},
      {"env=", "bad_env_name"},
      {"env=A=B", "bad_env_name"},
      {"network=off", "unknown_network_mode"},
      {"network=proxy:*", "bad_entry"},
      {"network=proxy:a.test,,b.test", "bad_entry"}};
  for (const auto& [text, code] : faulty) {
    const auto grant = parse_grant(text);
    ASSERT_FALSE(grant) << text;
    EXPECT_EQ(grant.error().code, code) << text;
  }
}

TEST(Grants, as_a_map_have_exactly_their_keys) {
  const auto code = [](const char* json) {
    const auto grant = decode_grant(parse_json(json).value());
    return grant ? std::string("accepted") : grant.error().code + " " + grant.error().where;
  };
  EXPECT_EQ(code(R"({"kind":"env","value":"A"})"), "accepted");
  EXPECT_EQ(code(R"({"kind":"limit","field":"pids","value":0})"), "accepted");
  EXPECT_EQ(code(R"({"kind":"env","field":"x","value":"A"})"), "unknown_key /field");
  EXPECT_EQ(code(R"({"kind":"limit","value":0})"), "missing_key /field");
  EXPECT_EQ(code(R"({"kind":"mount","value":"/x"})"), "unknown_grant /kind");
  EXPECT_EQ(code(R"({"kind":"network","value":{"mode":"proxy","allow":[],"proxy":""}})"), "unknown_key /value/proxy");
  EXPECT_EQ(code(R"({"kind":"limit","field":"pids","value":-1})"), "negative_limit /value");
  EXPECT_EQ(code(R"({"value":1})"), "missing_key /kind");
  EXPECT_EQ(code("[]"), "wrong_type ");
}

TEST(Grants, that_are_wanted_for_a_network_name_only_what_is_missing) {
  const auto composed = compose(proxied({"a.test"}), proxied({"a.test", "b.test"}), {});
  const auto wanted = wanted_grants(composed.narrowings);
  ASSERT_EQ(wanted.size(), 1U);
  EXPECT_EQ(render_grant(wanted[0]), "network=proxy:b.test");
}

TEST(Unenforceable, a_proxy_nobody_can_give_is_off_and_one_ordinary_narrowing) {
  const auto after = narrow_unenforceable(compose(proxied({"a.test"}), proxied({"a.test"}), {}), HostNetwork{false});
  EXPECT_EQ(after.policy.network, Network{});
  ASSERT_EQ(after.narrowings.size(), 1U);
  EXPECT_EQ(render_json(encode_narrowing(after.narrowings[0])),
            R"({"kind":"network","wanted":{"mode":"proxy","allow":["a.test"],"proxy":""},"granted":{"mode":"off"}})");
}

TEST(Unenforceable, a_network_that_was_narrowed_already_is_narrowed_once) {
  Policy full;
  full.network.mode = NetworkMode::kFull;
  const auto after = narrow_unenforceable(compose(proxied({"a.test"}), full, {}), HostNetwork{false});
  ASSERT_EQ(after.narrowings.size(), 1U);
  EXPECT_EQ(after.narrowings[0].wanted, Value(Map{{"mode", "full"}}));
  EXPECT_EQ(after.narrowings[0].granted, Value(Map{{"mode", "off"}}));
}

TEST(Unenforceable, off_and_full_stay) {
  Policy full;
  full.network.mode = NetworkMode::kFull;
  EXPECT_EQ(narrow_unenforceable(compose(full, full, {}), HostNetwork{false}).policy.network.mode, NetworkMode::kFull);
  EXPECT_TRUE(narrow_unenforceable(compose({}, {}, {}), HostNetwork{false}).narrowings.empty());
}

TEST(Unenforceable, a_proxy_that_the_operator_runs_needs_none_of_the_brokers) {
  Policy policy = proxied({"a.test"});
  policy.network.proxy = "/run/proxy.sock";
  const auto after = narrow_unenforceable(compose(policy, policy, {}), HostNetwork{false});
  EXPECT_TRUE(after.narrowings.empty());
  EXPECT_EQ(after.policy.network, policy.network);
}

TEST(SessionLease, drops_the_clocks_and_for_a_wire_the_output_cap) {
  const Policy base = workspace_default("/ws", {});
  const Policy log = session_lease(base, LeaseOutput::kLog);
  EXPECT_EQ(log.limits,
            (Limits{0, 0, base.limits.mem_bytes, base.limits.pids, base.limits.fsize_bytes, base.limits.output_bytes}));
  EXPECT_EQ(session_lease(base, LeaseOutput::kWire).limits.output_bytes, 0U);
  EXPECT_TRUE(compose(log, log, {}).narrowings.empty());
}

TEST(Upgrade, a_readable_root_inside_a_writable_one_becomes_frozen) {
  const auto upgraded = decode_policy_upgrading(
      R"({"v":2,"writable_roots":["/ws"],"readable_roots":["/ws","/ws/vendor","/opt"],"protected":[],"mounts":[],"network":{"mode":"off"},
          "limits":{"cpu_s":0,"wall_s":0,"mem_bytes":0,"pids":0,"fsize_bytes":0,"output_bytes":0},"env_allow":[],"scratch":"tmpfs"})");
  ASSERT_TRUE(upgraded) << upgraded.error().text();
  EXPECT_EQ(upgraded->readable_roots, (std::vector<Path>{"/ws", "/opt"}));
  EXPECT_EQ(upgraded->frozen, std::vector<Path>{"/ws/vendor"});
}

TEST(Upgrade, version_2_knows_no_frozen_and_other_versions_are_not_read) {
  std::string text = render_policy_json(Policy()).value();
  EXPECT_TRUE(decode_policy_upgrading(text));
  text.replace(text.find("\"v\": 3"), 6, "\"v\": 2");
  EXPECT_EQ(decode_policy_upgrading(text).error().code, "unknown_key");
  text.replace(text.find("\"v\": 2"), 6, "\"v\": 1");
  EXPECT_EQ(decode_policy_upgrading(text).error().code, "unsupported_version");
  EXPECT_NE(decode_policy_upgrading(text).error().what.find("version 1: this build reads version 3"),
            std::string::npos);
}

TEST(Difference, of_a_policy_and_itself_is_nothing) {
  const Policy p =
      policy(render_policy_json(workspace_default("/ws", WorkspaceFacts{{"/ws/.git/hooks"}, {}, {}})).value());
  EXPECT_TRUE(allowed_beyond(p, p).empty());
}

TEST(Difference, tells_what_is_no_longer_frozen_protected_or_mounted_read_only) {
  Policy narrow = workspace_default("/ws", WorkspaceFacts{{"/ws/f", "/elsewhere"}, {}, {}});
  narrow.protected_paths = {"/ws/p"};
  narrow.mounts = {Mount{"/ws/m", Access::kReadOnly, true}};
  const Policy wide = workspace_default("/ws", {});
  std::vector<std::string> kinds;
  for (const auto& difference : allowed_beyond(narrow, wide))
    kinds.push_back(difference.kind + " " + *difference.wanted.get_if<std::string>());
  EXPECT_EQ(kinds, (std::vector<std::string>{"frozen /ws/f", "protected /ws/p", "read_only_mount /ws/m"}));
  Policy frozen_instead = wide;
  frozen_instead.frozen = {"/ws/f", "/ws/m"};
  frozen_instead.protected_paths = {"/ws/p"};
  EXPECT_TRUE(allowed_beyond(narrow, frozen_instead).empty());
}

TEST(Difference, tells_of_another_operators_proxy) {
  const auto found = allowed_beyond(proxied({"a.test"}, "/run/a"), proxied({"a.test"}, "/run/b"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, "proxy");
}

TEST(Documents, over_one_mebibyte_or_nested_too_deep_are_refused_in_both_encodings) {
  EXPECT_EQ(decode_policy_bytes(std::string((1U << 20U) + 1, ' ')).error().code, "document_too_large");
  EXPECT_EQ(decode_policy_bytes("\x81\xa1v" + std::string(1U << 20U, '\xc0')).error().code, "document_too_large");
  EXPECT_EQ(decode_policy_bytes("\x81\xa1v" + std::string(40, '\x91') + '\xc0').error().code, "nesting");
}

TEST(Documents, an_error_shows_the_beginning_of_a_value_and_never_all_of_a_long_one) {
  std::string text = render_policy_json(Policy()).value();
  text.replace(text.find("\"tmpfs\""), 7, "\"" + std::string(3000, 'x') + "\"");
  const auto error = decode_policy_bytes(text).error();
  EXPECT_EQ(error.code, "relative_path");
  EXPECT_LT(error.text().size(), 200U);
}

// A list may hold very many roots: were each compared with each, this would not end before the test's patience does.
TEST(Sizes, long_lists_compose_and_validate_in_the_time_of_a_test) {
  Policy large;
  for (int i = 0; i < 30000; ++i) {
    const std::string path = "/r/" + std::to_string(i);
    large.writable_roots.push_back(path);
    large.readable_roots.push_back(path);
    large.frozen.push_back(path + "/f");
    large.env_allow.push_back("N" + std::to_string(i));
  }
  large.network.mode = NetworkMode::kProxy;
  for (int i = 0; i < 5000; ++i) large.network.allow.push_back("h" + std::to_string(i) + ".test");
  EXPECT_TRUE(validate_composed(large));
  EXPECT_TRUE(compose(large, large, {}).narrowings.empty());
  EXPECT_EQ(compose({}, large, {}).narrowings.size(), 90001U);
}

}  // namespace
}  // namespace loom
