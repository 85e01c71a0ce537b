// The entries of loom-runbook(7): every state in which loom ends closed has one, named by its code. Pure.
// A test holds this list against the codes in the sources and against the page. Carries out: spec/broker.md "The
// socket" ("Every fail-closed state names its entry").
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace loom {

// In the page's order.
[[nodiscard]] const std::vector<std::string_view>& runbook_entries();

// The entry of an error's code: the code itself, the entry it belongs to, or "" when none is about it.
[[nodiscard]] std::string_view runbook_entry(std::string_view code);

// The error with its hint naming the entry, where there is one.
[[nodiscard]] Error with_runbook_entry(Error error);
[[nodiscard]] Error with_runbook_entry(Error error, std::string_view code);  // another one than the error's own

}  // namespace loom
