// An answer's map as rows for people: one a value, named by its place ("pool.size", "live[0].mode"). Pure.
#pragma once

#include <string>
#include <vector>

#include "base/value.h"

namespace loom::broker {

// The first row is the heading. Cells are escaped.
[[nodiscard]] std::vector<std::vector<std::string>> flatten(const Value& value);

}  // namespace loom::broker
