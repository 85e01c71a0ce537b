// The pool's books: which helper holds how many execution slots, who borrowed them, and what is known of each helper's
// end. Pure. Slots are counted, helpers are watched: a helper reserves slots from the order to start it until its end
// is proved, and capacity comes back with the proof only.
// Ownership: a Lease is a value that is single use: begin() takes it once, give_back() once; a stale one does nothing.
// Carries out: spec/broker.md "Helpers and the pool".
//
//   event         starting          live               withdrawn          retiring        unconfirmed
//   borrow        waits for it      a lease if spare   never              never           never
//   hello         live, quota cut   -                  -                  -               -
//   give_back     -                 freed; idle clock  freed; last one    freed           freed
//                                   at the last one    orders retiring
//   withdraw      retiring          withdrawn, or      -                  -               -
//                                   retiring if idle
//   lost          retiring          retiring           retiring           -               -
//   unconfirmed   unconfirmed       unconfirmed        unconfirmed        unconfirmed     the newer reason
//   proved        gone              gone               gone               gone            gone: its slots come back
//   idle 60 s     -                 retiring           -                  -               -
//   close         withdraw          withdraw           -                  -               -
// "-" is ignored: it cannot be, or it changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "broker/event.h"

namespace loom::broker {

inline constexpr Duration kIdleRetirement = seconds(60);
inline constexpr std::uint32_t kMostPerHelper = 4;

enum class Custody { kStarting, kLive, kWithdrawn, kRetiring, kUnconfirmed };
[[nodiscard]] std::string_view to_text(Custody custody);

struct Lease {
  HelperId helper = 0;
  std::uint64_t number = 0;  // never used twice
};

struct SpawnOrder {
  HelperId helper = 0;
  std::uint32_t block = 0;
};

// No slot now. kCongested: one will come (all are lent, or a helper is starting). kUnavailable: none will, because
// every slot is held by a helper whose end is not proved, or the pool is closed.
enum class NoSlot { kCongested, kUnavailable };

struct PoolHelper {
  Custody custody = Custody::kStarting;
  std::uint32_t quota = 0;
  std::uint32_t block = 0;
  std::set<std::uint64_t> leases;  // lent out
  std::set<std::uint64_t> begun;   // of those: used for their one execution
  std::optional<TimePoint> idle_at;
  std::string why;  // unconfirmed: the reason
};

struct PoolCounts {
  std::uint32_t size = 0;
  std::uint32_t available = 0;  // slots a borrower would get now, unreserved ones included
  std::uint32_t lent = 0;
  std::uint32_t draining = 0;  // slots of withdrawn helpers
  std::uint32_t retiring = 0;
  std::uint32_t unconfirmed = 0;
  std::uint64_t spawned = 0;
  std::uint64_t retired = 0;
};

class Pool {
 public:
  Pool(std::uint32_t size, std::uint32_t per_helper);

  [[nodiscard]] std::variant<Lease, NoSlot> borrow();
  // The lease's one execution begins. False: stale, or used.
  [[nodiscard]] bool begin(const Lease& lease);
  enum class Work { kEnded, kLive };
  // kLive: what ran on it has not been seen to end; the helper is withdrawn. True when the lease was valid.
  bool give_back(const Lease& lease, Work work, TimePoint now);

  // A helper to start now, if one is wanted: no spare slot, none starting, slots unreserved. `force` for spare helpers.
  [[nodiscard]] std::optional<SpawnOrder> order_spawn(bool force = false);
  void hello(HelperId id, std::uint32_t capacity, TimePoint now);
  void withdraw(HelperId id);
  void lost(HelperId id);
  void unconfirmed(HelperId id, std::string why);
  void proved(HelperId id);  // also: it could not be started, so that there never was a process
  void tick(TimePoint now);
  void close();
  // Helpers that entered kRetiring since the last call and are to be asked to end.
  [[nodiscard]] std::vector<HelperId> take_retirements();

  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  [[nodiscard]] bool starting() const;
  [[nodiscard]] bool hopeless() const;  // every slot unconfirmed
  [[nodiscard]] std::uint32_t reserved() const;
  [[nodiscard]] PoolCounts counts() const;
  [[nodiscard]] const std::map<HelperId, PoolHelper>& helpers() const { return helpers_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }

 private:
  PoolHelper* find(HelperId id);
  void retire(HelperId id, PoolHelper& helper);
  [[nodiscard]] std::uint32_t free_block() const;

  std::uint32_t size_;
  std::uint32_t per_helper_;
  bool closed_ = false;
  HelperId next_helper_ = 1;
  std::uint64_t next_lease_ = 1;
  std::uint64_t spawned_ = 0;
  std::uint64_t retired_ = 0;
  std::map<HelperId, PoolHelper> helpers_;
  std::vector<HelperId> retirements_;
};

}  // namespace loom::broker
