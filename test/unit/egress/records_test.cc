#include "egress/records.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace loom::egress {
namespace {

const Failure kRefused{NotAllowed{Rule{RuleKind::kOrigins, std::nullopt}}, Stage::kPolicy};

TEST(Records, a_call_is_one_line_without_query_values) {
  CallRecord record;
  record.at_ms = 5;
  record.caller = "tool";
  record.method = Method::kPost;
  record.destination = parse_url("https://a.test/p?key=VALUE", Schemes::kHttpsOnly).value();
  record.status = 200;
  record.credential = "gh";
  EXPECT_EQ(
      render_record(record),
      R"({"record":"call","at_ms":5,"caller":"tool","run":"","method":"POST","destination":"https://a.test/p?key=",)"
      R"("status":200,"hops":0,"request_sha256":"","response_sha256":"","bytes_out":0,"bytes_in":0,"credential":"gh"})"
      "\n");
  record.failure = Failure{TlsFailed{"no"}, Stage::kTls};
  const Value failed = parse_json(render_record(record)).value();
  EXPECT_EQ(*failed.find("code"), Value("tls"));
  EXPECT_EQ(*failed.find("stage"), Value("tls"));
  EXPECT_EQ(*failed.find("reason"), Value("no"));
}

TEST(Records, a_blob_is_one_line) {
  EXPECT_EQ(render_record(BlobRecord{3, "tool", "run-1", "cas://sha256:00", 12}),
            R"({"record":"blob","at_ms":3,"caller":"tool","run":"run-1","uri":"cas://sha256:00","bytes":12})"
            "\n");
}

TEST(Records, are_bounded_whatever_the_caller_sends) {
  CallRecord record;
  record.caller = std::string(100000, 'c');
  record.run = std::string(100000, '\n');
  record.destination = parse_url("https://a.test/" + std::string(8000, 'a'), Schemes::kHttpsOnly).value();
  record.failure = Failure{HeaderRefused{std::string(100000, 'h'), HeaderFault::kReserved}, Stage::kRequest};
  const std::string line = render_record(record);
  EXPECT_LT(line.size(), 4096U);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(Refusals, are_told_apart_by_caller_destination_and_reason) {
  Refusals refusals;
  EXPECT_TRUE(refusals.note(make_refusal("a", "x.test:443", kRefused)));
  EXPECT_TRUE(refusals.note(make_refusal("b", "x.test:443", kRefused)));
  EXPECT_TRUE(refusals.note(make_refusal("a", "y.test:443", kRefused)));
  EXPECT_TRUE(refusals.note(make_refusal("a", "x.test:443", Failure{DeadlinePassed{}, Stage::kTls})));
  EXPECT_EQ(refusals.rows().size(), 4U);
}

TEST(Refusals, repeated_ones_cost_a_line_each_time_their_count_has_doubled) {
  Refusals refusals;
  std::vector<std::uint64_t> written;
  for (int i = 0; i < 1000; ++i) {
    if (const auto row = refusals.note(make_refusal("a", "x.test:443", kRefused))) written.push_back(row->count);
  }
  EXPECT_EQ(written, (std::vector<std::uint64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}));
  ASSERT_EQ(refusals.unwritten().size(), 1U);
  EXPECT_EQ(refusals.unwritten()[0].count, 1000U);
}

TEST(Refusals, a_flood_of_destinations_is_bounded) {
  Refusals refusals;
  std::size_t lines = 0;
  for (int i = 0; i < 5000; ++i)
    lines += refusals.note(make_refusal("a", "h" + std::to_string(i) + ".test:443", kRefused)) ? 1 : 0;
  EXPECT_EQ(refusals.rows().size(), Refusals::kMost + 1);
  EXPECT_LT(lines, Refusals::kMost + 20);
  EXPECT_EQ(render_record(refusals.rows().front(), 7).substr(0, 30), R"({"record":"refusal","at_ms":7,)");
}

}  // namespace
}  // namespace loom::egress
