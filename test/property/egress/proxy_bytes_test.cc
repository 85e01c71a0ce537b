// What the proxy reads from strangers: heads, SOCKS and hellos come back as they were made, however they are cut.
#include "egress/client_hello.h"
#include "egress/http_head.h"
#include "egress/socks.h"
#include "test/support/property.h"
#include "test/support/tls_bytes.h"

namespace loom::egress {
namespace {

using test::property;

std::string any_of(std::string_view alphabet, int most) {
  const auto letters = rc::gen::elementOf(std::string(alphabet));
  return *rc::gen::resize(most, rc::gen::nonEmpty(rc::gen::container<std::string>(letters)));
}

TEST(ProxyBytes, a_head_comes_back_as_it_was_made) {
  property("parse(render(head)) = head", [] {
    HttpHead made;
    made.method = any_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 8);
    made.target = any_of("abc:/.?=&%[]@-0123456789", 40);
    made.minor = *rc::gen::inRange(0U, 2U);
    const int count = *rc::gen::inRange(0, 6);
    for (int i = 0; i < count; ++i)
      made.headers.emplace_back("X-" + any_of("abcXYZ0-_", 8), any_of("abc;=\"/", 3) + any_of(" \tabc\xe9", 9) + "e");
    std::string raw = made.method + " " + made.target + " HTTP/1." + std::to_string(made.minor) + "\r\n";
    for (const auto& [name, value] : made.headers) raw += name + ":" + any_of(" \t", 2) + value + "\r\n";
    raw += "\r\n";
    const auto head = parse_http_head(raw);
    RC_ASSERT(head.has_value());
    RC_ASSERT(head->method == made.method && head->target == made.target && head->minor == made.minor);
    RC_ASSERT(head->headers == made.headers);
    const auto end = find_head_end(raw + *rc::gen::arbitrary<std::string>());
    RC_ASSERT((end && *end == raw.size()));
  });
}

TEST(ProxyBytes, a_head_with_one_byte_changed_is_taken_or_refused_by_name) {
  property("one changed byte gives a head or bad_request", [] {
    std::string raw = "POST http://a.test/x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nX: y\r\n\r\n";
    raw[*rc::gen::inRange<std::size_t>(0, raw.size())] = *rc::gen::arbitrary<char>();
    const auto head = parse_http_head(raw);
    RC_ASSERT((head || head.error().code == "bad_request"));
  });
}

TEST(ProxyBytes, any_bytes_have_an_end_are_refused_or_want_more) {
  property("a head's end does not depend on the pieces", [] {
    const auto letters = rc::gen::elementOf(std::string("\r\n\r\n\r\n x:\t"));
    const auto bytes = *rc::gen::container<std::string>(letters);
    const auto whole = find_head_end(bytes);
    if (!whole || !*whole) return;
    RC_ASSERT(**whole <= bytes.size());
    const auto resumed = find_head_end(bytes, *rc::gen::inRange<std::size_t>(0, **whole));
    RC_ASSERT((resumed && *resumed && **resumed == **whole));
    const auto head = parse_http_head(bytes.substr(0, **whole));
    RC_ASSERT((head || head.error().code == "bad_request"));
  });
}

TEST(ProxyBytes, a_socks_request_comes_back_as_it_was_made) {
  property("parse(make(name, port)) = (name, port)", [] {
    const auto name = *rc::gen::resize(255, rc::gen::arbitrary<std::string>());
    RC_PRE(name.size() <= 255U);
    const auto port = *rc::gen::arbitrary<std::uint16_t>();
    const std::string bytes = std::string("\x05\x01\x00\x03", 4) + test::vector(name, 1) + test::number(port, 2);
    const auto request = parse_socks_request(bytes + *rc::gen::arbitrary<std::string>());
    RC_ASSERT((request && *request));
    RC_ASSERT((*request)->host == name && (*request)->port == port && (*request)->bytes == bytes.size());
    const auto cut = parse_socks_request(bytes.substr(0, *rc::gen::inRange<std::size_t>(0, bytes.size())));
    RC_ASSERT((cut && !*cut));
  });
}

TEST(ProxyBytes, a_hello_in_any_records_and_pieces_gives_its_name) {
  property("the name does not depend on records and segments", [] {
    const std::string name = any_of("abcdefghijklmnopqrstuvwxyz.-", 40);
    const std::string bytes = test::in_records(test::hello_for(name), *rc::gen::inRange<std::size_t>(1, 200));
    HelloReader reader;
    std::optional<ClientHello> found;
    for (std::size_t at = 0; at < bytes.size() && !found;) {
      const auto piece = *rc::gen::inRange<std::size_t>(1, 100);
      const auto hello = reader.feed(std::string_view(bytes).substr(at, piece));
      RC_ASSERT(hello.has_value());
      found = *hello;
      at += piece;
    }
    RC_ASSERT((found && found->server_name == name));
  });
}

}  // namespace
}  // namespace loom::egress
