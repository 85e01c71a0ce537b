// Ledgers and vault under random use.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "broker/budget.h"
#include "broker/vault.h"
#include "test/property/broker/runs.h"
#include "test/support/property.h"

namespace loom::broker {
namespace {

StepKey draw_step() {
  return {*rc::gen::element<std::string>("a", "b"), *rc::gen::element<std::string>("1", "2")};
}

TEST(BudgetProperty, TheCapHoldsAndEveryReservationReturnsToNothing) {
  std::array<int, 6> drawn{};
  loom::test::property("reservations never pass the opener's cap and all books empty at the end", [&drawn] {
    Ledgers ledgers;
    TimePoint now{seconds(1)};
    std::vector<Reservation> reserved;
    std::vector<Wait> waits;
    std::vector<Reservation> stale;
    const auto pick = [](auto& from) {
      const std::size_t at = *rc::gen::inRange<std::size_t>(0, from.size());
      auto taken = from[at];
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
      return taken;
    };
    const int steps = *rc::gen::inRange(0, 60);
    for (int i = 0; i < steps; ++i) {
      const int what = *rc::gen::inRange(0, 6);
      ++drawn[static_cast<std::size_t>(what)];
      const StepKey key = draw_step();
      if (what == 0) {
        const BudgetTerms terms{*rc::gen::inRange<std::uint64_t>(1, 4), *rc::gen::inRange<std::uint64_t>(0, 3)};
        auto answer = ledgers.reserve(key, terms, now);
        if (auto* got = std::get_if<Reservation>(&answer)) reserved.push_back(*got);
        const auto same = std::count_if(reserved.begin(), reserved.end(), [&](const auto& r) { return r.key == key; });
        RC_ASSERT(same <= 3);
      } else if (what == 1 && !reserved.empty()) {
        stale.push_back(pick(reserved));
        ledgers.release(stale.back());
      } else if (what == 2) {
        waits.push_back(ledgers.wait(key, {1, 0}, now));
      } else if (what == 3 && !waits.empty()) {
        ledgers.release(pick(waits));
      } else if (what == 4) {
        // Wholesale: what was held under the key is free, and its holders' releases mean nothing any more.
        ledgers.sweep_step(key);
        for (const Reservation& r : reserved) {
          if (r.key == key) stale.push_back(r);
        }
        std::erase_if(reserved, [&](const auto& r) { return r.key == key; });
        std::erase_if(waits, [&](const auto& w) { return w.key == key; });
      } else {
        now += milliseconds(1);
        const std::uint64_t before = ledgers.outstanding();
        for (const Reservation& r : stale) {
          const bool shares = std::any_of(reserved.begin(), reserved.end(),
                                          [&](const auto& held) { return held.generation == r.generation; });
          if (!shares) ledgers.release(r);
        }
        RC_ASSERT(ledgers.outstanding() == before);
      }
      RC_ASSERT(ledgers.outstanding() == reserved.size());
    }
    for (const Reservation& r : reserved) ledgers.release(r);
    for (const Wait& w : waits) ledgers.release(w);
    RC_ASSERT(ledgers.outstanding() == 0U);
    RC_ASSERT(ledgers.size() == 0U);
  });
  for (const int times : drawn) EXPECT_GT(times, 0);
}

TEST(VaultProperty, ATokenDiesWithItsExecution) {
  std::array<int, 5> drawn{};
  loom::test::property("a token is valid exactly while its execution lives unswept and in time", [&drawn] {
    struct Minted {
      TokenId id;
      std::string bytes;
      TokenBinding binding;
      bool swept = false;
      bool settled = false;
    };
    Vault vault;
    std::vector<Minted> minted;
    TimePoint now{seconds(1)};
    const int steps = *rc::gen::inRange(0, 40);
    for (int i = 0; i < steps; ++i) {
      const int what = *rc::gen::inRange(0, 5);
      ++drawn[static_cast<std::size_t>(what)];
      const StepKey key = draw_step();
      if (what == 0) {
        std::string bytes(kTokenBytes, 't');
        bytes.replace(0, 4, std::to_string(1000 + i));
        TokenBinding binding{key, "digest", std::nullopt};
        if (*rc::gen::arbitrary<bool>()) binding.deadline = now + milliseconds(*rc::gen::inRange(0, 4));
        const auto id = vault.mint(bytes, binding);
        RC_ASSERT(id.has_value());
        minted.push_back({*id, bytes, binding});
      } else if (what == 1 && !minted.empty()) {
        Minted& one = minted[*rc::gen::inRange<std::size_t>(0, minted.size())];
        vault.settle(one.id);
        one.settled = true;
      } else if (what == 2) {
        vault.revoke_step(key);
        for (Minted& one : minted) one.swept = one.swept || one.binding.step == key;
      } else if (what == 3) {
        vault.revoke_op(key.op_id);
        for (Minted& one : minted) one.swept = one.swept || one.binding.step.op_id == key.op_id;
      } else {
        now += milliseconds(1);
      }
      for (const Minted& one : minted) {
        const bool late = one.binding.deadline && *one.binding.deadline <= now;
        const TokenVerdict want = one.settled ? TokenVerdict::kUnknown
                                  : one.swept ? TokenVerdict::kRevoked
                                  : late      ? TokenVerdict::kExpired
                                              : TokenVerdict::kValid;
        RC_ASSERT(vault.present(one.bytes, one.binding, now) == want);
      }
    }
    for (const Minted& one : minted) vault.settle(one.id);
    RC_ASSERT(vault.size() == 0U);
  });
  for (const int times : drawn) EXPECT_GT(times, 0);
}

}  // namespace
}  // namespace loom::broker
