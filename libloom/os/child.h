// The owner of one child process, by pidfd: signals cannot hit a stranger, and the child never outlives its owner
// (spec/style.md "Ownership has a type").
#pragma once

#include <sys/types.h>

#include <optional>

#include "os/unique_fd.h"

namespace loom {

class OwnedChild {
 public:
  OwnedChild() = default;
  explicit OwnedChild(UniqueFd pidfd) : pidfd_(std::move(pidfd)) {}
  OwnedChild(OwnedChild&&) noexcept = default;
  OwnedChild& operator=(OwnedChild&& other) noexcept;
  OwnedChild(const OwnedChild&) = delete;
  OwnedChild& operator=(const OwnedChild&) = delete;
  ~OwnedChild() { end(); }

  [[nodiscard]] bool running() const { return pidfd_.valid(); }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable once it has ended
  void signal(int number) const;
  // The wait status once it has ended; from then on running() is false. Never waits.
  std::optional<int> try_reap();
  // KILL, and waits for the end.
  void end();

 private:
  UniqueFd pidfd_;
};

}  // namespace loom
