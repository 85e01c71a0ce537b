#include "egress/addresses.h"

#include <algorithm>

namespace loom::egress {

namespace {

bool same_prefix(const Address& a, const Address& b, unsigned bits) {
  for (unsigned i = 0; i * 8 < bits; ++i) {
    const unsigned keep = std::min(8U, bits - i * 8);
    if (((a.bytes[i] ^ b.bytes[i]) & (0xff00U >> keep) & 0xffU) != 0) return false;
  }
  return true;
}

Host as_host(const Address& address) {
  Host host;
  host.kind = address.v6 ? HostKind::kIpv6 : HostKind::kIpv4;
  host.address = address.bytes;
  return host;
}

tl::unexpected<Error> bad_range(std::string what) {
  return fail("bad_range", "", std::move(what), "an address, or ADDRESS/PREFIX");
}

// Decimal without leading zeros, at most `most`.
std::optional<unsigned> parse_prefix(std::string_view text, unsigned most) {
  if (text == "0") return 0U;
  const auto number = parse_port(text);  // the same form
  if (!number || *number > most) return std::nullopt;
  return *number;
}

}  // namespace

Address ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  Address address;
  address.bytes = {a, b, c, d};
  return address;
}

std::optional<Address> address_of(const Host& host) {
  if (host.kind == HostKind::kName) return std::nullopt;
  Address address;
  address.v6 = host.kind == HostKind::kIpv6;
  const std::size_t size = address.v6 ? 16 : 4;
  std::copy_n(host.address.begin(), size, address.bytes.begin());
  return address;
}

Result<Address> parse_address(std::string_view text) {
  LOOM_TRY(const Host host, text.find(':') != std::string_view::npos ? parse_ipv6(text) : parse_ipv4(text));
  return *address_of(host);
}

std::string render_address(const Address& address) {
  const Host host = as_host(address);
  return address.v6 ? render_ipv6(host.address) : render_ipv4(host.address);
}

bool AddressRange::covers(const Address& address) const {
  return address.v6 == first.v6 && same_prefix(address, first, prefix);
}

Result<AddressRange> parse_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  auto address = parse_address(text.substr(0, slash));
  if (!address) return bad_range(address.error().what);
  AddressRange range{*address, address->v6 ? 128U : 32U};
  if (slash == std::string_view::npos) return range;
  const auto prefix = parse_prefix(text.substr(slash + 1), range.prefix);
  if (!prefix) return bad_range("a range ends in /0 to /" + std::to_string(range.prefix));
  range.prefix = *prefix;
  for (unsigned bit = range.prefix; bit < (range.first.v6 ? 128U : 32U); ++bit) {
    if ((range.first.bytes[bit / 8] >> (7 - bit % 8) & 1U) != 0)
      return bad_range("the range has bits behind its prefix");
  }
  return range;
}

std::string render_range(const AddressRange& range) {
  return render_address(range.first) + "/" + std::to_string(range.prefix);
}

std::string_view render_fault(AddressFault fault) {
  switch (fault) {
    case AddressFault::kUnspecified:
      return "unspecified";
    case AddressFault::kLoopback:
      return "loopback";
    case AddressFault::kPrivate:
      return "private";
    case AddressFault::kLinkLocal:
      return "link_local";
    case AddressFault::kCarrierNat:
      return "carrier_nat";
    case AddressFault::kProtocolAssignments:
      return "protocol_assignments";
    case AddressFault::kDocumentation:
      return "documentation";
    case AddressFault::kBenchmark:
      return "benchmark";
    case AddressFault::kMulticast:
      return "multicast";
    case AddressFault::kReserved:
      return "reserved";
    case AddressFault::kBroadcast:
      return "broadcast";
    case AddressFault::kUniqueLocal:
      return "unique_local";
    case AddressFault::kMetadata:
      return "metadata";
    case AddressFault::kOwnListener:
      return "own_listener";
  }
  return "reserved";
}

}  // namespace loom::egress
