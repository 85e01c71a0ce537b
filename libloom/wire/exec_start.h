// One execution asked of a helper.
// Carries out: spec/wire.md "Exec channel".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct TtySize {
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  friend bool operator==(const TtySize&, const TtySize&) = default;
};

struct ExecStart {
  std::vector<std::string> argv;           // non-empty; any bytes but NUL
  std::map<std::string, std::string> env;  // names: non-empty, no '=', no NUL
  std::string cwd;
  std::string token;                  // non-empty; secret
  std::optional<Value> policy;        // overrides the base policy of fd 3
  std::optional<Value> limits;        // the six; tightens only
  std::optional<std::string> demand;  // full, platform, best_effort
  std::optional<std::string> why;     // calls, paths
  std::optional<TtySize> tty;
  friend bool operator==(const ExecStart&, const ExecStart&) = default;
};

[[nodiscard]] Value encode(ExecStart const& message);
[[nodiscard]] Result<ExecStart> decode_exec_start(const Value& body);

}  // namespace loom
