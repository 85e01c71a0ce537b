// The table of host spellings through every front of the proxy: one verdict.
#include <gtest/gtest.h>

#include <algorithm>

#include "egress/tunnel.h"
#include "test/support/host_table.h"
#include "test/support/tls_bytes.h"
#include "test/support/tunnel_script.h"

namespace loom::egress {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): what literals are for
using test::HostRow;
using test::TunnelScript;

constexpr const char* kNames = "a.test";

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string port_of(const HostRow& row, const std::string& absent) {
  return row.has_port() ? row.authority.substr(row.authority.rfind(':') + 1) : absent;
}

// A list that admits the canonical host on the port that is asked for.
TunnelScript listing(const HostRow& row, const std::string& scheme, const std::string& port) {
  if (row.canonical.empty()) return TunnelScript({scheme + kNames + ":" + (parse_port(port) ? port : "443")});
  const bool v6 = row.canonical.find(':') != std::string::npos;
  return TunnelScript({scheme + (v6 ? "[" + row.canonical + "]" : row.canonical) + ":" + port});
}

// The verdict in the table's words. An address that was let through the policy is its own answer.
std::string verdict(TunnelScript& script, const std::string& bytes) {
  std::string told = script.bytes(bytes);
  if (!script.decisions.empty()) return script.decisions.back().code;
  if (told.substr(0, 8) != "look up ") return told;
  const Host& host = script.core.target->host;
  if (host.kind == HostKind::kName) return "name " + host.text;
  const std::string judged = script.answer({host.text});
  const Decision& decision = script.decisions.back();
  if (decision.allowed) return "public " + host.text;
  return decision.code + " " + decision.rule + " " + host.text;
}
std::string wanted(const HostRow& row) {
  if (row.verdict == "host_syntax") return "host_syntax";
  return row.verdict + (row.why.empty() ? " " : " " + row.why + " ") + row.canonical;
}
// What no target may hold never comes to the host parser: the head is refused.
std::string wanted_in_a_target(const HostRow& row) {
  return is_printable(row.authority) ? wanted(row) : "bad_request";
}

TEST(ProxyHosts, one_verdict_through_connect) {
  for (const HostRow& row : test::host_rows()) {
    TunnelScript script = listing(row, "", port_of(row, "443"));
    const std::string authority = row.has_port() ? row.authority : row.authority + ":443";
    EXPECT_EQ(verdict(script, "CONNECT " + authority + " HTTP/1.1\r\n\r\n"), wanted_in_a_target(row)) << row.authority;
  }
}

TEST(ProxyHosts, one_verdict_through_absolute_form) {
  for (const HostRow& row : test::host_rows()) {
    TunnelScript script = listing(row, "http://", port_of(row, "80"));
    EXPECT_EQ(verdict(script, "GET http://" + row.authority + "/ HTTP/1.0\r\n\r\n"), wanted_in_a_target(row))
        << row.authority;
  }
}

TEST(ProxyHosts, one_verdict_through_socks_names) {
  int judged = 0;
  for (const HostRow& row : test::host_rows()) {
    if (row.has_port()) continue;
    TunnelScript script = listing(row, "", "443");
    script.bytes("\x05\x01\x00"s);
    const std::string request = "\x05\x01\x00\x03"s + test::vector(row.authority, 1) + test::number(443, 2);
    EXPECT_EQ(verdict(script, request), wanted(row)) << row.authority;
    ++judged;
  }
  EXPECT_GT(judged, 50);
}

TEST(ProxyHosts, one_verdict_through_socks_addresses) {
  int judged = 0;
  for (const HostRow& row : test::host_rows()) {
    const auto address = parse_address(row.canonical);
    if (row.has_port() || !address) continue;
    TunnelScript script = listing(row, "", "443");
    script.bytes("\x05\x01\x00"s);
    const auto* raw = reinterpret_cast<const char*>(address->bytes.data());
    const std::string request =
        (address->v6 ? "\x05\x01\x00\x04"s : "\x05\x01\x00\x01"s) + std::string(raw, address->v6 ? 16 : 4);
    EXPECT_EQ(verdict(script, request + test::number(443, 2)), wanted(row)) << row.authority;
    ++judged;
  }
  EXPECT_GT(judged, 30);
}

}  // namespace
}  // namespace loom::egress
