#include "egress/socks.h"

#include <algorithm>
#include <array>

#include "policy/host.h"

namespace loom::egress {
namespace {

constexpr char kConnect = 1;
constexpr char kIpv4 = 1;
constexpr char kName = 3;
constexpr char kIpv6 = 4;
constexpr char kNoAuth = 0;
constexpr char kNoneAcceptable = '\xff';
constexpr std::size_t kRequestHead = 4;  // version, command, reserved, address type
constexpr std::size_t kPortBytes = 2;

std::size_t byte(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

tl::unexpected<Error> bad_request(std::string what) {
  return fail("bad_request", "", std::move(what));
}

std::string address_text(std::string_view raw) {
  std::array<std::uint8_t, 16> address{};
  std::copy(raw.begin(), raw.end(), address.begin());
  return raw.size() == 4 ? render_ipv4(address) : "[" + render_ipv6(address) + "]";
}

}  // namespace

Result<std::optional<SocksGreeting>> parse_socks_greeting(std::string_view bytes) {
  if (!bytes.empty() && bytes[0] != kSocksVersion) return bad_request("a greeting that is not SOCKS5");
  if (bytes.size() < 2) return std::optional<SocksGreeting>();
  const std::size_t methods = byte(bytes, 1);
  if (bytes.size() < 2 + methods) return std::optional<SocksGreeting>();
  const bool offered = bytes.substr(2, methods).find(kNoAuth) != std::string_view::npos;
  return std::optional<SocksGreeting>(SocksGreeting{2 + methods, offered});
}

Result<std::optional<SocksRequest>> parse_socks_request(std::string_view bytes) {
  if (!bytes.empty() && bytes[0] != kSocksVersion) return bad_request("a request that is not SOCKS5");
  if (bytes.size() > 2 && bytes[2] != 0) return bad_request("a reserved byte that is not 0");
  if (bytes.size() < kRequestHead + 1) return std::optional<SocksRequest>();
  SocksRequest request;
  const char type = bytes[3];
  if (type != kIpv4 && type != kName && type != kIpv6) {
    // How long the address is cannot be known: nothing after it can be read.
    request.bytes = bytes.size();
    request.verdict = SocksReply::kAddressTypeUnsupported;
    return std::optional<SocksRequest>(std::move(request));
  }
  const std::size_t begin = kRequestHead + (type == kName ? 1 : 0);
  const std::size_t length = type == kName ? byte(bytes, kRequestHead) : type == kIpv4 ? 4 : 16;
  request.bytes = begin + length + kPortBytes;
  if (bytes.size() < request.bytes) return std::optional<SocksRequest>();
  const std::string_view address = bytes.substr(begin, length);
  request.host = type == kName ? std::string(address) : address_text(address);
  request.port = static_cast<std::uint16_t>(byte(bytes, begin + length) << 8U | byte(bytes, begin + length + 1));
  if (bytes[1] != kConnect) request.verdict = SocksReply::kCommandUnsupported;
  return std::optional<SocksRequest>(std::move(request));
}

std::string render_socks_method(bool accepted) {
  return {kSocksVersion, accepted ? kNoAuth : kNoneAcceptable};
}

std::string render_socks_reply(SocksReply reply) {
  // No address of ours is told: 0.0.0.0:0.
  return {kSocksVersion, static_cast<char>(reply), 0, kIpv4, 0, 0, 0, 0, 0, 0};
}

}  // namespace loom::egress
