// Errors as values. Nothing in libloom prints, exits or throws across a function of its own: a function that can
// fail returns Result<T>, and the error says what, where and why, and gains context on the way up.
// Carries out: spec/style.md "Errors are values", spec/cli.md "Errors are one line".
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace loom {

// `code` is the stable snake_case name a script may test ("missing_key", "bad_cwd"). `where` is the place, outermost
// first ("base.json: /limits/pids"). `what` is one sentence fragment without the place. `hint` is what to do, or "".
// None of the four ever holds a secret, a token or a whole message. They may hold bytes that are not UTF-8 (paths).
struct Error {
  std::string code;
  std::string where;
  std::string what;
  std::string hint;

  // Puts `outer` before the place: fail(...).context("read policy base.json").
  Error&& context(std::string_view outer) && {
    where = where.empty() ? std::string(outer) : std::string(outer) + ": " + where;
    return std::move(*this);
  }
  Error&& with_hint(std::string text) && {
    hint = std::move(text);
    return std::move(*this);
  }
  // "where: what", or "what" alone.
  [[nodiscard]] std::string text() const { return where.empty() ? what : where + ": " + what; }
};

inline bool operator==(const Error& a, const Error& b) {
  return a.code == b.code && a.where == b.where && a.what == b.what && a.hint == b.hint;
}

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// return fail("missing_key", "/limits", "missing key \"pids\"");
[[nodiscard]] inline tl::unexpected<Error> fail(std::string code, std::string where, std::string what,
                                                std::string hint = {}) {
  return tl::unexpected<Error>(Error{std::move(code), std::move(where), std::move(what), std::move(hint)});
}
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace loom

#define LOOM_CONCAT_INNER(a, b) a##b
#define LOOM_CONCAT(a, b) LOOM_CONCAT_INNER(a, b)
// LOOM_TRY(auto x, expression) binds the value or returns the error. LOOM_CHECK(expression) returns the error of a
// Status.
#define LOOM_TRY(declaration, expression) LOOM_TRY_INNER(declaration, expression, LOOM_CONCAT(loom_try_, __LINE__))
#define LOOM_TRY_INNER(declaration, expression, name)      \
  auto name = (expression);                                \
  if (!name) return ::loom::fail(std::move(name).error()); \
  declaration = std::move(*name)
#define LOOM_CHECK(expression)                                                                           \
  do {                                                                                                   \
    if (auto loom_check = (expression); !loom_check) return ::loom::fail(std::move(loom_check).error()); \
  } while (false)
