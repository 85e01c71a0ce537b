// Placeholders: what keeps a protected or frozen entry absent while it is absent (spec/jail.md "Missing"). Made by the
// builder on the host, masked in the jail, counted by shared locks on themselves, taken away by whoever finds itself
// alone. Everything here looks paths up and may wait: the helper itself calls none of it.
//
// What stands at the name, and what hold() does:
//   nothing                          makes it (a file: whole before it has a name), locks it, looks whether it is still
//                                    there, and stamps it
//   a placeholder                    locks it and uses it, whoever made it, a helper that was killed too
//   one that is being taken away     waits for the lock, finds it gone, begins again
//   anything else                    plan_refused source_changed: it was not there when the plan was made
// and of the directory above it:
//   gone, replaced, behind a link    plan_refused source_changed, source_through_link: nothing is made through a link
//   no room, no right, read-only     nothing is made: the entry is unguarded, and the report says so
//
// What ends, and what becomes of the placeholder:
//   the execution                    take_away(): removed unless another execution has its lock, something was put into
//                                    it, or something else stands there; the last two are told of
//   the builder, before it told      the helper knows the names: they were written down before anything was made
//   the helper, killed               the lock goes with it; the next execution in that workspace uses the placeholder
//   or
//                                    takes it away (take_stale_away), and removes it at its end
//   the process that takes away      as the helper
//   two that end together            each drops its shared lock before it asks for the exclusive one: the later one
//   wins
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"
#include "plan/mount_plan.h"

namespace loom::helper {

// The shared lock on one placeholder, held for as long as this lives (and its copies in other processes).
class PlaceholderLock {
 public:
  PlaceholderLock(UniqueFd locked, std::uint64_t device, std::uint64_t inode)
      : locked_(std::move(locked)), device_(device), inode_(inode) {}
  [[nodiscard]] int fd() const { return locked_.get(); }
  [[nodiscard]] std::uint64_t device() const { return device_; }
  [[nodiscard]] std::uint64_t inode() const { return inode_; }

 private:
  UniqueFd locked_;
  std::uint64_t device_;
  std::uint64_t inode_;
};

// One guarded entry, as it must be known after the plan has gone.
struct GuardRecord {
  GuardedEntry entry;
  std::uint64_t device = 0;  // of the directory the placeholder is in; of no entry but a config: its inode, and when it
  std::uint64_t inode = 0;  // was last changed in any way; but an index: when this was written, and when it was changed
};

// `for_owner`: what is made goes to the owner of the directory it is made in (a root start). Nothing: it cannot be made
// here.
[[nodiscard]] Result<std::optional<PlaceholderLock>> hold_placeholder(const PlanOp& op, bool for_owner);

// Of the plan's: what must be known to take them away again.
[[nodiscard]] std::vector<GuardRecord> guard_records(const MountPlan& plan);
// All placeholders of the plan, in its order: their operations get the placeholder's own inode; what cannot be made
// loses its operation and is said to be unguarded.
[[nodiscard]] Result<std::vector<PlaceholderLock>> hold_placeholders(MountPlan& plan, bool for_owner);

// Where there is nothing to mask them in: as if none could be made.
void leave_all_unguarded(MountPlan& plan);

// Takes the placeholders away where nobody else holds them. Tells of what stands now where nothing stood, as events
// without "event:".
[[nodiscard]] std::vector<std::string> take_away(const std::vector<GuardRecord>& records);
// What helpers that were killed have left at the usual names of the plan's writable roots, and what this plan does not
// use.
void take_stale_away(const MountPlan& plan);

// As text for the facts, and back.
[[nodiscard]] std::string encode_guard(const GuardRecord& record);
[[nodiscard]] std::optional<GuardRecord> decode_guard(std::string_view text);

}  // namespace loom::helper
