#include "base/json.h"
#include "base/msgpack.h"
#include "test/property/policy/generators.h"
#include "test/support/property.h"

namespace loom {
namespace {

using test::property;

TEST(Codec, a_policy_comes_back_from_both_encodings) {
  property("decode(encode(x)) = x", [] {
    const Policy x = *test::any_policy();
    RC_ASSERT(decode_policy_bytes(render_policy_msgpack(x)) == x);
    RC_ASSERT(decode_policy(encode_policy(x)) == x);
    if (const auto json = render_policy_json(x)) {
      RC_ASSERT(decode_policy_bytes(*json) == x);
    } else {
      RC_ASSERT(json.error().code == "not_utf8");
    }
  });
}

TEST(Codec, a_grant_comes_back_from_its_map_and_from_its_text) {
  property("decode(encode(g)) = g = parse(render(g))", [] {
    const Grant grant = *test::any_grant();
    RC_ASSERT(decode_grant(encode_grant(grant)) == grant);
    RC_ASSERT(parse_grant(render_grant(grant)) == grant);
  });
}

TEST(Codec, any_bytes_decode_to_a_policy_or_to_an_error_with_a_name) {
  property("any bytes give a value or an error", [] {
    const auto bytes = *rc::gen::arbitrary<std::string>();
    const auto policy = decode_policy_bytes(bytes);
    RC_ASSERT((policy || (!policy.error().code.empty() && !policy.error().what.empty())));
  });
}

TEST(Codec, a_document_with_one_byte_changed_decodes_to_a_policy_or_to_an_error_with_a_name) {
  property("one changed byte gives a value or an error", [] {
    const Policy x = *test::any_policy();
    const bool json = *rc::gen::arbitrary<bool>();
    std::string bytes = json ? render_policy_json(x).value_or("{}") : render_policy_msgpack(x);
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
    const auto policy = decode_policy_bytes(bytes);
    RC_ASSERT((policy || (!policy.error().code.empty() && !policy.error().what.empty())));
    if (policy) RC_ASSERT(decode_policy_bytes(render_policy_msgpack(*policy)) == *policy);
  });
}

TEST(Codec, the_digest_does_not_depend_on_order_or_repetition_of_paths_and_names) {
  property("digest(shuffled(x)) = digest(x)", [] {
    const Policy x = *test::any_policy();
    Policy y = x;
    for (auto* list : {&y.writable_roots, &y.readable_roots, &y.frozen, &y.protected_paths, &y.env_allow}) {
      std::reverse(list->begin(), list->end());
      if (!list->empty()) list->push_back(list->front());
    }
    RC_ASSERT(policy_digest(x) == policy_digest(y));
  });
}

TEST(Codec, the_digest_tells_policies_apart_that_mean_something_else) {
  property("another limit, another digest", [] {
    const Policy x = *test::any_policy();
    Policy y = x;
    y.limits.pids = x.limits.pids + 1;
    RC_ASSERT(policy_digest(x) != policy_digest(y));
  });
}

}  // namespace
}  // namespace loom
