// The one question every layer asks about paths: composition, the plan, audits, Landlock, explain (spec/policy.md
// "Paths").
#pragma once

#include <string_view>

namespace loom {

// By component and byte-exact: "/" covers everything, "/ws" covers "/ws" and "/ws/sub", never "/wsx". Both canonical.
[[nodiscard]] bool covers(std::string_view root, std::string_view path);
// covers, and not equal.
[[nodiscard]] bool covers_strictly(std::string_view root, std::string_view path);

}  // namespace loom
