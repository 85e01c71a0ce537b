#include "service/end_words.h"

#include <gtest/gtest.h>

namespace loom::service {
namespace {

Value narrowing(const char* kind, Value wanted, Value granted) {
  return Map{{"kind", kind}, {"wanted", std::move(wanted)}, {"granted", std::move(granted)}};
}

struct Row {
  const char* name;
  Value detail;
  const char* words;
};

TEST(EndWords, ADetailIsSaidInWords) {
  const std::vector<Row> rows = {
      {"policy_refused",
       Map{{"narrowings", Array{narrowing("network", "full", "off"), narrowing("writable_root", "/w", Value())}}},
       "network: wanted full, granted off; writable_root: wanted /w, granted nothing"},
      {"policy_invalid",
       Map{{"error", Map{{"code", "wrong_type"}, {"where", "/limits/pids"}, {"message", "want integer"}}}},
       "/limits/pids: want integer"},
      {"policy_refused",
       Map{{"narrowings", Array{Map{{"kind", "network"},
                                    {"wanted", Map{{"mode", "proxy"}, {"allow", Array{"a.test", "b.test"}}}},
                                    {"granted", Map{{"mode", "off"}}}}}}},
       "network: wanted proxy:a.test,b.test, granted off"},
      {"budget_exhausted", Map{{"outstanding", 3}, {"max", 3}}, "3 calls of this step run, and it allows 3"},
      {"all_busy", Map{{"size", 4}, {"waited_ms", 300}}, "none of 4 slots came free in 300 ms"},
      {"degraded_helper", Map{{"missing", Array{"landlock", "seccomp-net"}}}, "the helper lacks landlock, seccomp-net"},
      {"enforcement_short", Map{{"missing", Array{"mounts"}}, {"skipped", Array{"cgroup-v2"}}},
       "missing: mounts; skipped: cgroup-v2"},
      {"proto_mismatch", Map{{"helper", 3}, {"broker", 4}}, "the helper speaks protocol 3, this broker 4"},
      {"execution_lost", Map{{"cause", "helper_down"}}, "helper_down: the helper ended under it"},
      {"helper_refused", Map{{"code", "bad_cwd"}, {"msg", "no such directory"}}, "no such directory"},
      {"shutting_down", Map{}, ""},
      {"from_a_later_version", Map{{"depth", 7}, {"place", "x"}}, "depth 7, place x"},
  };
  for (const Row& row : rows) EXPECT_EQ(words_of_detail(row.name, row.detail), row.words) << row.name;
}

TEST(EndWords, ALongListIsCutAndCounted) {
  Array missing;
  for (int i = 0; i < 20; ++i) missing.emplace_back("l" + std::to_string(i));
  EXPECT_EQ(words_of_detail("degraded_helper", Map{{"missing", std::move(missing)}}),
            "the helper lacks l0, l1, l2, l3, l4, l5 and 14 more");
}

TEST(EndWords, WhatIsWantedIsSaidAsTheFlagsThatGiveIt) {
  EXPECT_EQ(words_of_wanted({Map{{"kind", "network"}, {"value", "full"}},
                             Map{{"kind", "limit"}, {"field", "pids"}, {"value", 64}}}),
            "what is missing would be given by --grant network=full --grant limit.pids=64");
  EXPECT_EQ(words_of_wanted({}), "");
}

}  // namespace
}  // namespace loom::service
