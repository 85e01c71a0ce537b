#include "broker/pool.h"

#include <gtest/gtest.h>

#include <utility>

namespace loom::broker {
namespace {

const TimePoint kNow{seconds(100)};

Lease borrow(Pool& pool) {
  auto answer = pool.borrow();
  EXPECT_TRUE(std::holds_alternative<Lease>(answer));
  return std::get<Lease>(answer);
}
NoSlot no_slot(Pool& pool) {
  return std::get<NoSlot>(pool.borrow());
}

HelperId live(Pool& pool, std::uint32_t capacity = 4) {
  const auto order = pool.order_spawn();
  EXPECT_TRUE(order);
  pool.hello(order->helper, capacity, kNow);
  return order->helper;
}

std::uint32_t sum(const PoolCounts& c) {
  return c.available + c.lent + c.draining + c.retiring + c.unconfirmed;
}

TEST(Pool, AHelperReservesAtMostWhatIsLeft) {
  Pool pool(6, 4);
  (void)live(pool);
  EXPECT_EQ(pool.reserved(), 4U);
  for (int i = 0; i < 4; ++i) (void)borrow(pool);
  const auto second = pool.order_spawn();
  ASSERT_TRUE(second);
  EXPECT_EQ(pool.reserved(), 6U);
}

TEST(Pool, WhatAHelloDoesNotCoverIsGivenBack) {
  Pool pool(8, 4);
  (void)live(pool, 1);
  EXPECT_EQ(pool.reserved(), 1U);
}

TEST(Pool, OneHelperStartsAtATimeAndNoneWhileASlotIsSpare) {
  Pool pool(16, 4);
  const auto first = pool.order_spawn();
  ASSERT_TRUE(first);
  EXPECT_FALSE(pool.order_spawn());
  pool.hello(first->helper, 4, kNow);
  EXPECT_FALSE(pool.order_spawn());
  EXPECT_TRUE(pool.order_spawn(true)) << "a spare one is asked for by name";
}

TEST(Pool, NoSlotIsCongestionUntilEverySlotIsUnconfirmed) {
  Pool pool(2, 1);
  EXPECT_EQ(no_slot(pool), NoSlot::kCongested);
  const HelperId one = live(pool);
  pool.unconfirmed(one, "its end was not seen");
  EXPECT_EQ(no_slot(pool), NoSlot::kCongested);
  const HelperId two = live(pool);
  pool.unconfirmed(two, "its end was not seen");
  EXPECT_EQ(no_slot(pool), NoSlot::kUnavailable);
  EXPECT_FALSE(pool.order_spawn());
  pool.proved(one);
  EXPECT_EQ(no_slot(pool), NoSlot::kCongested);
  EXPECT_TRUE(pool.order_spawn());
}

TEST(Pool, ALeaseIsSingleUse) {
  Pool pool(4, 4);
  (void)live(pool);
  const Lease lease = borrow(pool);
  EXPECT_TRUE(pool.begin(lease));
  EXPECT_FALSE(pool.begin(lease));
  EXPECT_TRUE(pool.give_back(lease, Pool::Work::kEnded, kNow));
  EXPECT_FALSE(pool.begin(lease));
  const Lease other = borrow(pool);
  EXPECT_FALSE(pool.give_back(lease, Pool::Work::kLive, kNow)) << "a stale lease moves nothing";
  EXPECT_EQ(pool.counts().lent, 1U);
  EXPECT_TRUE(pool.begin(other));
}

TEST(Pool, ALeaseReturnedWithLiveWorkWithdrawsTheHelper) {
  Pool pool(4, 4);
  const HelperId id = live(pool);
  const Lease bad = borrow(pool);
  const Lease good = borrow(pool);
  EXPECT_TRUE(pool.give_back(bad, Pool::Work::kLive, kNow));
  EXPECT_EQ(pool.counts().draining, 4U);
  EXPECT_EQ(no_slot(pool), NoSlot::kCongested);
  EXPECT_TRUE(pool.take_retirements().empty()) << "its sibling still runs";
  EXPECT_TRUE(pool.give_back(good, Pool::Work::kEnded, kNow));
  EXPECT_EQ(pool.take_retirements(), std::vector<HelperId>{id});
}

TEST(Pool, OnlyTheLastReturnStartsTheIdleClock) {
  Pool pool(4, 4);
  const HelperId id = live(pool);
  const Lease one = borrow(pool);
  const Lease two = borrow(pool);
  EXPECT_FALSE(pool.next_deadline());
  pool.give_back(one, Pool::Work::kEnded, kNow);
  EXPECT_FALSE(pool.next_deadline());
  pool.give_back(two, Pool::Work::kEnded, kNow + seconds(5));
  EXPECT_EQ(pool.next_deadline(), kNow + seconds(65));
  pool.tick(kNow + seconds(64));
  EXPECT_TRUE(pool.take_retirements().empty());
  pool.tick(kNow + seconds(65));
  EXPECT_EQ(pool.take_retirements(), std::vector<HelperId>{id});
  EXPECT_EQ(no_slot(pool), NoSlot::kCongested) << "its slots come back with the proof only";
  EXPECT_EQ(pool.reserved(), 4U);
  pool.proved(id);
  EXPECT_EQ(pool.reserved(), 0U);
}

TEST(Pool, ABlockOfHostIdsIsReusedOnlyAfterTheProof) {
  Pool pool(8, 4);
  const HelperId one = live(pool);
  pool.lost(one);
  const auto two = pool.order_spawn();
  ASSERT_TRUE(two);
  EXPECT_EQ(two->block, 1U);
  pool.hello(two->helper, 4, kNow);
  pool.proved(one);
  pool.lost(two->helper);
  const auto three = pool.order_spawn();
  ASSERT_TRUE(three);
  EXPECT_EQ(three->block, 0U);
}

TEST(Pool, TheLeastLentHelperIsBorrowedFrom) {
  Pool pool(8, 4);
  const HelperId one = live(pool);
  const auto order = pool.order_spawn(true);
  ASSERT_TRUE(order);
  pool.hello(order->helper, 4, kNow);
  EXPECT_EQ(borrow(pool).helper, one);
  EXPECT_EQ(borrow(pool).helper, order->helper);
}

TEST(Pool, AClosedPoolLendsNothingAndRetiresEveryHelper) {
  Pool pool(8, 4);
  const HelperId one = live(pool);
  const Lease lease = borrow(pool);
  const auto two = pool.order_spawn(true);
  ASSERT_TRUE(two);
  pool.close();
  EXPECT_EQ(no_slot(pool), NoSlot::kUnavailable);
  EXPECT_EQ(pool.take_retirements(), std::vector<HelperId>{two->helper});
  pool.give_back(lease, Pool::Work::kEnded, kNow);
  EXPECT_EQ(pool.take_retirements(), std::vector<HelperId>{one});
  EXPECT_FALSE(pool.order_spawn(true));
}

TEST(Pool, TheCountsAddUpToTheSize) {
  Pool pool(10, 4);
  const HelperId one = live(pool);
  EXPECT_EQ(sum(pool.counts()), 10U);
  (void)borrow(pool);
  EXPECT_EQ(sum(pool.counts()), 10U);
  pool.withdraw(one);
  EXPECT_EQ(pool.counts().draining, 4U);
  EXPECT_EQ(sum(pool.counts()), 10U);
  const HelperId two = live(pool);
  pool.unconfirmed(two, "why");
  EXPECT_EQ(pool.counts().unconfirmed, 4U);
  EXPECT_EQ(sum(pool.counts()), 10U);
}

}  // namespace
}  // namespace loom::broker
