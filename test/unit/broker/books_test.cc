// Budgets, tokens: the ledgers and the vault.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "broker/budget.h"
#include "broker/vault.h"

namespace loom::broker {
namespace {

const StepKey kStep{"op", "1"};
const TimePoint kNow{seconds(100)};

Reservation reserve(Ledgers& ledgers, const BudgetTerms& terms, TimePoint now = kNow, const StepKey& key = kStep) {
  auto answer = ledgers.reserve(key, terms, now);
  EXPECT_TRUE(std::holds_alternative<Reservation>(answer));
  return std::get<Reservation>(answer);
}

TEST(Budget, LaterCallsShareTheFirstOnesCapAndCannotWidenIt) {
  Ledgers ledgers;
  (void)reserve(ledgers, {2, 0});
  (void)reserve(ledgers, {1000, 0});
  const auto third = ledgers.reserve(kStep, {1000, 0}, kNow);
  const auto* full = std::get_if<BudgetExhausted>(&third);
  ASSERT_NE(full, nullptr);
  EXPECT_EQ(full->outstanding, 2U);
  EXPECT_EQ(full->max, 2U);
}

TEST(Budget, TheDeadlineIsTheLedgersAndLaterCallsDoNotMoveIt) {
  Ledgers ledgers;
  (void)reserve(ledgers, {4, 1000});
  (void)reserve(ledgers, {4, 999'999}, kNow + milliseconds(999));
  EXPECT_EQ(ledgers.deadline(kStep), kNow + milliseconds(1000));
  const auto late = ledgers.reserve(kStep, {4, 999'999}, kNow + milliseconds(1000));
  EXPECT_TRUE(std::holds_alternative<DeadlinePassed>(late));
}

TEST(Budget, ALedgerGoesWhenNothingIsReservedAndNothingWaits) {
  Ledgers ledgers;
  const Reservation held = reserve(ledgers, {1, 0});
  const Wait wait = ledgers.wait(kStep, {9, 0}, kNow);
  ledgers.release(held);
  EXPECT_EQ(ledgers.outstanding(), 0U);
  EXPECT_EQ(ledgers.size(), 1U) << "a waiter keeps the cap it came under";
  ledgers.release(wait);
  EXPECT_EQ(ledgers.size(), 0U);
}

TEST(Budget, AReleaseFromBeforeASweepDoesNotFreeALaterLedger) {
  Ledgers ledgers;
  const Reservation old = reserve(ledgers, {1, 0});
  ledgers.sweep_step(kStep);
  (void)reserve(ledgers, {1, 0});
  ledgers.release(old);
  EXPECT_EQ(ledgers.outstanding(), 1U);
}

TEST(Budget, ASweepOfAnOperationTakesEveryStepAndNoOther) {
  Ledgers ledgers;
  (void)reserve(ledgers, {1, 0}, kNow, {"op", "1"});
  (void)reserve(ledgers, {1, 0}, kNow, {"op", "2"});
  (void)reserve(ledgers, {1, 0}, kNow, {"other", "1"});
  ledgers.sweep_op("op");
  EXPECT_EQ(ledgers.size(), 1U);
}

TEST(Budget, ReleasingWithNothingOutstandingIsNothing) {
  Ledgers ledgers;
  const Reservation held = reserve(ledgers, {1, 0});
  ledgers.release(held);
  ledgers.release(held);
  EXPECT_EQ(ledgers.size(), 0U);
}

TEST(Budget, NoNumberOfMillisecondsOverflows) {
  Ledgers ledgers;
  (void)reserve(ledgers, {1, ~0ULL});
  EXPECT_GT(*ledgers.deadline(kStep), kNow);
}

std::string token(char fill) {
  return std::string(kTokenBytes, fill);
}

TEST(Vault, ATokenIsValidForItsBindingUntilItsExecutionSettles) {
  Vault vault;
  const TokenBinding binding{kStep, "digest", std::nullopt};
  const auto id = vault.mint(token('a'), binding);
  ASSERT_TRUE(id);
  EXPECT_EQ(vault.present(token('a'), binding, kNow), TokenVerdict::kValid);
  vault.settle(*id);
  EXPECT_EQ(vault.present(token('a'), binding, kNow), TokenVerdict::kUnknown);
  EXPECT_EQ(vault.size(), 0U);
}

TEST(Vault, RefusalsComeInTheirOrder) {
  Vault vault;
  const TokenBinding binding{kStep, "digest", kNow};
  const TokenBinding other{{"op", "2"}, "digest", kNow};
  EXPECT_EQ(vault.present(token('a'), other, kNow), TokenVerdict::kUnknown);
  const auto id = vault.mint(token('a'), binding);
  ASSERT_TRUE(id);
  EXPECT_EQ(vault.present(token('a'), other, kNow - seconds(1)), TokenVerdict::kWrongBinding);
  EXPECT_EQ(vault.present(token('a'), other, kNow), TokenVerdict::kExpired);
  vault.revoke(*id);
  EXPECT_EQ(vault.present(token('a'), other, kNow), TokenVerdict::kRevoked);
}

TEST(Vault, ASweepRevokesExactlyItsScope) {
  Vault vault;
  const TokenBinding one{{"op", "1"}, "d", {}};
  const TokenBinding two{{"op", "2"}, "d", {}};
  ASSERT_TRUE(vault.mint(token('1'), one));
  ASSERT_TRUE(vault.mint(token('2'), two));
  vault.revoke_step({"op", "1"});
  EXPECT_EQ(vault.present(token('1'), one, kNow), TokenVerdict::kRevoked);
  EXPECT_EQ(vault.present(token('2'), two, kNow), TokenVerdict::kValid);
  vault.revoke_op("op");
  EXPECT_EQ(vault.present(token('2'), two, kNow), TokenVerdict::kRevoked);
}

TEST(Vault, OnlyThirtyTwoFreshBytesMakeAToken) {
  Vault vault;
  EXPECT_FALSE(vault.mint("", {}));
  EXPECT_FALSE(vault.mint(std::string(31, 'a'), {}));
  EXPECT_TRUE(vault.mint(token('a'), {}));
  EXPECT_FALSE(vault.mint(token('a'), {}));
}

}  // namespace
}  // namespace loom::broker
