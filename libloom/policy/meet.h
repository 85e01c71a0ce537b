// The meet of base and requirements, field by field (the table of spec/policy.md "Composition"). Internal to policy/:
// compose.cc puts the fields together and applies the grants. Pure and total.
#pragma once

#include <string>
#include <vector>

#include "policy/model.h"

namespace loom::meet {

// Appends what `into` does not hold yet, keeping the order.
void add_new(std::vector<std::string>& into, const std::vector<std::string>& more);

// For each pair where one covers the other, the narrower. A root that a read-only mount of either side covers is not
// writable there.
[[nodiscard]] std::vector<Path> writable_roots(const Policy& base, const Policy& requirements);
// Likewise over the roots that base lets be read. Those inside `composed_writable` are left in: drop_redundant_readable
// is asked once the grants are in.
[[nodiscard]] std::vector<Path> readable_roots(const Policy& base, const Policy& requirements,
                                               const std::vector<Path>& composed_writable);
// Drops each readable root strictly inside a writable one.
void drop_redundant_readable(Policy& policy);
// Exact paths, the weaker access, the stronger requirement; then base's read-only mounts inside what `composed` lets be
// written (its writable roots, its host scratch, the mounts themselves) and those around its host scratch: they
// restrict.
[[nodiscard]] std::vector<Mount> mounts(const Policy& base, const Policy& requirements, const Policy& composed);
[[nodiscard]] Network network(const Network& base, const Network& requirements);
[[nodiscard]] Limits limits(const Limits& base, const Limits& requirements);
[[nodiscard]] std::vector<std::string> names(const std::vector<std::string>& base,
                                             const std::vector<std::string>& requirements);

// 0 is unlimited, so it is the greatest.
[[nodiscard]] constexpr bool limit_at_least(std::uint64_t limit, std::uint64_t wanted) {
  return limit == 0 || (wanted != 0 && limit >= wanted);
}

}  // namespace loom::meet
