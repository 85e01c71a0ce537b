#include "policy/entry.h"

#include <algorithm>

namespace loom {

namespace {

constexpr std::uint16_t kTlsPort = 443;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::string_view kHttp = "http://";

tl::unexpected<Error> bad_entry(std::string what, std::string hint = "") {
  return fail("bad_entry", "", std::move(what), std::move(hint));
}

std::uint16_t default_port(EntryScheme scheme) {
  return scheme == EntryScheme::kHttp ? kHttpPort : kTlsPort;
}

using Address = std::array<std::uint8_t, 16>;

Address masked(Address address, unsigned prefix) {
  for (unsigned i = 0; i < address.size(); ++i) {
    const unsigned keep = std::clamp(static_cast<int>(prefix) - static_cast<int>(i * 8), 0, 8);
    address[i] = static_cast<std::uint8_t>(address[i] & (0xff00U >> keep));
  }
  return address;
}

Entry widened(Entry entry, unsigned prefix) {
  entry.prefix = prefix;
  entry.host.address = masked(entry.host.address, prefix);
  entry.host.text =
      entry.host.kind == HostKind::kIpv4 ? render_ipv4(entry.host.address) : render_ipv6(entry.host.address);
  return entry;
}

// An entry cut into its pieces, before any is judged. A bare IPv6 address or range has colons of its own, hence no
// port.
struct Pieces {
  std::string_view host;
  std::string_view prefix;
  std::string_view port;
  bool has_prefix = false;
  bool has_port = false;
};

Pieces cut(std::string_view text) {
  Pieces pieces;
  const bool bracketed = !text.empty() && text.front() == '[';
  const std::size_t host_end = bracketed ? std::min(text.find(']'), text.size() - 1) + 1 : 0;
  const std::size_t colon = text.find(':', host_end);
  const bool bare_ipv6 =
      !bracketed && colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos;
  if (colon != std::string_view::npos && !bare_ipv6) {
    pieces.port = text.substr(colon + 1);
    pieces.has_port = true;
    text = text.substr(0, colon);
  }
  const std::size_t slash = text.find('/', host_end);
  pieces.host = text.substr(0, slash);
  if (slash != std::string_view::npos) {
    pieces.prefix = text.substr(slash + 1);
    pieces.has_prefix = true;
  }
  return pieces;
}

Result<Host> parse_entry_host(std::string_view text) {
  const bool bare_ipv6 = text.find(':') != std::string_view::npos && text.front() != '[';
  auto host = bare_ipv6 ? parse_ipv6(text) : parse_host(text);
  if (!host) return bad_entry(host.error().what);
  return host;
}

Result<Entry> with_prefix(Entry entry, const Pieces& pieces) {
  entry.kind = EntryKind::kRange;
  entry.prefix = entry.host.bits();
  if (!pieces.has_prefix) return entry;
  if (pieces.prefix != "0") {
    const auto length = parse_port(pieces.prefix);  // the same form: decimal, no leading zero
    if (!length || *length > entry.host.bits())
      return bad_entry("a range ends in /0 to /" + std::to_string(entry.host.bits()));
    entry.prefix = *length;
  } else {
    entry.prefix = 0;
  }
  if (masked(entry.host.address, entry.prefix) != entry.host.address)
    return bad_entry("the range has bits behind its prefix",
                     "write it as " + render_entry(widened(entry, entry.prefix)));
  return entry;
}

}  // namespace

Result<Entry> parse_entry(std::string_view text) {
  Entry entry;
  if (text.substr(0, kHttp.size()) == kHttp) {
    entry.scheme = EntryScheme::kHttp;
    text.remove_prefix(kHttp.size());
  } else if (text.find("://") != std::string_view::npos) {
    return bad_entry("a scheme other than http://", "an entry without a scheme is https");
  }
  const Pieces pieces = cut(text);
  if (pieces.host == "*") return bad_entry("a bare * would allow every host", "network \"full\" says that");
  entry.port = default_port(entry.scheme);
  if (pieces.has_port) {
    const auto port = parse_port(pieces.port);
    if (!port) return bad_entry(port.error().what);
    entry.port = *port;
  }
  const bool subdomains = pieces.host.substr(0, 2) == "*.";
  LOOM_TRY(entry.host, parse_entry_host(subdomains ? pieces.host.substr(2) : pieces.host));
  if (entry.host.kind != HostKind::kName) {
    if (subdomains) return bad_entry("an address has no subdomains");
    return with_prefix(std::move(entry), pieces);
  }
  if (pieces.has_prefix) return bad_entry("an entry names a host, not a path", "only an address has a /prefix");
  entry.kind = subdomains ? EntryKind::kSubdomains : EntryKind::kName;
  return entry;
}

std::string render_entry(const Entry& entry) {
  std::string text = entry.scheme == EntryScheme::kHttp ? std::string(kHttp) : std::string();
  const bool ported = entry.port != default_port(entry.scheme);
  if (entry.kind == EntryKind::kSubdomains) text += "*.";
  const bool brackets = entry.host.kind == HostKind::kIpv6 && ported;
  text += brackets ? "[" + entry.host.text + "]" : entry.host.text;
  if (entry.kind == EntryKind::kRange && entry.prefix != entry.host.bits()) text += "/" + std::to_string(entry.prefix);
  if (ported) text += ":" + std::to_string(entry.port);
  return text;
}

bool entry_covers(const Entry& wide, const Entry& narrow) {
  if (wide.scheme != narrow.scheme || wide.port != narrow.port) return false;
  const std::string& name = narrow.host.text;
  const std::string dotted = "." + wide.host.text;
  switch (wide.kind) {
    case EntryKind::kName:
      return narrow.kind == EntryKind::kName && name == wide.host.text;
    case EntryKind::kSubdomains:
      if (narrow.kind == EntryKind::kRange) return false;
      if (narrow.kind == EntryKind::kSubdomains && name == wide.host.text) return true;
      return name.size() > dotted.size() && name.compare(name.size() - dotted.size(), dotted.size(), dotted) == 0;
    case EntryKind::kRange:
      return narrow.kind == EntryKind::kRange && wide.host.kind == narrow.host.kind && wide.prefix <= narrow.prefix &&
             masked(narrow.host.address, wide.prefix) == wide.host.address;
  }
  return false;
}

EntrySet::EntrySet(const std::vector<std::string>& entries) {
  for (const std::string& text : entries) {
    if (auto entry = parse_entry(text)) rendered_.insert(render_entry(*entry));
  }
}

bool EntrySet::covers(const Entry& entry) const {
  if (rendered_.count(render_entry(entry)) > 0) return true;
  if (entry.kind == EntryKind::kRange) {
    for (unsigned prefix = 0; prefix < entry.prefix; ++prefix) {
      if (rendered_.count(render_entry(widened(entry, prefix))) > 0) return true;
    }
    return false;
  }
  Entry parent = entry;
  parent.kind = EntryKind::kSubdomains;
  for (std::size_t dot = entry.host.text.find('.'); dot != std::string::npos;
       dot = entry.host.text.find('.', dot + 1)) {
    parent.host.text = entry.host.text.substr(dot + 1);
    if (rendered_.count(render_entry(parent)) > 0) return true;
  }
  return false;
}

bool EntrySet::covers(std::string_view entry) const {
  const auto parsed = parse_entry(entry);
  return parsed && covers(*parsed);
}

}  // namespace loom
