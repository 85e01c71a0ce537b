// What a refusal or a failure says to a person: its detail in words, never as JSON. Pure.
// Carries out: spec/broker.md "A call" (refusals, settlements), spec/cli.md "Errors are one line".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace loom::service {

// `name` is the refusal's reason or the failure's kind. "" when there is nothing to say beyond the name.
[[nodiscard]] std::string words_of_detail(std::string_view name, const Value& detail);
// "what is missing would be given by --grant ..."; "" for none.
[[nodiscard]] std::string words_of_wanted(const std::vector<Value>& wanted);

}  // namespace loom::service
