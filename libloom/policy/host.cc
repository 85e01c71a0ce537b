#include "policy/host.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "policy/punycode.h"

namespace loom {

namespace {

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxName = 253;

using Address = std::array<std::uint8_t, 16>;

tl::unexpected<Error> bad_host(std::string what) {
  return fail("host_syntax", "", std::move(what));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Decimal without leading zeros, at most `most`.
std::optional<unsigned> parse_decimal(std::string_view text, unsigned most) {
  if (!all_digits(text) || text.size() > 5 || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) value = value * 10 + static_cast<unsigned>(c - '0');
  if (value > most) return std::nullopt;
  return value;
}

// What other parsers would take for a number (decimal, octal or 0x hexadecimal): such a last label makes the host an
// address.
bool looks_numeric(std::string_view label) {
  if (all_digits(label)) return true;
  return label.size() >= 2 && label[0] == '0' && label[1] == 'x' && std::all_of(label.begin() + 2, label.end(), is_hex);
}

Status check_label(std::string_view label) {
  if (label.empty()) return bad_host("a host with an empty label");
  if (label.size() > kMaxLabel) return bad_host("a host label over 63 bytes");
  if (label.front() == '-' || label.back() == '-') return bad_host("a host label that begins or ends with a hyphen");
  for (const char c : label) {
    if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-')
      return bad_host("a host label may hold only ASCII letters, digits and hyphens");
  }
  if (label.substr(0, 4) == "xn--" && !is_punycode(label.substr(4)))
    return bad_host("a host label that is no valid punycode");
  return {};
}

// The 16-bit groups of one side of "::". `tail` allows the last one to be a dotted IPv4 address, which gives two.
std::optional<std::vector<std::uint16_t>> parse_groups(std::string_view text, bool tail) {
  std::vector<std::uint16_t> groups;
  if (text.empty()) return groups;
  for (bool more = true; more;) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    more = colon != std::string_view::npos;
    if (more) text.remove_prefix(colon + 1);
    if (!more && tail && group.find('.') != std::string_view::npos) {
      const auto quad = parse_ipv4(group);
      if (!quad) return std::nullopt;
      const Address& bytes = quad->address;
      groups.push_back(static_cast<std::uint16_t>(bytes[0] << 8U | bytes[1]));
      groups.push_back(static_cast<std::uint16_t>(bytes[2] << 8U | bytes[3]));
      continue;
    }
    if (group.empty() || group.size() > 4 || !std::all_of(group.begin(), group.end(), is_hex)) return std::nullopt;
    unsigned value = 0;
    for (const char c : group) value = value * 16 + static_cast<unsigned>(is_digit(c) ? c - '0' : lower(c) - 'a' + 10);
    groups.push_back(static_cast<std::uint16_t>(value));
  }
  return groups;
}

// Where the longest run of at least two zero groups begins, and its length (0: none). The first of equals wins.
std::pair<std::size_t, std::size_t> longest_zero_run(const std::array<unsigned, 8>& groups) {
  std::pair<std::size_t, std::size_t> best{0, 0};
  for (std::size_t begin = 0; begin < 8;) {
    std::size_t end = begin;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - begin > best.second && end - begin >= 2) best = {begin, end - begin};
    begin = end + 1;
  }
  return best;
}

}  // namespace

Result<Host> parse_ipv4(std::string_view text) {
  Host host;
  host.kind = HostKind::kIpv4;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t dot = i < 3 ? text.find('.') : text.size();
    const auto number = dot == std::string_view::npos ? std::nullopt : parse_decimal(text.substr(0, dot), 255);
    if (!number) return bad_host("an IPv4 address is four decimal numbers from 0 to 255 without leading zeros");
    host.address[i] = static_cast<std::uint8_t>(*number);
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  host.text = render_ipv4(host.address);
  return host;
}

Result<Host> parse_ipv6(std::string_view text) {
  const auto malformed = [] { return bad_host("no IPv6 address (a zone id is none either)"); };
  const std::size_t gap = text.find("::");
  const bool compressed = gap != std::string_view::npos;
  const auto head = parse_groups(text.substr(0, gap), !compressed);
  const auto tail = compressed ? parse_groups(text.substr(gap + 2), true) : parse_groups("", false);
  if (!head || !tail) return malformed();
  const std::size_t count = head->size() + tail->size();
  if (compressed ? count > 7 : count != 8) return malformed();
  std::array<std::uint16_t, 8> groups{};
  std::copy(head->begin(), head->end(), groups.begin());
  std::copy_backward(tail->begin(), tail->end(), groups.end());
  Host host;
  host.kind = HostKind::kIpv6;
  for (std::size_t i = 0; i < 8; ++i) {
    host.address[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8U);
    host.address[2 * i + 1] = static_cast<std::uint8_t>(groups[i] & 0xffU);
  }
  host.text = render_ipv6(host.address);
  return host;
}

Result<Host> parse_host(std::string_view text) {
  if (!text.empty() && text.front() == '[') {
    if (text.back() != ']') return bad_host("a bracket that is not closed");
    return parse_ipv6(text.substr(1, text.size() - 2));
  }
  if (!text.empty() && text.back() == '.') text.remove_suffix(1);
  if (text.empty()) return bad_host("an empty host");
  if (text.size() > kMaxName) return bad_host("a host over 253 bytes");
  Host host;
  host.text.resize(text.size());
  std::transform(text.begin(), text.end(), host.text.begin(), lower);
  const std::string_view name = host.text;
  if (looks_numeric(name.substr(name.rfind('.') + 1))) return parse_ipv4(name);
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    LOOM_CHECK(check_label(name.substr(begin, end - begin)));
    begin = end + 1;
  }
  return host;
}

std::string render_ipv4(const Address& address) {
  std::string text;
  for (std::size_t i = 0; i < 4; ++i) text += (i > 0 ? "." : "") + std::to_string(address[i]);
  return text;
}

std::string render_ipv6(const Address& address) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i) groups[i] = static_cast<unsigned>(address[2 * i]) << 8U | address[2 * i + 1];
  const auto [run, length] = longest_zero_run(groups);
  std::string text;
  for (std::size_t i = 0; i < 8;) {
    if (length > 0 && i == run) {
      text += "::";
      i += length;
      continue;
    }
    if (i > 0 && text.back() != ':') text += ':';
    bool begun = false;
    for (int shift = 12; shift >= 0; shift -= 4) {
      const unsigned digit = groups[i] >> static_cast<unsigned>(shift) & 0xfU;
      begun = begun || digit != 0 || shift == 0;
      if (begun) text += kDigits[digit];
    }
    ++i;
  }
  return text;
}

Result<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_decimal(text, 65535);
  if (!port || *port == 0) return bad_host("a port is a number from 1 to 65535 without leading zeros");
  return static_cast<std::uint16_t>(*port);
}

}  // namespace loom
