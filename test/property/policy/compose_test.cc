#include "test/property/policy/generators.h"
#include "test/property/policy/model_access.h"
#include "test/support/property.h"

namespace loom {
namespace {

using test::may_read;
using test::may_write;
using test::property;

// Every path of the small world the generators draw from, three deep: few enough to ask about all of them.
std::vector<Path> world() {
  const std::vector<std::string> names = {"a", "b", "ab", "a.b", "\xff"};
  std::vector<Path> paths = {"/"};
  std::vector<Path> level = {""};
  for (int depth = 0; depth < 3; ++depth) {
    std::vector<Path> next;
    for (const Path& above : level) {
      for (const std::string& name : names) next.push_back(std::string(above).append("/").append(name));
    }
    paths.insert(paths.end(), next.begin(), next.end());
    level = next;
  }
  return paths;
}
const std::vector<Path>& all_paths() {
  static const std::vector<Path> kPaths = world();
  return kPaths;
}

const std::string* granted_path(const Grant& grant) {
  if (const auto* text = grant.value.get_if<std::string>()) return text;
  const auto* bytes = grant.value.get_if<Binary>();
  return bytes != nullptr ? &bytes->bytes : nullptr;
}

bool granted(const std::vector<Grant>& grants, const Path& path, bool write) {
  return std::any_of(grants.begin(), grants.end(), [&](const Grant& grant) {
    const std::string* root = granted_path(grant);
    if (root == nullptr || !covers(*root, path)) return false;
    return grant.kind == "writable_root" || grant.kind == "scratch" || (!write && grant.kind == "readable_root");
  });
}

TEST(Compose, a_policy_with_itself_is_itself_and_narrows_nothing) {
  property("compose(p, p, []) = (p, [])", [] {
    const Policy p = *test::any_policy();
    const Composed composed = compose(p, p, {});
    RC_ASSERT(composed.narrowings.empty());
    RC_ASSERT(policy_digest(composed.policy) == policy_digest(p));
  });
}

TEST(Compose, never_allows_what_base_does_not_unless_a_grant_says_so) {
  property("a (path, operation) of the composed policy is base's or a grant's", [] {
    const Policy base = *test::any_policy();
    const auto grants = *test::some_grants();
    const Policy policy = compose(base, *test::any_policy(), grants).policy;
    RC_PRE(validate_composed(policy));
    for (const Path& path : all_paths()) {
      RC_ASSERT(!may_write(policy, path) || may_write(base, path) || granted(grants, path, true));
      RC_ASSERT(!may_read(policy, path) || may_read(base, path) || granted(grants, path, false));
    }
  });
}

TEST(Compose, never_lets_a_root_be_written_that_the_requirements_do_not_name) {
  property("without grants a writable root lies in one of each side", [] {
    const Policy base = *test::any_policy();
    const Policy require = *test::any_policy();
    for (const Path& root : compose(base, require, {}).policy.writable_roots) {
      RC_ASSERT(test::any_covers(base.writable_roots, root));
      RC_ASSERT(test::any_covers(require.writable_roots, root));
    }
  });
}

TEST(Compose, limits_network_and_environment_never_exceed_base_without_a_grant) {
  property("fields other than paths stay within base", [] {
    const Policy base = *test::any_policy();
    const Policy policy = compose(base, *test::any_policy(), {}).policy;
    for (const LimitField& field : kLimitFields) {
      const std::uint64_t most = base.limits.*field.member;
      const std::uint64_t got = policy.limits.*field.member;
      RC_ASSERT(most == 0 || (got != 0 && got <= most));
    }
    RC_ASSERT(policy.network.mode <= base.network.mode);
    if (base.network.mode == NetworkMode::kProxy && policy.network.mode == NetworkMode::kProxy)
      RC_ASSERT(policy.network.proxy == base.network.proxy);
    for (const std::string& name : policy.env_allow)
      RC_ASSERT(std::count(base.env_allow.begin(), base.env_allow.end(), name) > 0);
  });
}

TEST(Compose, frozen_and_protected_never_shrink) {
  property("each frozen and protected entry of either side is in the composed policy", [] {
    const Policy base = *test::any_policy();
    const Policy require = *test::any_policy();
    const Policy policy = compose(base, require, *test::some_grants()).policy;
    const auto holds = [](const std::vector<Path>& all, const std::vector<Path>& some) {
      return std::all_of(some.begin(), some.end(),
                         [&](const Path& path) { return std::count(all.begin(), all.end(), path) == 1; });
    };
    RC_ASSERT(holds(policy.frozen, base.frozen) && holds(policy.frozen, require.frozen));
    RC_ASSERT(holds(policy.protected_paths, base.protected_paths) &&
              holds(policy.protected_paths, require.protected_paths));
  });
}

TEST(Compose, the_wanted_grants_leave_nothing_narrowed_but_mounts) {
  property("compose(b, r, g + wanted) narrows mounts alone", [] {
    const Policy base = *test::any_policy();
    const Policy require = *test::any_policy();
    auto grants = *test::some_grants();
    for (const Grant& grant : wanted_grants(compose(base, require, grants).narrowings)) {
      RC_ASSERT(decode_grant(encode_grant(grant)) == grant);
      grants.push_back(grant);
    }
    for (const Narrowing& narrowing : compose(base, require, grants).narrowings) RC_ASSERT(narrowing.kind == "mount");
  });
}

TEST(Compose, adding_a_frozen_or_protected_entry_never_widens) {
  property("one more entry on either side allows nothing new", [] {
    Policy base = *test::any_policy();
    Policy require = *test::any_policy();
    const auto grants = *test::some_grants();
    const Policy before = compose(base, require, grants).policy;
    Policy& side = *rc::gen::arbitrary<bool>() ? base : require;
    (*rc::gen::arbitrary<bool>() ? side.frozen : side.protected_paths).push_back(*test::any_path());
    const Policy after = compose(base, require, grants).policy;
    for (const Path& path : all_paths()) {
      RC_ASSERT(!may_write(after, path) || may_write(before, path));
      RC_ASSERT(!may_read(after, path) || may_read(before, path));
    }
  });
}

TEST(Compose, a_grant_never_takes_anything_away) {
  property("with one more grant all that was allowed stays allowed", [] {
    const Policy base = *test::any_policy();
    const Policy require = *test::any_policy();
    auto grants = *test::some_grants();
    const Policy before = compose(base, require, grants).policy;
    grants.push_back(*test::any_grant());
    // A read-only mount of base restricts a root that a grant opens around it, and another scratch replaces the first.
    RC_PRE(base.mounts.empty() && grants.back().kind != "scratch");
    const Policy after = compose(base, require, grants).policy;
    for (const Path& path : all_paths()) {
      RC_ASSERT(may_write(after, path) || !may_write(before, path));
      RC_ASSERT(may_read(after, path) || !may_read(before, path));
    }
  });
}

TEST(Compose, an_unenforceable_proxy_becomes_off_and_is_one_narrowing) {
  property("narrow_unenforceable leaves no proxy but the one that an operator runs", [] {
    const Composed before = compose(*test::any_policy(), *test::any_policy(), {});
    const Composed after = narrow_unenforceable(before, HostNetwork{false});
    const bool ours = before.policy.network.mode == NetworkMode::kProxy && before.policy.network.proxy.empty();
    if (!ours) return RC_ASSERT(after.policy == before.policy);
    RC_ASSERT(after.policy.network.mode == NetworkMode::kOff);
    const auto network = std::count_if(after.narrowings.begin(), after.narrowings.end(),
                                       [](const Narrowing& narrowing) { return narrowing.kind == "network"; });
    RC_ASSERT(network == 1);
    RC_ASSERT(narrow_unenforceable(before, HostNetwork{true}).policy == before.policy);
  });
}

}  // namespace
}  // namespace loom
