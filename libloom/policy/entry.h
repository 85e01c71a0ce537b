// ENTRY: one line of a network allow list (spec/egress.md "The proxy"). `example.org` only itself; `*.example.org` one
// or more labels before it, never the apex; an address or a range only literally; `:port` names another port than 443;
// `http://` in front opens plain HTTP on that host instead (port 80). Pure. Errors: bad_entry, with an empty place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "policy/host.h"

namespace loom {

enum class EntryKind { kName, kSubdomains, kRange };
enum class EntryScheme { kTls, kHttp };

struct Entry {
  EntryScheme scheme = EntryScheme::kTls;
  EntryKind kind = EntryKind::kName;
  Host host;            // the name, what follows "*.", or the first address of the range
  unsigned prefix = 0;  // of a range: 32 or 128 for one address
  std::uint16_t port = 443;
  friend bool operator==(const Entry&, const Entry&) = default;
};

[[nodiscard]] Result<Entry> parse_entry(std::string_view text);
// The one spelling of an entry; parses back to it.
[[nodiscard]] std::string render_entry(const Entry& entry);

// Whether all that `narrow` admits, `wide` admits.
[[nodiscard]] bool entry_covers(const Entry& wide, const Entry& narrow);

// A whole allow list. Each question costs a bounded number of look-ups however long the list is. What does not parse
// covers nothing.
class EntrySet {
 public:
  explicit EntrySet(const std::vector<std::string>& entries);
  [[nodiscard]] bool covers(const Entry& entry) const;
  [[nodiscard]] bool covers(std::string_view entry) const;

 private:
  std::unordered_set<std::string> rendered_;
};

}  // namespace loom
