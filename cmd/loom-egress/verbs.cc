#include "verbs.h"

namespace loom::egress_tool {

std::vector<VerbRow> verbs() {
  return {};
}

}  // namespace loom::egress_tool
