// A second reading of an HTTP head by Boost.Beast: what two parsers read differently is refused (spec/egress.md "The
// proxy"). The adapter is http_beast.cc; no Boost header leaves it.
#pragma once

#include <string_view>

#include "base/result.h"

namespace loom::egress {

struct HttpHead;

// `head` is what our own parser read in `raw`. Error: bad_request.
[[nodiscard]] Status beast_agrees(std::string_view raw, const HttpHead& head);

}  // namespace loom::egress
