#include "egress/client_hello.h"

#include <gtest/gtest.h>

#include "test/support/tls_bytes.h"

namespace loom::egress {
namespace {

using test::extension;
using test::hello_for;
using test::hello_message;
using test::in_records;
using test::server_name;

// "name NAME", "no name", "more" or the error's code, however the bytes are cut.
std::string read_in_pieces(std::string_view bytes, std::size_t piece) {
  HelloReader reader;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const auto hello = reader.feed(bytes.substr(0, piece));
    if (!hello) return hello.error().code;
    if (*hello) return (*hello)->server_name ? "name " + *(*hello)->server_name : "no name";
  }
  return "more";
}
std::string read(std::string_view bytes) {
  std::string whole = read_in_pieces(bytes, bytes.size());
  EXPECT_EQ(read_in_pieces(bytes, 1), whole);
  EXPECT_EQ(read_in_pieces(bytes, 7), whole);
  return whole;
}

TEST(ClientHello, the_name_is_read_across_segments_and_records) {
  const std::string message = hello_for("example.org");
  for (const std::size_t piece : {1, 2, 5, 40, 16384}) {
    EXPECT_EQ(read(in_records(message, piece)), "name example.org") << piece;
    EXPECT_EQ(read(in_records(message, piece) + "whatever follows"), "name example.org") << piece;
  }
}

TEST(ClientHello, a_hello_without_a_name_or_without_extensions_has_none) {
  EXPECT_EQ(read(in_records(hello_message(extension(43, "\x02\x03\x04")))), "no name");
  EXPECT_EQ(read(in_records(hello_message(std::nullopt))), "no name");
}

TEST(ClientHello, with_ech_the_outer_name_is_read) {
  EXPECT_EQ(read(in_records(hello_message(extension(0xfe0d, std::string(100, 'e')) + server_name("outer.test")))),
            "name outer.test");
}

TEST(ClientHello, a_hello_of_a_post_quantum_client_is_read_and_a_boundless_one_is_not) {
  EXPECT_EQ(read(in_records(hello_message(extension(51, std::string(1300, 'k')) + server_name("a.test")), 600)),
            "name a.test");
  EXPECT_EQ(read(in_records(hello_message(extension(21, std::string(40000, 'p')) + server_name("a.test")))), "not_tls");
  // A length in the first message header that promises 16 MiB is refused before they come.
  EXPECT_EQ(read(test::number(22, 1) + test::number(0x0301, 2) + test::vector("\x01\xff\xff\xff", 2)), "not_tls");
}

TEST(ClientHello, what_is_not_tls_is_told_at_once) {
  for (const char* bytes : {"GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n", "\x80\x2e\x01\x03\x01", "\x16\x02"})
    EXPECT_EQ(read(bytes), "not_tls") << bytes;
  EXPECT_EQ(read_in_pieces("G", 1), "not_tls");
  using std::string_literals::operator""s;
  EXPECT_EQ(read("\x15\x03\x01\x00\x02\x01\x00"s), "not_tls");          // an alert
  EXPECT_EQ(read("\x16\x03\x01\x00\x00"s), "not_tls");                  // an empty record
  EXPECT_EQ(read("\x16\x03\x01\x40\x01"s), "not_tls");                  // a record over 16 KiB
  EXPECT_EQ(read("\x16\x03\x03\x00\x04\x02\x00\x00\x00"s), "not_tls");  // a ServerHello
  const std::string cut = in_records(hello_for("example.org"));
  EXPECT_EQ(read(cut.substr(0, cut.size() - 1)), "more");
  EXPECT_EQ(read(in_records(hello_for("example.org") + "x")), "not_tls");
  // Another record within the hello.
  const std::string message = hello_for("example.org");
  EXPECT_EQ(read(in_records(message.substr(0, 20)) + "\x15\x03\x01\x00\x02\x01\x00"s + in_records(message.substr(20))),
            "not_tls");
}

TEST(ClientHello, a_name_that_could_be_read_in_two_ways_is_refused) {
  using test::number;
  using test::vector;
  const std::string two_in_list =
      extension(0, vector(number(0, 1) + vector("a.test", 2) + number(0, 1) + vector("b.test", 2), 2));
  for (const std::string& extensions :
       {server_name("a.test") + server_name("b.test"), server_name("a.test") + server_name("a.test"), two_in_list,
        server_name(""), extension(0, ""), extension(0, vector("", 2)),
        extension(0, vector(number(1, 1) + vector("a.test", 2), 2)),
        extension(0, vector(number(0, 1) + vector("a.test", 2), 2) + "x"), server_name("a.test") + "x",
        server_name("a.test").substr(0, 8)})
    EXPECT_EQ(read(in_records(hello_message(extensions))), "not_tls");
}

TEST(ClientHello, an_error_stands) {
  HelloReader reader;
  EXPECT_FALSE(reader.feed("G"));
  EXPECT_FALSE(reader.feed(in_records(hello_for("a.test"))));
}

std::string judged(std::optional<std::string> name, std::string_view host) {
  const auto status = judge_server_name(ClientHello{std::move(name)}, parse_host(host).value());
  return status ? "" : status.error().code;
}

TEST(ClientHello, the_name_must_be_the_host_and_for_an_address_it_may_be_absent) {
  EXPECT_EQ(judged("example.org", "example.org"), "");
  EXPECT_EQ(judged("EXAMPLE.org", "example.org"), "");
  EXPECT_EQ(judged("www.example.org", "example.org"), "sni_differs");
  EXPECT_EQ(judged("example.org\0x", "example.org"), "");  // a C string: the bytes end at the NUL
  EXPECT_EQ(judged(std::string("example.org\0x", 13), "example.org"), "sni_differs");
  EXPECT_EQ(judged("ex\xc3\xa4mple.org", "example.org"), "sni_differs");
  EXPECT_EQ(judged(std::nullopt, "example.org"), "sni_missing");
  EXPECT_EQ(judged(std::nullopt, "192.0.2.1"), "");
  EXPECT_EQ(judged("192.0.2.1", "192.0.2.1"), "");
  EXPECT_EQ(judged("example.org", "192.0.2.1"), "sni_differs");
  EXPECT_EQ(judged(std::nullopt, "[2001:db8::1]"), "");
  EXPECT_EQ(judged("2001:db8::1", "[2001:db8::1]"), "");
  EXPECT_EQ(judged("2001:db8::2", "[2001:db8::1]"), "sni_differs");
}

}  // namespace
}  // namespace loom::egress
