// What the environment may not decide (spec/egress.md "Transfer").
#pragma once

#include <optional>
#include <string>

namespace loom::egress_tool {

// Takes out of our environment what libcurl, OpenSSL and c-ares would heed: key logs, other configurations, modules and
// roots, proxies, search lists. The first thing main does: nothing of theirs may have started.
void cleanse_environment();

// The value of a variable, for the secrets that a policy names.
[[nodiscard]] std::optional<std::string> environment_value(const std::string& name);

}  // namespace loom::egress_tool
