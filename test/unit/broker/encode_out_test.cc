// The frames of the outbound boundaries that carry more than data.
#include <gtest/gtest.h>

#include "broker/broker_core.h"
#include "wire/frame.h"

namespace loom::broker {
namespace {

TEST(EncodeOut, AStartHoldsItsTokenAndIsTheSameFrameAsOfItsBody) {
  ExecStart start;
  start.argv = {"true", std::string("\xa5token\xc4\x04", 8) + std::string(4, '\0')};
  start.env = {{"A", "b"}};
  start.cwd = "/";
  start.token = "secr";
  start.policy = Value(Map{{"v", 3}, {"long", std::string(10'000, 'x')}});
  const std::string frame = encode_exec(7, start);
  EXPECT_EQ(frame, encode_frame(7, "exec_start", encode(start)));
}

}  // namespace
}  // namespace loom::broker
