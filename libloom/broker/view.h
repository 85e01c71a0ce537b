// What an operator sees: a bounded value that cannot hold anything of a request. Pure.
// By type there is no argv, environment, cwd, policy, token or output byte here, nor the caller's ids: numbers, words
// of ours, a helper's own features and reasons. Carries out: spec/broker.md "What an operator sees".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/value.h"
#include "broker/local_executor.h"
#include "broker/pool.h"
#include "broker/proxies.h"
#include "broker/refusal.h"
#include "broker/settlement.h"

namespace loom::broker {

inline constexpr std::size_t kRingSize = 64;

// The last kRingSize of something, newest last.
template <class T>
class Ring {
 public:
  void push(T item) {
    if (items_.size() < kRingSize) {
      items_.push_back(std::move(item));
    } else {
      items_[next_] = std::move(item);
      next_ = (next_ + 1) % kRingSize;
    }
  }
  [[nodiscard]] std::vector<T> newest_first() const {
    std::vector<T> out;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      out.push_back(items_[(next_ + 2 * items_.size() - 1 - i) % items_.size()]);
    }
    return out;
  }
  [[nodiscard]] std::size_t size() const { return items_.size(); }

 private:
  std::vector<T> items_;
  std::size_t next_ = 0;
};

struct LatencySummary {  // microseconds
  std::uint64_t samples = 0;
  std::uint64_t p50 = 0;
  std::uint64_t p95 = 0;
  std::uint64_t max = 0;
};
[[nodiscard]] LatencySummary summarise(const Ring<std::uint64_t>& samples);

enum class SettledClass { kExited, kFailed, kLost };
inline constexpr int kSettledClassCount = static_cast<int>(SettledClass::kLost) + 1;
[[nodiscard]] std::string_view to_text(SettledClass value);
[[nodiscard]] SettledClass class_of(const Settlement& settlement);

// One settlement as it is remembered.
struct SettledView {
  std::uint64_t seq = 0;
  SettledClass outcome = SettledClass::kExited;
  std::string_view kind;   // exited, or the failure's kind; a word of ours
  std::string_view cause;  // execution_lost: which
  std::int64_t code = 0;   // exited
  StopCause stopped_by = StopCause::kNone;
  std::uint64_t ms = 0;
  std::uint64_t bytes = 0;  // of output
  bool truncated = false;
};
[[nodiscard]] SettledView view_of(std::uint64_t seq, const Settlement& settlement);

struct Metrics {
  std::uint64_t starts = 0;
  std::array<std::uint64_t, kSettledClassCount> settled{};
  std::array<std::uint64_t, kRefusalReasonCount> refused{};
  std::uint64_t vanished = 0;  // left the queue because the caller did
  std::uint64_t output_bytes = 0;
  std::uint64_t truncated = 0;
  Ring<std::uint64_t> launch_us;  // clear_call to exec_start
  Ring<std::uint64_t> run_us;     // exec_start to settlement
  Ring<std::uint64_t> cancel_us;  // cancel to settlement
  Ring<SettledView> recent;
  std::optional<SettledView> last_failure;

  void record(const SettledView& view, Duration ran, std::optional<Duration> since_cancel);
};

struct LiveView {
  std::uint64_t seq = 0;
  ExecutionView execution;
  std::uint64_t age_ms = 0;
  std::optional<std::uint64_t> deadline_in_ms;
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
};

struct Snapshot {
  std::uint64_t incarnation = 0;
  std::string_view phase;
  std::uint64_t uptime_ms = 0;
  std::vector<LiveView> live;  // at most the pool's size
  PoolCounts pool;
  std::vector<HelperView> helpers;
  std::uint64_t waiting = 0;
  std::uint64_t oldest_ms = 0;
  std::uint64_t executions = 0;   // the executor's own count; live's size unless the books are wrong
  std::uint64_t outstanding = 0;  // reserved in all ledgers
  std::uint64_t ledgers = 0;
  std::uint64_t tokens = 0;
  std::vector<ProxyView> proxies;  // at most kMostProxies
  std::uint64_t egress_refusals = 0;
};

[[nodiscard]] Value encode(const Snapshot& snapshot, const Metrics& metrics);

// {execution, class, kind, stopped_by, ms, bytes, truncated}, for the log as well.
[[nodiscard]] Map encode_settled(std::uint64_t incarnation, const SettledView& view);

}  // namespace loom::broker
