#include "policy/allow_list.h"

#include <set>

#include "base/hash.h"

namespace loom {

Result<AllowList> AllowList::parse(const std::vector<std::string>& entries) {
  AllowList list;
  std::set<std::string> rendered;
  for (const std::string& text : entries) {
    auto entry = parse_entry(text);
    if (!entry) return fail(std::move(entry).error().context(text));
    if (rendered.insert(render_entry(*entry)).second) list.entries_.push_back(std::move(*entry));
  }
  std::string lines;
  for (const std::string& line : rendered) lines += line + "\n";
  list.digest_ = sha256_hex(lines);
  return list;
}

const Entry* AllowList::admits(EntryScheme scheme, const Host& host, std::uint16_t port) const {
  Entry asked;
  asked.scheme = scheme;
  asked.host = host;
  asked.port = port;
  asked.kind = host.kind == HostKind::kName ? EntryKind::kName : EntryKind::kRange;
  asked.prefix = host.kind == HostKind::kName ? 0 : host.bits();
  for (const Entry& entry : entries_) {
    if (entry_covers(entry, asked)) return &entry;
  }
  return nullptr;
}

}  // namespace loom
