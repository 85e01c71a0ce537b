#include "policy/entry.h"

#include <rapidcheck.h>

#include "policy/path_set.h"
#include "test/property/policy/generators.h"
#include "test/property/policy/model_access.h"
#include "test/support/property.h"

namespace loom {
namespace {

using test::property;

TEST(Entries, come_back_from_their_one_spelling) {
  property("parse(render(e)) = e", [] {
    const Entry entry = parse_entry(*test::any_entry()).value();
    RC_ASSERT(parse_entry(render_entry(entry)) == entry);
  });
}

TEST(Entries, a_set_covers_exactly_what_one_of_its_entries_covers) {
  property("EntrySet(entries).covers(e) = any entry_covers(entry, e)", [] {
    const auto entries = *rc::gen::resize(4, rc::gen::container<std::vector<std::string>>(test::any_entry()));
    const Entry asked = parse_entry(*test::any_entry()).value();
    const bool one_does = std::any_of(entries.begin(), entries.end(), [&](const std::string& text) {
      return entry_covers(parse_entry(text).value(), asked);
    });
    RC_ASSERT(EntrySet(entries).covers(asked) == one_does);
  });
}

TEST(Entries, covering_is_reflexive_and_transitive) {
  property("covers is a preorder", [] {
    const Entry a = parse_entry(*test::any_entry()).value();
    const Entry b = parse_entry(*test::any_entry()).value();
    const Entry c = parse_entry(*test::any_entry()).value();
    RC_ASSERT(entry_covers(a, a));
    RC_ASSERT(!entry_covers(a, b) || !entry_covers(b, c) || entry_covers(a, c));
  });
}

TEST(Entries, any_text_is_an_entry_or_an_error_with_a_name) {
  property("any text parses or is refused", [] {
    const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "a", "*", ".", ":", "/", "[", "]", "1", "0", "256", "::", "http://", "-", "xn--", "%", "\xff", "@"));
    std::string text;
    for (const std::string& part : parts) text += part;
    const auto entry = parse_entry(text);
    if (entry) {
      RC_ASSERT(parse_entry(render_entry(*entry)) == *entry);
    }
    RC_ASSERT((entry || entry.error().code == "bad_entry"));
  });
}

TEST(PathSets, answer_as_asking_each_path_in_turn_would) {
  property("PathSet agrees with covers", [] {
    const auto paths = *rc::gen::resize(8, rc::gen::container<std::vector<Path>>(test::any_path()));
    const Path asked = *test::any_path();
    const PathSet set(paths);
    RC_ASSERT((set.covering(asked) != nullptr) == test::any_covers(paths, asked));
    const auto below = [&](const Path& path) { return covers(asked, path); };
    RC_ASSERT((set.inside(asked) != nullptr) == std::any_of(paths.begin(), paths.end(), below));
    for (const Path& path : set.all_inside(asked)) RC_ASSERT(below(path));
    RC_ASSERT(set.contains(asked) == (std::count(paths.begin(), paths.end(), asked) > 0));
    if (const Path* root = set.covering(asked))
      RC_ASSERT(
          std::none_of(paths.begin(), paths.end(), [&](const Path& path) { return covers_strictly(path, *root); }));
  });
}

}  // namespace
}  // namespace loom
