#include "os/borrowed_watch.h"

#include <sys/epoll.h>

#include <utility>

namespace loom {
namespace {

class BorrowedWatch : public Loop::Handle {
 public:
  BorrowedWatch(UniqueFd epoll, Loop::Watch watch) : epoll_(std::move(epoll)), watch_(std::move(watch)) {}

 private:
  UniqueFd epoll_;  // outlives its watch
  Loop::Watch watch_;
};

}  // namespace

Loop::Watch watch_borrowed(Loop& loop, int fd, Readiness what, std::function<void()> callback) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = what == Readiness::kRead ? EPOLLIN : EPOLLOUT;
  const bool added = epoll && ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  // Without an epoll (no descriptor left) better a changed flag than nothing.
  if (!added) return loop.watch(fd, what, std::move(callback));
  Loop::Watch watch = loop.watch(epoll.get(), Readiness::kRead, std::move(callback));
  return std::make_unique<BorrowedWatch>(std::move(epoll), std::move(watch));
}

}  // namespace loom
