#include "egress/client_hello.h"

#include <algorithm>

namespace loom::egress {
namespace {

constexpr std::size_t kRecordHead = 5;
constexpr std::size_t kMessageHead = 4;
constexpr std::size_t kMaxFragment = 1U << 14U;
constexpr char kHandshake = 22;
constexpr char kClientHello = 1;
constexpr std::size_t kServerNameExtension = 0;
constexpr std::size_t kRandomBytes = 32;

tl::unexpected<Error> not_tls(std::string what) {
  return fail("not_tls", "", std::move(what));
}

std::size_t number(std::string_view bytes) {
  std::size_t value = 0;
  for (const char c : bytes) value = value << 8U | static_cast<unsigned char>(c);
  return value;
}

// Takes pieces off the front; once something is missing, everything after is empty and ok() is false.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) ok_ = false;
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::size_t take_number(std::size_t width) { return number(take(width)); }
  // A vector with its length in front, of `width` bytes.
  std::string_view take_vector(std::size_t width) { return take(take_number(width)); }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

Result<std::string> parse_server_name(std::string_view extension) {
  Cursor outer(extension);
  const std::string_view list = outer.take_vector(2);
  Cursor names(list);
  const std::size_t type = names.take_number(1);
  const std::string_view name = names.take_vector(2);
  if (!outer.at_end() || !names.at_end() || type != 0 || name.empty())
    return not_tls("a server_name extension that is not exactly one host name");
  return std::string(name);
}

Status parse_extensions(std::string_view bytes, ClientHello& hello) {
  Cursor cursor(bytes);
  while (cursor.ok() && !cursor.at_end()) {
    const std::size_t type = cursor.take_number(2);
    const std::string_view extension = cursor.take_vector(2);
    if (!cursor.ok() || type != kServerNameExtension) continue;
    if (hello.server_name) return not_tls("two server_name extensions");
    LOOM_TRY(hello.server_name, parse_server_name(extension));
  }
  if (!cursor.ok()) return not_tls("extensions that end too early");
  return {};
}

}  // namespace

Result<ClientHello> parse_client_hello(std::string_view message) {
  Cursor outer(message);
  const std::string_view type = outer.take(1);
  const std::string_view body = outer.take_vector(3);
  if (!outer.at_end() || type.front() != kClientHello) return not_tls("not a ClientHello alone");
  Cursor cursor(body);
  const std::size_t version = cursor.take_number(2);
  cursor.take(kRandomBytes);
  const std::size_t session = cursor.take_vector(1).size();
  const std::size_t suites = cursor.take_vector(2).size();
  const std::size_t compressions = cursor.take_vector(1).size();
  const bool plain = !cursor.ok() || version >> 8U != 3 || session > 32 || suites < 2 || suites % 2 != 0;
  if (plain || compressions == 0) return not_tls("a ClientHello that is malformed");
  ClientHello hello;
  if (cursor.at_end()) return hello;  // before TLS 1.2 a hello may end without extensions
  const std::string_view extensions = cursor.take_vector(2);
  if (!cursor.at_end()) return not_tls("a ClientHello that does not end with its extensions");
  LOOM_CHECK(parse_extensions(extensions, hello));
  return hello;
}

Status HelloReader::begin_record() {
  if (record_head_[0] != kHandshake || (record_head_.size() > 1 && record_head_[1] != 3))
    return not_tls("the first bytes are no TLS handshake");
  if (record_head_.size() < kRecordHead) return {};
  record_left_ = number(std::string_view(record_head_).substr(3));
  record_head_.clear();
  if (record_left_ == 0 || record_left_ > kMaxFragment) return not_tls("a TLS record of an impossible length");
  return {};
}

Result<std::optional<ClientHello>> HelloReader::feed(std::string_view bytes) {
  if (broken_) return fail(*broken_);
  const auto breaks = [this](Error error) {
    broken_ = std::move(error);
    return fail(*broken_);
  };
  for (; !bytes.empty();) {
    if (taken_ == kMaxHelloBytes) return breaks({"not_tls", "", "a ClientHello over 32 KiB", ""});
    if (record_left_ == 0) {
      record_head_ += bytes.front();
      bytes.remove_prefix(1);
      ++taken_;
      if (auto begun = begin_record(); !begun) return breaks(std::move(begun).error());
      continue;
    }
    const std::size_t piece = std::min({record_left_, bytes.size(), kMaxHelloBytes - taken_});
    message_ += bytes.substr(0, piece);
    bytes.remove_prefix(piece);
    record_left_ -= piece;
    taken_ += piece;
    if (message_[0] != kClientHello) return breaks({"not_tls", "", "a handshake that begins with no ClientHello", ""});
    if (message_.size() < kMessageHead) continue;
    const std::size_t whole = kMessageHead + number(std::string_view(message_).substr(1, 3));
    if (whole > kMaxHelloBytes) return breaks({"not_tls", "", "a ClientHello over 32 KiB", ""});
    if (message_.size() < whole) continue;
    // A client that waits for the server's answer has said nothing more in this record.
    if (message_.size() > whole || record_left_ > 0)
      return breaks({"not_tls", "", "a record that goes on behind its ClientHello", ""});
    auto hello = parse_client_hello(message_);
    if (!hello) return breaks(std::move(hello).error());
    return std::optional<ClientHello>(*std::move(hello));
  }
  return std::optional<ClientHello>();
}

Status judge_server_name(const ClientHello& hello, const Host& host) {
  if (!hello.server_name) {
    if (host.kind != HostKind::kName) return {};
    return fail("sni_missing", "", "the TLS hello names no server");
  }
  const bool bare_ipv6 = host.kind == HostKind::kIpv6 && hello.server_name->front() != '[';
  const auto named = bare_ipv6 ? parse_ipv6(*hello.server_name) : parse_host(*hello.server_name);
  if (!named || !(*named == host)) return fail("sni_differs", "", "the TLS hello names another server");
  return {};
}

}  // namespace loom::egress
