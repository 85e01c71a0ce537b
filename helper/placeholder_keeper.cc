#include "helper/placeholder_keeper.h"

#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "helper/exec_fault.h"
#include "helper/kernel.h"
#include "helper/orders.h"

namespace loom::helper {
namespace {

constexpr int kPatienceMs = 2000;

}  // namespace

PlaceholderKeeper::~PlaceholderKeeper() {
  watch_.reset();
  if (state_ == State::kHolding && !start()) return;
  if (state_ != State::kReleasing) return;
  pollfd entry{process_.get(), POLLIN, 0};
  if (::poll(&entry, 1, kPatienceMs) == 1) on_end();
}

void PlaceholderKeeper::hold(std::vector<UniqueFd> locks) {
  for (UniqueFd& lock : locks) locks_.push_back(std::move(lock));
}

// True when a process was started.
bool PlaceholderKeeper::start() {
  state_ = State::kReleased;
  // Said outright: a process that was cloned meanwhile for another execution may have copies.
  for (const UniqueFd& lock : locks_) ::flock(lock.get(), LOCK_UN);
  locks_.clear();
  if (records_.empty()) return false;
  Result<UniqueFd> said = memory_file("");
  if (!said) return false;
  // Not bound to this process's life: what it began it ends.
  const long pid = clone_process(0, process_);
  if (pid == 0) {
    std::string found;
    for (const std::string& event : take_away(records_)) found.append(event) += '\0';
    (void)fill_memory_file(said->get(), found);
    ::_exit(0);
  }
  if (pid < 0) return false;
  said_ = std::move(*said);
  state_ = State::kReleasing;
  return true;
}

bool PlaceholderKeeper::release(std::function<void()> released) {
  if (state_ == State::kHolding && start()) {
    released_ = std::move(released);
    watch_ = loop_.watch(process_.get(), Readiness::kRead, [this] {
      on_end();
      const auto done = std::move(released_);
      watch_.reset();
      done();
    });
  }
  return state_ == State::kReleased;
}

void PlaceholderKeeper::on_end() {
  siginfo_t ended{};
  ::waitid(P_PIDFD, static_cast<id_t>(process_.get()), &ended, WEXITED);
  appeared_ = split_facts(read_memory_file(said_.get()));
  state_ = State::kReleased;
}

}  // namespace loom::helper
