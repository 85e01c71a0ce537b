#include "broker/pool.h"

#include <algorithm>
#include <utility>

#include "broker/instant.h"

namespace loom::broker {

namespace {

std::uint32_t spare(const PoolHelper& helper) {
  const auto lent = static_cast<std::uint32_t>(helper.leases.size());
  return helper.custody == Custody::kLive && helper.quota > lent ? helper.quota - lent : 0;
}

}  // namespace

std::string_view to_text(Custody custody) {
  switch (custody) {
    case Custody::kStarting:
      return "starting";
    case Custody::kLive:
      return "live";
    case Custody::kWithdrawn:
      return "withdrawn";
    case Custody::kRetiring:
      return "retiring";
    case Custody::kUnconfirmed:
      return "unconfirmed";
  }
  return "unconfirmed";
}

Pool::Pool(std::uint32_t size, std::uint32_t per_helper)
    : size_(std::max<std::uint32_t>(size, 1)), per_helper_(std::clamp<std::uint32_t>(per_helper, 1, kMostPerHelper)) {}

PoolHelper* Pool::find(HelperId id) {
  const auto at = helpers_.find(id);
  return at == helpers_.end() ? nullptr : &at->second;
}

// The least lent helper, so that executions do not share one while another stands by; the oldest among equals.
std::variant<Lease, NoSlot> Pool::borrow() {
  if (closed_ || hopeless()) return NoSlot::kUnavailable;
  std::pair<const HelperId, PoolHelper>* best = nullptr;
  for (auto& entry : helpers_) {
    if (spare(entry.second) == 0) continue;
    if (best == nullptr || entry.second.leases.size() < best->second.leases.size()) best = &entry;
  }
  if (best == nullptr) return NoSlot::kCongested;
  const Lease lease{best->first, next_lease_++};
  best->second.leases.insert(lease.number);
  best->second.idle_at.reset();
  return lease;
}

bool Pool::begin(const Lease& lease) {
  PoolHelper* helper = find(lease.helper);
  if (helper == nullptr || helper->custody != Custody::kLive || !helper->leases.contains(lease.number)) return false;
  return helper->begun.insert(lease.number).second;
}

bool Pool::give_back(const Lease& lease, Work work, TimePoint now) {
  PoolHelper* helper = find(lease.helper);
  if (helper == nullptr || helper->leases.erase(lease.number) == 0) return false;
  helper->begun.erase(lease.number);
  if (work == Work::kLive) withdraw(lease.helper);
  if (!helper->leases.empty()) return true;
  switch (helper->custody) {
    case Custody::kLive:
      helper->idle_at = now + kIdleRetirement;
      break;
    case Custody::kWithdrawn:
      retire(lease.helper, *helper);
      break;
    case Custody::kStarting:
    case Custody::kRetiring:
    case Custody::kUnconfirmed:
      break;
  }
  return true;
}

std::optional<SpawnOrder> Pool::order_spawn(bool force) {
  if (closed_ || starting() || reserved() >= size_) return std::nullopt;
  const bool idle_slot =
      std::any_of(helpers_.begin(), helpers_.end(), [](const auto& entry) { return spare(entry.second) > 0; });
  if (idle_slot && !force) return std::nullopt;
  const SpawnOrder order{next_helper_++, free_block()};
  PoolHelper helper;
  helper.quota = std::min(per_helper_, size_ - reserved());
  helper.block = order.block;
  helpers_.emplace(order.helper, std::move(helper));
  ++spawned_;
  return order;
}

void Pool::hello(HelperId id, std::uint32_t capacity, TimePoint now) {
  PoolHelper* helper = find(id);
  if (helper == nullptr || helper->custody != Custody::kStarting) return;
  helper->custody = Custody::kLive;
  helper->quota = std::min(helper->quota, capacity);
  helper->idle_at = now + kIdleRetirement;
}

void Pool::retire(HelperId id, PoolHelper& helper) {
  helper.custody = Custody::kRetiring;
  helper.idle_at.reset();
  retirements_.push_back(id);
}

void Pool::withdraw(HelperId id) {
  PoolHelper* helper = find(id);
  if (helper == nullptr) return;
  switch (helper->custody) {
    case Custody::kStarting:
      retire(id, *helper);
      break;
    case Custody::kLive:
      helper->idle_at.reset();
      if (helper->leases.empty()) {
        retire(id, *helper);
      } else {
        helper->custody = Custody::kWithdrawn;
      }
      break;
    case Custody::kWithdrawn:
    case Custody::kRetiring:
    case Custody::kUnconfirmed:
      break;
  }
}

void Pool::lost(HelperId id) {
  PoolHelper* helper = find(id);
  if (helper == nullptr) return;
  switch (helper->custody) {
    case Custody::kStarting:
    case Custody::kLive:
    case Custody::kWithdrawn:
      helper->custody = Custody::kRetiring;
      helper->idle_at.reset();
      break;
    case Custody::kRetiring:
    case Custody::kUnconfirmed:
      break;
  }
}

void Pool::unconfirmed(HelperId id, std::string why) {
  PoolHelper* helper = find(id);
  if (helper == nullptr) return;
  helper->custody = Custody::kUnconfirmed;
  helper->idle_at.reset();
  helper->why = std::move(why);
}

void Pool::proved(HelperId id) {
  if (helpers_.erase(id) != 0) ++retired_;
}

void Pool::tick(TimePoint now) {
  for (auto& [id, helper] : helpers_) {
    if (helper.idle_at && *helper.idle_at <= now) retire(id, helper);
  }
}

void Pool::close() {
  closed_ = true;
  for (const auto& [id, helper] : helpers_) withdraw(id);
}

std::vector<HelperId> Pool::take_retirements() {
  return std::exchange(retirements_, {});
}

std::optional<TimePoint> Pool::next_deadline() const {
  std::optional<TimePoint> next;
  for (const auto& [id, helper] : helpers_) next = earlier(next, helper.idle_at);
  return next;
}

bool Pool::starting() const {
  return std::any_of(helpers_.begin(), helpers_.end(),
                     [](const auto& entry) { return entry.second.custody == Custody::kStarting; });
}

bool Pool::hopeless() const {
  std::uint32_t held = 0;
  for (const auto& [id, helper] : helpers_) {
    if (helper.custody == Custody::kUnconfirmed) held += helper.quota;
  }
  return held >= size_;
}

std::uint32_t Pool::reserved() const {
  std::uint32_t sum = 0;
  for (const auto& [id, helper] : helpers_) sum += helper.quota;
  return sum;
}

std::uint32_t Pool::free_block() const {
  std::uint32_t block = 0;
  const auto taken = [&](std::uint32_t candidate) {
    return std::any_of(helpers_.begin(), helpers_.end(),
                       [&](const auto& entry) { return entry.second.block == candidate; });
  };
  while (taken(block)) ++block;
  return block;
}

PoolCounts Pool::counts() const {
  PoolCounts out;
  out.size = size_;
  out.spawned = spawned_;
  out.retired = retired_;
  out.available = size_ - reserved();
  for (const auto& [id, helper] : helpers_) {
    switch (helper.custody) {
      case Custody::kStarting:
        out.available += helper.quota;
        break;
      case Custody::kLive:
        out.available += spare(helper);
        out.lent += helper.quota - spare(helper);
        break;
      case Custody::kWithdrawn:
        out.draining += helper.quota;
        break;
      case Custody::kRetiring:
        out.retiring += helper.quota;
        break;
      case Custody::kUnconfirmed:
        out.unconfirmed += helper.quota;
        break;
    }
  }
  return out;
}

}  // namespace loom::broker
