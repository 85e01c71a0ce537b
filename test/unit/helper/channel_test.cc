// The control socket: what was said is heard, whatever became of the one who said it.
#include "helper/channel.h"

#include <gtest/gtest.h>

namespace loom::helper {
namespace {

// The kernel tells of unread orders first, as an error; behind it stands the word.
TEST(Channel, TheLastWordOfOneWhoLeftWithoutReadingIsHeard) {
  Result<ControlPair> pair = make_control();
  ASSERT_TRUE(pair);
  ASSERT_TRUE(send_order(pair->helper.get(), stage2::ToStage2::kOrders));
  ASSERT_TRUE(send_word(pair->jail.get(), stage2::FromStage2::kRefused, "no"));
  pair->jail.reset();
  ControlMessage message;
  ASSERT_EQ(receive(pair->helper.get(), message), Received::kMessage);
  EXPECT_EQ(message.type(), stage2::FromStage2::kRefused);
  EXPECT_EQ(receive(pair->helper.get(), message), Received::kEnd);
}

TEST(Channel, NothingYetIsNotTheEnd) {
  Result<ControlPair> pair = make_control();
  ASSERT_TRUE(pair);
  ControlMessage message;
  EXPECT_EQ(receive(pair->helper.get(), message), Received::kNothingYet);
}

}  // namespace
}  // namespace loom::helper
