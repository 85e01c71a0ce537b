// Which addresses a request or a tunnel may connect to (spec/egress.md "Resolver and addresses"). Refused unless the
// policy lists that very address or range: whatever is not a public unicast address, and every IPv6 form that carries
// an IPv4 address is judged as that IPv4 as well. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/host.h"

namespace loom::egress {

struct Address {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // network order; IPv4 uses the first four
  friend bool operator==(const Address&, const Address&) = default;
};
[[nodiscard]] Address ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d);
// Nothing for a name.
[[nodiscard]] std::optional<Address> address_of(const Host& host);
// "10.0.0.1", "fe80::1" (no brackets). Error: host_syntax.
[[nodiscard]] Result<Address> parse_address(std::string_view text);
[[nodiscard]] std::string render_address(const Address& address);

// One line of ip_allow: "127.0.0.1", "127.0.0.1/32", "fd00::/8". An IPv4 range never covers an IPv6 address, not even
// one that carries an IPv4 address.
struct AddressRange {
  Address first;
  unsigned prefix = 0;
  [[nodiscard]] bool covers(const Address& address) const;
  [[nodiscard]] bool one_address() const { return prefix == (first.v6 ? 128U : 32U); }
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};
// Error: bad_range.
[[nodiscard]] Result<AddressRange> parse_range(std::string_view text);
[[nodiscard]] std::string render_range(const AddressRange& range);

enum class AddressFault {
  kUnspecified,
  kLoopback,
  kPrivate,
  kLinkLocal,
  kCarrierNat,
  kProtocolAssignments,  // 192.0.0.0/24, 2001::/23
  kDocumentation,
  kBenchmark,
  kMulticast,
  kReserved,
  kBroadcast,
  kUniqueLocal,
  kMetadata,
  kOwnListener,
};
[[nodiscard]] std::string_view render_fault(AddressFault fault);  // "loopback", "own_listener"

struct Listener {  // one of ours; an unspecified address stands for all of this host's
  Address address;
  std::uint16_t port = 0;
};

struct AddressRules {
  std::vector<AddressRange> allow;
  std::vector<Listener> own;
};

struct AddressRefusal {
  Address address;
  AddressFault why = AddressFault::kReserved;
};
using AddressVerdict = std::optional<AddressRefusal>;  // nothing: it may be connected to

// A metadata address needs an entry of its own (a range around it is not enough); one of our own listeners is refused
// whatever is listed.
[[nodiscard]] AddressVerdict judge_address(const Address& address, std::uint16_t port, const AddressRules& rules);
// All answers of one lookup: one bad address refuses the set.
[[nodiscard]] AddressVerdict judge_answers(const std::vector<Address>& answers, std::uint16_t port,
                                           const AddressRules& rules);

// The IPv4 addresses that an IPv6 one carries: mapped, compatible, translated, NAT64, 6to4, ISATAP: one; Teredo: two.
[[nodiscard]] std::vector<Address> embedded_ipv4(const Address& address);

}  // namespace loom::egress
