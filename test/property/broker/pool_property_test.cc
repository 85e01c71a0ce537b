#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "broker/pool.h"
#include "test/property/broker/runs.h"
#include "test/support/property.h"

namespace loom::broker {
namespace {

constexpr int kMoves = 11;

std::uint32_t sum(const PoolCounts& c) {
  return c.available + c.lent + c.draining + c.retiring + c.unconfirmed;
}

struct Model {
  std::uint32_t size = *rc::gen::inRange<std::uint32_t>(1, 12);
  std::uint32_t per_helper = *rc::gen::inRange<std::uint32_t>(1, 5);
  Pool pool{size, per_helper};
  TimePoint now{seconds(1)};
  std::map<HelperId, std::uint32_t> unproved;  // and its block
  std::vector<Lease> lent;
  std::vector<Lease> returned;

  HelperId any() const { return unproved.empty() ? 0 : *rc::gen::elementOf(ids()); }
  std::vector<HelperId> ids() const {
    std::vector<HelperId> out;
    for (const auto& [id, block] : unproved) out.push_back(id);
    return out;
  }
  bool takes(HelperId id) const {
    const auto at = pool.helpers().find(id);
    return at != pool.helpers().end() && at->second.custody == Custody::kLive;
  }

  void borrow() {
    auto answer = pool.borrow();
    const auto* lease = std::get_if<Lease>(&answer);
    if (lease == nullptr) return;
    RC_ASSERT(takes(lease->helper));
    for (const auto* known : {&lent, &returned}) {
      for (const Lease& other : *known) RC_ASSERT(other.number != lease->number);
    }
    lent.push_back(*lease);
  }
  void give_back() {
    if (lent.empty()) return;
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, lent.size());
    const Lease lease = lent[at];
    lent.erase(lent.begin() + static_cast<std::ptrdiff_t>(at));
    (void)pool.give_back(lease, *rc::gen::element(Pool::Work::kEnded, Pool::Work::kLive), now);
    returned.push_back(lease);
  }
  void spawn() {
    const auto order = pool.order_spawn(*rc::gen::arbitrary<bool>());
    if (!order) return;
    for (const auto& [id, block] : unproved) RC_ASSERT(block != order->block);
    unproved.emplace(order->helper, order->block);
  }
  void stale() {
    if (returned.empty()) return;
    const PoolCounts before = pool.counts();
    const Lease lease = *rc::gen::elementOf(returned);
    RC_ASSERT(!pool.begin(lease));
    RC_ASSERT(!pool.give_back(lease, Pool::Work::kLive, now));
    RC_ASSERT(pool.counts().lent == before.lent);
  }
  void move(int what) {
    const HelperId id = any();
    switch (what) {
      case 0:
        return borrow();
      case 1:
        return give_back();
      case 2:
        return spawn();
      case 3:
        return pool.hello(id, *rc::gen::inRange<std::uint32_t>(1, 5), now);
      case 4:
        return pool.withdraw(id);
      case 5:
        return pool.lost(id);
      case 6:
        return pool.unconfirmed(id, "why");
      case 7:
        pool.proved(id);
        unproved.erase(id);
        return;
      case 8:
        now += seconds(*rc::gen::inRange(0, 70));
        return pool.tick(now);
      case 9:
        return stale();
      default:
        if (*rc::gen::inRange(0, 20) == 0) pool.close();
    }
  }
  void check() const {
    RC_ASSERT(pool.reserved() <= size);
    RC_ASSERT(sum(pool.counts()) == size);
    RC_ASSERT(pool.helpers().size() == unproved.size());
    std::set<std::uint32_t> blocks;
    for (const auto& [id, helper] : pool.helpers()) {
      RC_ASSERT(unproved.contains(id));
      RC_ASSERT(helper.leases.size() <= helper.quota);
      RC_ASSERT(helper.quota <= per_helper);
      RC_ASSERT(blocks.insert(helper.block).second);
    }
  }
};

TEST(PoolProperty, CapacityIsNeverReusedBeforeTheProof) {
  std::array<int, kMoves> drawn{};
  loom::test::property("what unproved helpers hold is never lent or reserved twice", [&drawn] {
    Model model;
    const int steps = *rc::gen::inRange(0, 80);
    for (int i = 0; i < steps; ++i) {
      const int what = *rc::gen::inRange(0, kMoves);
      ++drawn[static_cast<std::size_t>(what)];
      model.move(what);
      model.check();
    }
  });
  for (const int times : drawn) EXPECT_GT(times, 0);
}

}  // namespace
}  // namespace loom::broker
