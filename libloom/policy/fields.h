// Reading one decoded Value as the kinds of field a policy document has. Internal to policy/: decode.cc and grants.cc
// share it, so that a path or a number is refused in the same words wherever it stands. Errors: the codes of
// spec/policy.md "Decoding"; `where` is the JSON pointer handed in. Nothing is owned beyond the result.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "policy/model.h"

namespace loom::fields {

// "wrong type: want integer, got "many"".
[[nodiscard]] tl::unexpected<Error> wrong_type(std::string where, std::string_view want, const Value& got);

// This value is a map with exactly these keys: unknown_key (the first in the document), then missing_key (the first of
// `keys`).
[[nodiscard]] Result<const Map*> exact_map(const Value& value, const std::string& where,
                                           std::initializer_list<std::string_view> keys);

[[nodiscard]] Result<std::string> text(const Value& value, const std::string& where);
[[nodiscard]] Result<bool> boolean(const Value& value, const std::string& where);
// negative_limit, limit_too_large (over 2^63-1).
[[nodiscard]] Result<std::uint64_t> limit(const Value& value, const std::string& where);
// Text or bytes. empty_path, nul_in_path, relative_path, path_too_long; canonical form is validation's question.
[[nodiscard]] Result<Path> path(const Value& value, const std::string& where);
// An environment name: not empty, no '=', no NUL (bad_env_name).
[[nodiscard]] Result<std::string> env_name(const Value& value, const std::string& where);
// An ENTRY string of spec/egress.md (bad_entry).
[[nodiscard]] Result<std::string> network_entry(const Value& value, const std::string& where);

template <class T>
using ReadElement = Result<T> (*)(const Value&, const std::string&);

template <class T>
Result<std::vector<T>> list(const Value& value, const std::string& where, ReadElement<T> read) {
  const auto* array = value.get_if<Array>();
  if (array == nullptr) return wrong_type(where, "array", value);
  std::vector<T> elements;
  elements.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    LOOM_TRY(auto element, read((*array)[i], where + "/" + std::to_string(i)));
    elements.push_back(std::move(element));
  }
  return elements;
}

}  // namespace loom::fields
