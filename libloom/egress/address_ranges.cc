// The table of what is no public unicast address (the IANA registries of special-purpose addresses, and the metadata
// services of the large clouds), and the judge over it.
#include <algorithm>
#include <utility>

#include "egress/addresses.h"

namespace loom::egress {

namespace {

struct Row {
  const char* range;
  AddressFault fault;
};

// The first row that covers decides: a single address before the range around it.
constexpr Row kRows[] = {
    {"0.0.0.0/8", AddressFault::kUnspecified},
    {"10.0.0.0/8", AddressFault::kPrivate},
    {"100.64.0.0/10", AddressFault::kCarrierNat},
    {"127.0.0.0/8", AddressFault::kLoopback},
    {"169.254.0.0/16", AddressFault::kLinkLocal},
    {"172.16.0.0/12", AddressFault::kPrivate},
    {"192.0.0.0/24", AddressFault::kProtocolAssignments},
    {"192.0.2.0/24", AddressFault::kDocumentation},
    {"192.88.99.0/24", AddressFault::kReserved},
    {"192.168.0.0/16", AddressFault::kPrivate},
    {"198.18.0.0/15", AddressFault::kBenchmark},
    {"198.51.100.0/24", AddressFault::kDocumentation},
    {"203.0.113.0/24", AddressFault::kDocumentation},
    {"224.0.0.0/4", AddressFault::kMulticast},
    {"255.255.255.255", AddressFault::kBroadcast},
    {"240.0.0.0/4", AddressFault::kReserved},
    {"::", AddressFault::kUnspecified},
    {"::1", AddressFault::kLoopback},
    {"64:ff9b:1::/48", AddressFault::kPrivate},  // NAT64 of a site's own: where it leads is not to be read off it
    {"100::/64", AddressFault::kReserved},
    {"2001:2::/48", AddressFault::kBenchmark},
    {"2001:db8::/32", AddressFault::kDocumentation},
    {"3fff::/20", AddressFault::kDocumentation},
    {"fc00::/7", AddressFault::kUniqueLocal},
    {"fe80::/10", AddressFault::kLinkLocal},
    {"fec0::/10", AddressFault::kPrivate},
    {"ff00::/8", AddressFault::kMulticast},
};
constexpr const char* kMetadata[] = {
    "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16",
    "192.0.0.192",     "fd00:ec2::254", "fd00:ec2::23",   "fd20:ce::254",
};

AddressRange range_of(const char* text) {
  return parse_range(text).value();  // the tables' own text: a test reads every row
}

const std::vector<std::pair<AddressRange, AddressFault>>& rows() {
  static const auto kParsed = [] {
    std::vector<std::pair<AddressRange, AddressFault>> parsed;
    for (const char* text : kMetadata) parsed.emplace_back(range_of(text), AddressFault::kMetadata);
    for (const Row& row : kRows) parsed.emplace_back(range_of(row.range), row.fault);
    return parsed;
  }();
  return kParsed;
}

const AddressRange& teredo() {
  static const AddressRange kRange = range_of("2001::/32");
  return kRange;
}

Address ipv4_at(const Address& address, std::size_t at, std::uint8_t flip = 0) {
  return ipv4(address.bytes[at] ^ flip, address.bytes[at + 1] ^ flip, address.bytes[at + 2] ^ flip,
              address.bytes[at + 3] ^ flip);
}

std::optional<AddressFault> fault_of_one(const Address& address) {
  for (const auto& [range, fault] : rows()) {
    if (range.covers(address)) return fault;
  }
  return std::nullopt;
}

// What of IPv6 is left when the forms that carry IPv4 are set aside: only 2000::/3 is handed out, and of it 2001::/23
// belongs to protocols.
std::optional<AddressFault> fault_of_plain_ipv6(const Address& address) {
  static const AddressRange kGlobal = range_of("2000::/3");
  static const AddressRange kProtocols = range_of("2001::/23");
  if (!kGlobal.covers(address)) return AddressFault::kReserved;
  if (kProtocols.covers(address)) return AddressFault::kProtocolAssignments;
  return std::nullopt;
}

std::optional<AddressFault> fault_of(const Address& address) {
  if (const auto fault = fault_of_one(address)) return fault;
  if (!address.v6) return std::nullopt;
  const std::vector<Address> carried = embedded_ipv4(address);
  for (const Address& inner : carried) {
    if (const auto fault = fault_of_one(inner)) return fault;
  }
  return carried.empty() ? fault_of_plain_ipv6(address) : std::nullopt;
}

bool is_loopback_or_unspecified(const Address& address) {
  const auto fault = fault_of(address);
  return fault == AddressFault::kLoopback || fault == AddressFault::kUnspecified;
}

// The same host by another spelling counts: all that is loopback or unspecified reaches this host.
bool is_own(const Address& address, std::uint16_t port, const std::vector<Listener>& own) {
  return std::any_of(own.begin(), own.end(), [&](const Listener& listener) {
    if (listener.port != port) return false;
    if (listener.address == address) return true;
    const auto carried = embedded_ipv4(address);
    if (std::find(carried.begin(), carried.end(), listener.address) != carried.end()) return true;
    return is_loopback_or_unspecified(listener.address) && is_loopback_or_unspecified(address);
  });
}

}  // namespace

std::vector<Address> embedded_ipv4(const Address& address) {
  static const std::vector<AddressRange> kLastFour = {
      range_of("::ffff:0:0/96"),    // mapped
      range_of("::/96"),            // compatible
      range_of("::ffff:0:0:0/96"),  // translated
      range_of("64:ff9b::/96"),     // NAT64
  };
  static const AddressRange kSixToFour = range_of("2002::/16");
  if (!address.v6) return {};
  for (const AddressRange& range : kLastFour) {
    if (range.covers(address)) return {ipv4_at(address, 12)};
  }
  if (kSixToFour.covers(address)) return {ipv4_at(address, 2)};
  if (teredo().covers(address)) return {ipv4_at(address, 4), ipv4_at(address, 12, 0xff)};  // its server, its client
  const auto& bytes = address.bytes;
  const bool isatap = (bytes[8] & 0xfdU) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe;
  static const AddressRange kGlobal = range_of("2000::/3");
  if (isatap && kGlobal.covers(address)) return {ipv4_at(address, 12)};
  return {};
}

AddressVerdict judge_address(const Address& address, std::uint16_t port, const AddressRules& rules) {
  if (is_own(address, port, rules.own)) return AddressRefusal{address, AddressFault::kOwnListener};
  const auto fault = fault_of(address);
  if (!fault) return std::nullopt;
  const bool listed = std::any_of(rules.allow.begin(), rules.allow.end(), [&](const AddressRange& range) {
    return range.covers(address) && (range.one_address() || fault != AddressFault::kMetadata);
  });
  if (listed) return std::nullopt;
  return AddressRefusal{address, *fault};
}

AddressVerdict judge_answers(const std::vector<Address>& answers, std::uint16_t port, const AddressRules& rules) {
  for (const Address& address : answers) {
    if (auto refusal = judge_address(address, port, rules)) return refusal;
  }
  return std::nullopt;
}

}  // namespace loom::egress
