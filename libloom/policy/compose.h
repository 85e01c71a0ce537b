// base + requirements + grants: most restrictive wins, explicit grants are the only widening (spec/policy.md
// "Composition").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "policy/model.h"

namespace loom {

// One requirement that the composed policy does not satisfy. wanted and granted are the document's own values.
struct Narrowing {
  std::string kind;   // writable_root readable_root network env limit scratch mount
  std::string field;  // for limit: which; else ""
  Value wanted;
  Value granted;  // nil: nothing
  friend bool operator==(const Narrowing&, const Narrowing&) = default;
};

// One explicit widening. value: a path, a name, a number (limit; 0 unlimited), "full" or a map {mode, allow} (network).
struct Grant {
  std::string kind;   // writable_root readable_root network env limit scratch
  std::string field;  // for limit
  Value value;
  friend bool operator==(const Grant&, const Grant&) = default;
};

struct Composed {
  Policy policy;
  std::vector<Narrowing> narrowings;  // empty: the tool got all it asked for
};

// Pure and total: whatever the three are, an answer comes out. The caller validates the policy before use.
[[nodiscard]] Composed compose(const Policy& base, const Policy& requirements, const std::vector<Grant>& grants);
// Exactly the grants that would satisfy the narrowings (none for a mount).
[[nodiscard]] std::vector<Grant> wanted_grants(const std::vector<Narrowing>& narrowings);

struct HostNetwork {
  bool can_proxy = false;  // this broker can give a jail a proxy
};
// proxy becomes off where no proxy can be given, as an ordinary narrowing (appended). One that the policy names by its
// socket is the operator's, and stays.
[[nodiscard]] Composed narrow_unenforceable(Composed composed, const HostNetwork& host);

// The wire and JSON forms: {kind, wanted, granted} and {kind, value}, with field where there is one.
[[nodiscard]] Value encode_narrowing(const Narrowing& narrowing);
[[nodiscard]] Value encode_grant(const Grant& grant);
[[nodiscard]] Result<Grant> decode_grant(const Value& value);  // errors name the key
// The command line's form: writable_root=PATH, env=NAME, limit.FIELD=N, network=full, network=proxy:E,E, scratch=PATH.
[[nodiscard]] Result<Grant> parse_grant(std::string_view text);
[[nodiscard]] std::string render_grant(const Grant& grant);

// Ready-made values. What a workspace holds is looked up by workspace_facts (workspace.h).
struct WorkspaceFacts {
  std::vector<Path> frozen;        // absolute; present entries, and the guarded ones that are absent
  std::vector<Path> writable;      // a worktree's common directory, a submodule's own; checked
  std::vector<std::string> notes;  // what was seen and not followed, in words
};
[[nodiscard]] Policy workspace_default(const Path& dir, const WorkspaceFacts& facts);
enum class LeaseOutput { kLog, kWire };
[[nodiscard]] Policy session_lease(Policy base, LeaseOutput output);

}  // namespace loom
