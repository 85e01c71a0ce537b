// A whole allow list as the proxy judges by it (spec/egress.md "The proxy"): which entry, if any, admits a connection.
// Pure. An empty list admits nothing. Carries out: spec/egress.md "One judge", "How the jail reaches it" (the digest).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/entry.h"

namespace loom {

class AllowList {
 public:
  AllowList() = default;  // admits nothing
  // Each entry must parse; the error is parse_entry's with the entry as its place.
  [[nodiscard]] static Result<AllowList> parse(const std::vector<std::string>& entries);

  // The first entry that admits this host and port under this scheme, or nullptr.
  [[nodiscard]] const Entry* admits(EntryScheme scheme, const Host& host, std::uint16_t port) const;
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // SHA-256, hex, over the rendered entries: lists that mean the same, whatever their order, have one digest.
  [[nodiscard]] const std::string& digest() const { return digest_; }

 private:
  std::vector<Entry> entries_;
  std::string digest_;
};

}  // namespace loom
