// Property tests with a fixed, printed and settable seed: RC_PARAMS="seed=N max_success=M" overrides it.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace loom::test {

inline void seed_once() {
  static const bool done = [] {
    ::setenv("RC_PARAMS", "seed=20261129 max_success=300", 0);
    std::fprintf(stderr, "properties: RC_PARAMS=\"%s\"\n", std::getenv("RC_PARAMS"));
    return true;
  }();
  (void)done;
}

// property("decode(encode(x)) = x", [](const X& x) { RC_ASSERT(...); });
template <class Testable>
void property(const std::string& sentence, Testable&& testable) {
  seed_once();
  EXPECT_TRUE(rc::check(sentence, std::forward<Testable>(testable))) << sentence;
}

}  // namespace loom::test
