#include "verbs.h"

namespace loom::egress_tool {

std::vector<VerbRow> verbs() {
  return {request_verb(), check_verb(), serve_verb(), proxy_verb()};
}

}  // namespace loom::egress_tool
