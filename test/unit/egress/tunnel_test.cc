#include "egress/tunnel.h"

#include <gtest/gtest.h>

#include "egress/tunnel_records.h"
#include "test/support/tls_bytes.h"
#include "test/support/tunnel_script.h"

namespace loom::egress {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): what literals are for
using test::TunnelScript;
namespace event = tunnel_event;

const char* const kConnect = "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n";

TunnelScript opened() {
  TunnelScript script({"example.org"});
  script.bytes(kConnect);
  script.answer({"8.8.8.8"});
  script.connected();
  EXPECT_EQ(script.core.phase, TunnelPhase::kHello);
  return script;
}
TunnelScript relaying() {
  TunnelScript script = opened();
  EXPECT_EQ(script.bytes(test::in_records(test::hello_for("example.org"))), "relay");
  return script;
}

TEST(Tunnel, a_connect_is_judged_looked_up_recorded_connected_and_only_then_answered) {
  TunnelScript script({"example.org"});
  EXPECT_EQ(script.bytes(std::string(kConnect).substr(0, 20)), "");
  EXPECT_EQ(script.bytes(std::string(kConnect).substr(20)), "look up example.org");
  EXPECT_EQ(script.answer({"8.8.8.8"}), "record allowed by example.org\nconnect 8.8.8.8 443");
  EXPECT_EQ(script.said, "");
  EXPECT_EQ(script.connected(), "say 200 Connection established");
  EXPECT_TRUE(is_open_tunnel(script.core));
}

TEST(Tunnel, the_hello_goes_first_to_the_upstream_whatever_pieces_it_came_in) {
  TunnelScript script = opened();
  const std::string hello = test::in_records(test::hello_for("example.org"), 9);
  EXPECT_EQ(script.bytes(hello.substr(0, 5)), "");
  EXPECT_EQ(script.bytes(hello.substr(5) + "early data"), "relay");
  EXPECT_EQ(script.first, hello + "early data");
}

TEST(Tunnel, a_client_that_does_not_wait_for_its_answer_is_served) {
  TunnelScript script({"example.org"});
  const std::string hello = test::in_records(test::hello_for("example.org"));
  script.bytes(kConnect + hello.substr(0, 10));
  script.bytes(hello.substr(10));
  script.answer({"8.8.8.8"});
  EXPECT_EQ(script.connected(), "say 200 Connection established\nrelay");
  EXPECT_EQ(script.first, hello);
}

TEST(Tunnel, what_no_entry_admits_is_refused_before_any_lookup) {
  TunnelScript script({"example.org"});
  EXPECT_EQ(script.bytes("CONNECT other.test:443 HTTP/1.0\r\n\r\n"),
            "record refused not_allowed\nsay 403 not_allowed\nend upstream\nshut client");
  EXPECT_NE(script.said.find("X-Loom-Reason: not_allowed\r\n"), std::string::npos);
  EXPECT_NE(script.said.find("loom-egress: other.test:443 refused: not_allowed: "), std::string::npos);
  EXPECT_EQ(script.decisions[0].asked.host, "other.test");
  EXPECT_EQ(script.decisions[0].asked.port, "443");
}

TEST(Tunnel, one_bad_address_refuses_the_set) {
  TunnelScript script({"example.org"});
  script.bytes(kConnect);
  EXPECT_EQ(script.answer({"8.8.8.8", "10.0.0.1"}),
            "record refused address_refused\nsay 403 address_refused\nend upstream\nshut client");
  EXPECT_EQ(script.decisions[0].rule, "private");
  EXPECT_EQ(script.decisions[0].addresses.size(), 2U);
}

TEST(Tunnel, our_own_listener_is_refused_even_where_its_address_is_listed) {
  TunnelScript script({"example.org:3128", "127.0.0.1:3128"}, {"127.0.0.0/8"});
  script.bytes("CONNECT example.org:3128 HTTP/1.1\r\n\r\n");
  EXPECT_EQ(script.answer({"127.0.0.1"}).substr(0, 30), "record refused address_refused");
  EXPECT_EQ(script.decisions[0].rule, "own_listener");
}

TEST(Tunnel, a_private_address_needs_an_entry_and_to_be_listed_in_ip_allow) {
  const auto told = [](const std::vector<std::string>& allow, const std::vector<std::string>& ip_allow) {
    TunnelScript script(allow, ip_allow);
    const std::string first = script.bytes("CONNECT 10.1.2.3:443 HTTP/1.1\r\n\r\n");
    const std::string all = first == "look up 10.1.2.3" ? script.answer({"10.1.2.3"}) : first;
    return all.substr(0, all.find('\n'));
  };
  EXPECT_EQ(told({"10.0.0.0/8"}, {"10.1.2.3/32"}), "record allowed by 10.0.0.0/8");
  EXPECT_EQ(told({"10.0.0.0/8"}, {}), "record refused address_refused");
  EXPECT_EQ(told({"example.org"}, {"10.0.0.0/8"}), "record refused not_allowed");
}

TEST(Tunnel, each_address_is_tried_within_one_deadline) {
  TunnelScript script({"example.org"});
  script.bytes(kConnect);
  EXPECT_EQ(script.answer({"8.8.8.8", "8.8.4.4", "1.1.1.1"}), "record allowed by example.org\nconnect 8.8.8.8 443");
  EXPECT_EQ(script.feed(event::ConnectFailed{{"connect", "", "refused"}}), "connect 8.8.4.4 443");
  EXPECT_EQ(script.due_after(seconds(15)), "connect 1.1.1.1 443");
  EXPECT_EQ(script.due_after(seconds(15)), "say 504 deadline\nclosing deadline\nend upstream\nshut client");
  EXPECT_EQ(script.decisions.size(), 1U);
  EXPECT_EQ(render_address(*script.closings[0].address), "1.1.1.1");
}

TEST(Tunnel, who_leaves_during_the_lookup_is_recorded_as_that) {
  const auto left = [](const TunnelEvent& how) {
    TunnelScript script({"example.org"});
    script.bytes(kConnect);
    return script.feed(how);
  };
  EXPECT_EQ(left(event::ClientEof{}), "record refused client_gone\nfinish");
  EXPECT_EQ(left(event::ClientLost{}), "record refused client_gone\nfinish");
  EXPECT_EQ(left(event::Stop{}), "record refused proxy_ended\nfinish");
}

TEST(Tunnel, a_name_without_an_answer_is_a_bad_gateway) {
  TunnelScript script({"example.org"});
  script.bytes(kConnect);
  EXPECT_EQ(script.feed(event::Resolved{tl::unexpected(ProxyRefusal{"dns", "", "no such name"})}),
            "record refused dns\nsay 502 dns\nend upstream\nshut client");
  TunnelScript slow({"example.org"});
  slow.bytes(kConnect);
  EXPECT_EQ(slow.due_after(seconds(30)), "record refused deadline\nsay 504 deadline\nend upstream\nshut client");
}

TEST(Tunnel, the_name_in_the_hello_is_the_host_or_the_tunnel_closes_with_its_own_reason) {
  const auto refused = [](std::string_view bytes) {
    TunnelScript script = opened();
    const std::size_t said = script.said.size();
    const std::string told = script.bytes(bytes);
    EXPECT_EQ(script.said.size(), said) << "nothing is said into an open tunnel";
    EXPECT_EQ(script.core.phase, TunnelPhase::kEnding);
    EXPECT_EQ(script.closings.size(), 1U);
    return told.substr(0, told.find('\n'));
  };
  EXPECT_EQ(refused(test::in_records(test::hello_for("other.test"))), "record refused sni_differs");
  EXPECT_EQ(refused(test::in_records(test::hello_message(std::nullopt))), "record refused sni_missing");
  EXPECT_EQ(refused("GET / HTTP/1.1\r\n\r\n"), "record refused not_tls");
  TunnelScript silent = opened();
  EXPECT_EQ(silent.due_after(seconds(10)),
            "record refused hello_missing\nclosing hello_missing\nend upstream\nshut client");
  TunnelScript gone = opened();
  EXPECT_EQ(gone.feed(event::ClientEof{}), "closing hello_missing\nfinish");
}

TEST(Tunnel, half_closes_go_through_and_the_last_one_ends_it) {
  TunnelScript client_first = relaying();
  EXPECT_EQ(client_first.feed(event::Moved{10, 0}), "");
  EXPECT_EQ(client_first.feed(event::ClientEof{}), "shut upstream");
  EXPECT_EQ(client_first.feed(event::Moved{10, 20}), "");
  EXPECT_EQ(client_first.feed(event::UpstreamEof{}), "closing\nfinish");
  EXPECT_EQ(client_first.closings[0].up, 10U);
  EXPECT_EQ(client_first.closings[0].down, 20U);
  TunnelScript upstream_first = relaying();
  EXPECT_EQ(upstream_first.feed(event::UpstreamEof{}), "shut client");
  EXPECT_EQ(upstream_first.feed(event::ClientEof{}), "closing\nfinish");
}

TEST(Tunnel, a_tunnel_is_idle_after_300_seconds_without_a_byte) {
  TunnelScript script = relaying();
  script.context.now += seconds(299);
  script.feed(event::Moved{1, 1});
  EXPECT_EQ(script.due_after(seconds(299)), "");
  EXPECT_EQ(script.due_after(seconds(1)), "closing idle\nend upstream\nshut client");
}

TEST(Tunnel, a_head_that_is_slow_or_malformed_is_answered_and_closed) {
  TunnelScript slow({"example.org"});
  slow.bytes("CONNECT");
  EXPECT_EQ(slow.due_after(milliseconds(9999)), "");
  EXPECT_EQ(slow.due_after(milliseconds(1)), "say 408 head_timeout\nend upstream\nshut client");
  TunnelScript malformed({"example.org"});
  EXPECT_EQ(malformed.bytes("CONNECT example.org:443 HTTP/1.1\nHost: a\n\n"),
            "record refused bad_request\nsay 400 bad_request\nend upstream\nshut client");
  EXPECT_EQ(malformed.bytes("more"), "");
  EXPECT_EQ(malformed.feed(event::ClientEof{}), "finish");
  TunnelScript deaf({"example.org"});
  deaf.bytes("\n");
  EXPECT_EQ(deaf.due_after(seconds(2)), "finish");
}

TEST(Tunnel, a_host_that_differs_refuses_and_one_without_a_port_names_the_host_of_a_connect) {
  const auto told = [](const std::string& head) {
    TunnelScript script({"example.org", "example.org:8443", "http://mirror.test"});
    const std::string all = script.bytes(head + "\r\n");
    return all.substr(0, all.find('\n'));
  };
  EXPECT_EQ(told("CONNECT example.org:443 HTTP/1.1\r\nHost: other.test\r\n"), "record refused host_differs");
  EXPECT_EQ(told("CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:8443\r\n"), "record refused host_differs");
  EXPECT_EQ(told("CONNECT example.org:443 HTTP/1.1\r\nHost:\r\n"), "record refused host_differs");
  EXPECT_EQ(told("CONNECT example.org:8443 HTTP/1.1\r\nHost: Example.org\r\n"), "look up example.org");
  EXPECT_EQ(told("CONNECT example.org:443 HTTP/1.1\r\n"), "look up example.org");
  EXPECT_EQ(told("CONNECT example.org:443 HTTP/1.1\r\nContent-Length: 0\r\n"), "look up example.org");
  EXPECT_EQ(told("CONNECT example.org:443 HTTP/1.1\r\nContent-Length: 1\r\n"), "record refused bad_request");
  EXPECT_EQ(told("GET http://mirror.test/ HTTP/1.1\r\nHost: mirror.test\r\n"), "look up mirror.test");
  EXPECT_EQ(told("GET http://mirror.test/ HTTP/1.1\r\nHost: example.org\r\n"), "record refused host_differs");
  EXPECT_EQ(told("GET http://mirror.test/ HTTP/1.1\r\n"), "record refused bad_request");
  EXPECT_EQ(told("GET http://mirror.test/ HTTP/1.0\r\n"), "look up mirror.test");
  EXPECT_EQ(told("GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n"), "record refused not_allowed");
  EXPECT_EQ(told("GET https://example.org/ HTTP/1.1\r\nHost: example.org\r\n"), "record refused bad_request");
  EXPECT_EQ(told("GET / HTTP/1.1\r\nHost: example.org\r\n"), "record refused bad_request");
  EXPECT_EQ(told("CONNECT mirror.test:80 HTTP/1.1\r\n"), "record refused not_allowed");
}

TEST(Tunnel, readiness_is_answered_by_the_proxy_itself) {
  TunnelScript script({});
  EXPECT_EQ(script.bytes("GET http://loom.invalid/ready HTTP/1.1\r\nHost: loom.invalid\r\n\r\n"),
            "say 204 No Content\nend upstream\nshut client");
  EXPECT_TRUE(script.decisions.empty());
  for (const char* other :
       {"GET http://loom.invalid/ HTTP/1.0\r\n\r\n", "POST http://loom.invalid/ready HTTP/1.0\r\n\r\n",
        "GET http://loom.invalid:81/ready HTTP/1.0\r\n\r\n", "GET http://loom.invalid/ready?x HTTP/1.0\r\n\r\n"}) {
    TunnelScript refused({});
    EXPECT_EQ(refused.bytes(other).substr(0, 26), "record refused not_allowed") << other;
  }
}

TEST(Tunnel, socks_is_served_byte_by_byte) {
  TunnelScript script({"example.org"});
  const std::string greeting = "\x05\x01\x00"s;
  for (const char c : greeting.substr(0, 2)) EXPECT_EQ(script.bytes(std::string(1, c)), "");
  EXPECT_EQ(script.bytes(greeting.substr(2)), "say socks 0");
  const std::string request = "\x05\x01\x00\x03\x0b"s + "example.org\x01\xbb";
  for (const char c : request.substr(0, request.size() - 1)) EXPECT_EQ(script.bytes(std::string(1, c)), "");
  EXPECT_EQ(script.bytes(request.substr(request.size() - 1)), "look up example.org");
  script.answer({"8.8.8.8"});
  EXPECT_EQ(script.connected(), "say socks 0");
  EXPECT_EQ(script.bytes(test::in_records(test::hello_for("example.org"))), "relay");
}

TEST(Tunnel, socks_refusals_have_their_numbers) {
  const auto told = [](const std::string& bytes) {
    TunnelScript script({"example.org"});
    script.bytes("\x05\x01\x00"s);
    const std::string all = script.bytes(bytes);
    return all.substr(0, all.find("\nend"));
  };
  EXPECT_EQ(told("\x05\x01\x00\x03\x0a"s + "other.test\x01\xbb"), "record refused not_allowed\nsay socks 2");
  EXPECT_EQ(told("\x05\x01\x00\x03\x0b"s + "example.org\x00\x16"s), "record refused not_allowed\nsay socks 2");
  EXPECT_EQ(told("\x05\x01\x00\x03\x0b"s + "example.org\x00\x00"s), "record refused host_syntax\nsay socks 2");
  EXPECT_EQ(told("\x05\x01\x00\x03\x00\x01\xbb"s), "record refused host_syntax\nsay socks 2");
  EXPECT_EQ(told("\x05\x01\x00\x03\xff"s + std::string(255, 'a') + "\x01\xbb"),
            "record refused host_syntax\nsay socks 2");
  EXPECT_EQ(told("\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00"s), "record refused socks_unsupported\nsay socks 7");
  EXPECT_EQ(told("\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"s), "record refused socks_unsupported\nsay socks 7");
  EXPECT_EQ(told("\x05\x01\x00\x09\x00\x00"s), "record refused socks_unsupported\nsay socks 8");
  EXPECT_EQ(told("\x04"), "record refused bad_request\nsay socks 1");
  TunnelScript password({"example.org"});
  EXPECT_EQ(password.bytes("\x05\x01\x02"s), "say socks 255\nend upstream\nshut client");
  TunnelScript failing({"example.org"});
  failing.bytes("\x05\x01\x00\x05\x01\x00\x03\x0b"s + "example.org\x01\xbb");
  failing.answer({"8.8.8.8"});
  EXPECT_EQ(failing.feed(event::ConnectFailed{{"connect", "", "refused"}}).substr(0, 11), "say socks 5");
  TunnelScript slow({"example.org"});
  slow.bytes("\x05"s);
  EXPECT_EQ(slow.due_after(seconds(10)), "end upstream\nshut client");
}

TEST(Tunnel, plain_http_is_passed_on_in_origin_form_with_its_body_and_no_more) {
  TunnelScript script({"http://mirror.test:8080"});
  EXPECT_EQ(script.bytes("POST http://Mirror.test:8080/a?b HTTP/1.1\r\nHost: mirror.test:8080\r\nConnection: X-Gone, "
                         "content-length\r\n"
                         "X-Gone: 1\r\nProxy-Authorization: secret\r\nContent-Length: 4\r\nX-Stays: 2\r\n\r\nabc"),
            "look up mirror.test");
  script.answer({"8.8.8.8"});
  EXPECT_EQ(script.connected(), "relay plain, body to come");
  EXPECT_EQ(script.first,
            "POST /a?b HTTP/1.1\r\nHost: mirror.test:8080\r\nConnection: close\r\nContent-Length: 4\r\nX-Stays: "
            "2\r\n\r\nabc");
  EXPECT_EQ(script.feed(event::ClientEof{}), "");
  script.feed(event::Moved{200, 100});
  EXPECT_EQ(script.feed(event::UpstreamEof{}), "closing\nend upstream\nshut client\nfinish");
  TunnelScript second({"http://mirror.test"});
  second.bytes("GET http://mirror.test/ HTTP/1.0\r\n\r\nGET http://other.test/ HTTP/1.0\r\n\r\n");
  second.answer({"8.8.8.8"});
  EXPECT_EQ(second.connected(), "relay plain");
  EXPECT_EQ(second.first, "GET / HTTP/1.0\r\nHost: mirror.test\r\nConnection: close\r\n\r\n");
}

TEST(Tunnel, a_plain_request_without_a_byte_of_an_answer_is_told_so) {
  for (const TunnelEvent& end : {TunnelEvent(event::UpstreamEof{}), TunnelEvent(event::UpstreamLost{})}) {
    TunnelScript script({"http://mirror.test"});
    script.bytes("GET http://mirror.test/ HTTP/1.0\r\n\r\n");
    script.answer({"8.8.8.8"});
    script.connected();
    EXPECT_EQ(script.feed(end), "say 502 upstream\nclosing upstream\nend upstream\nshut client");
  }
}

TEST(Tunnel, an_upstream_that_has_said_its_last_word_may_reset_what_comes_after) {
  TunnelScript script = relaying();
  script.feed(event::Moved{10, 10});
  script.feed(event::UpstreamEof{});
  EXPECT_EQ(script.feed(event::UpstreamLost{}), "closing\nend upstream\nshut client");
  TunnelScript lost = relaying();
  EXPECT_EQ(lost.feed(event::UpstreamLost{}), "closing upstream\nend upstream\nshut client");
}

TEST(Tunnel, a_record_that_cannot_be_written_refuses) {
  TunnelScript script({"example.org"});
  script.bytes(kConnect);
  script.answer({"8.8.8.8"});  // the shell carries out nothing behind the record
  script.said.clear();
  EXPECT_EQ(script.feed(event::RecordFailed{}), "say 403 record_failed\nend upstream\nshut client");
  TunnelScript refusal({});
  refusal.bytes(kConnect);
  EXPECT_EQ(refusal.feed(event::RecordFailed{}), "say 403 record_failed\nend upstream\nshut client");
  TunnelScript inside = opened();
  inside.bytes("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(inside.feed(event::RecordFailed{}), "end upstream\nshut client");
  TunnelScript gone({});
  gone.core.client_eof = true;
  gone.bytes(kConnect);
  EXPECT_EQ(gone.feed(event::RecordFailed{}), "finish");
}

TEST(Tunnel, without_rules_that_can_be_read_nothing_is_judged_and_everything_refused) {
  TunnelScript script({"example.org"});
  script.context.rules = nullptr;
  EXPECT_EQ(script.bytes(kConnect),
            "record refused config_unreadable\nsay 403 config_unreadable\nend upstream\nshut client");
  TunnelScript ready({});
  ready.context.rules = nullptr;
  EXPECT_EQ(ready.bytes("GET http://loom.invalid/ready HTTP/1.0\r\n\r\n").substr(0, 32),
            "record refused config_unreadable");
}

TEST(Tunnel, one_tunnel_too_many_is_told_so) {
  TunnelScript script({"example.org"});
  script.context.full = true;
  EXPECT_EQ(script.bytes(kConnect),
            "record refused too_many_tunnels\nsay 503 too_many_tunnels\nend upstream\nshut client");
}

TEST(Tunnel, the_end_of_the_proxy_is_the_end_of_every_tunnel) {
  TunnelScript script = relaying();
  EXPECT_EQ(script.feed(event::Stop{}), "closing proxy_ended\nfinish");
  EXPECT_EQ(script.feed(event::Stop{}), "");
}

TEST(Tunnel, a_client_without_bounds_is_held_back_while_its_target_is_looked_for) {
  TunnelScript script({"example.org"});
  script.bytes(kConnect);
  EXPECT_TRUE(wants_client_bytes(script.core));
  script.bytes(std::string(kMaxEarlyBytes, 'x'));
  EXPECT_FALSE(wants_client_bytes(script.core));
}

TEST(TunnelRecords, a_line_says_everything_a_decision_was_made_of) {
  TunnelScript script({"example.org"});
  script.bytes(kConnect);
  script.context.now += milliseconds(3);
  script.answer({"8.8.8.8"});
  const RecordContext context{"abc-1", "digest", 7, 99, 5};
  EXPECT_EQ(
      render_record(context, script.decisions.at(0)),
      R"({"record":"decision","at_ms":99,"id":"abc-1","list":"digest","peer_pid":7,"proxy_pid":5,"front":"connect",)"
      R"("host":"example.org","port":443,"verdict":"allowed","code":"","rule":"example.org","addresses":["8.8.8.8"],"ms":3})"
      "\n");
  Closing closing{"idle", ipv4(8, 8, 8, 8), 1, 2, 5};
  EXPECT_EQ(
      render_record(context, closing),
      R"({"record":"closing","at_ms":99,"id":"abc-1","address":"8.8.8.8","up_bytes":1,"down_bytes":2,"ms":5,"error":"idle"})"
      "\n");
  Decision odd;
  odd.asked = {Front::kSocks, "a\nb\xff", "0"};
  EXPECT_NE(render_record(context, odd).find(R"("host":{"bytes":"YQpi/w=="},"port":"0")"), std::string::npos);
}

}  // namespace
}  // namespace loom::egress
