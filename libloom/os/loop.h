// One thread's event loop: readiness of descriptors, timers and turns. The Boost.Asio adapter is loop.cc; no Asio
// header leaves it. The loop reads the clock once per turn; everything that runs in that turn sees the same now().
// Ownership: watch() and timer() return owners; destroying one stops it, at once and for good (its callback is never
// called after). A Loop never closes a descriptor it watches: the descriptor must outlive its Watch, and the Loop every
// Watch and Timer. Callbacks may destroy any Watch or Timer, their own included.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"

namespace loom {

enum class Readiness { kRead, kWrite };

class Loop {
 public:
  class Handle {  // of a watch or a timer
   public:
    virtual ~Handle() = default;
  };
  using Watch = std::unique_ptr<Handle>;
  using Timer = std::unique_ptr<Handle>;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Calls back on every turn in which `fd` (pipe, socket, pidfd, eventfd, signalfd) is ready (level-triggered; errors
  // and hang-up count as ready for whichever was asked). At most one watch a descriptor and direction.
  [[nodiscard]] Watch watch(int fd, Readiness what, std::function<void()> callback);
  // Watches nothing, but keeps the descriptor registered with the kernel while one watch of it follows another.
  [[nodiscard]] Watch hold(int fd);
  // Calls back once at or after `at`.
  [[nodiscard]] Timer timer(TimePoint at, std::function<void()> callback);
  // Runs soon, in this thread, after the present callback; never dropped but by stop().
  void post(std::function<void()> callback);

  [[nodiscard]] TimePoint now() const;
  // Runs until stop(); at most one run at a time.
  void run();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The clock that Loop::now() reads.
[[nodiscard]] TimePoint monotonic_now();

}  // namespace loom
