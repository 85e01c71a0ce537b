#include "os/loop.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <utility>

namespace loom {

namespace asio = boost::asio;

TimePoint monotonic_now() {
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

namespace {

// One registration of a descriptor: Asio takes a descriptor once, we offer it for reading and for writing.
struct Registration {
  explicit Registration(asio::io_context& io) : descriptor(io) {}
  ~Registration() { descriptor.release(); }  // never closed here
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  asio::posix::stream_descriptor descriptor;
};

// Shared by the owner outside and the completion inside, so that either may go first.
struct Callback {
  std::function<void()> call;
  bool alive = true;
};

}  // namespace

struct Loop::Impl {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::map<int, std::weak_ptr<Registration>> registrations;
  TimePoint now{};
  bool in_turn = false;

  // A turn is one completion: the clock is read when it begins.
  void turn(const std::function<void()>& body) {
    now = monotonic_now();
    in_turn = true;
    body();
    in_turn = false;
  }

  // Forgets a descriptor that nothing is registered for any more.
  std::function<void()> sweeper(int fd) {
    return [this, fd] {
      const auto found = registrations.find(fd);
      if (found != registrations.end() && found->second.expired()) registrations.erase(found);
    };
  }

  std::shared_ptr<Registration> registration(int fd) {
    std::weak_ptr<Registration>& known = registrations[fd];
    std::shared_ptr<Registration> held = known.lock();
    if (!held) {
      held = std::make_shared<Registration>(io);
      boost::system::error_code failed;
      held->descriptor.assign(fd, failed);  // a failure shows as an error of every wait, which counts as ready
      known = held;
    }
    return held;
  }

  void arm(const std::shared_ptr<Registration>& at, Readiness what, const std::shared_ptr<Callback>& callback) {
    const auto kind =
        what == Readiness::kRead ? asio::posix::descriptor_base::wait_read : asio::posix::descriptor_base::wait_write;
    at->descriptor.async_wait(
        kind, [this, weak = std::weak_ptr<Registration>(at), what, callback](const boost::system::error_code&) {
          if (!callback->alive) return;
          turn([&] { callback->call(); });
          if (!callback->alive) return;
          if (const std::shared_ptr<Registration> still = weak.lock()) arm(still, what, callback);
        });
  }
};

namespace {

class WatchHandle : public Loop::Handle {
 public:
  WatchHandle(std::shared_ptr<Registration> at, std::shared_ptr<Callback> callback, std::function<void()> gone)
      : at_(std::move(at)), callback_(std::move(callback)), gone_(std::move(gone)) {}
  ~WatchHandle() override {
    callback_->alive = false;
    at_.reset();
    gone_();
  }
  WatchHandle(const WatchHandle&) = delete;
  WatchHandle& operator=(const WatchHandle&) = delete;

 private:
  std::shared_ptr<Registration> at_;
  std::shared_ptr<Callback> callback_;
  std::function<void()> gone_;
};

class TimerHandle : public Loop::Handle {
 public:
  TimerHandle(asio::io_context& io, std::shared_ptr<Callback> callback) : timer(io), callback_(std::move(callback)) {}
  ~TimerHandle() override { callback_->alive = false; }
  TimerHandle(const TimerHandle&) = delete;
  TimerHandle& operator=(const TimerHandle&) = delete;
  asio::steady_timer timer;

 private:
  std::shared_ptr<Callback> callback_;
};

}  // namespace

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

Loop::Watch Loop::watch(int fd, Readiness what, std::function<void()> callback) {
  std::shared_ptr<Registration> at = impl_->registration(fd);
  auto held = std::make_shared<Callback>();
  held->call = std::move(callback);
  impl_->arm(at, what, held);
  return std::make_unique<WatchHandle>(std::move(at), held, impl_->sweeper(fd));
}

Loop::Watch Loop::hold(int fd) {
  return std::make_unique<WatchHandle>(impl_->registration(fd), std::make_shared<Callback>(), impl_->sweeper(fd));
}

Loop::Timer Loop::timer(TimePoint at, std::function<void()> callback) {
  auto held = std::make_shared<Callback>();
  held->call = std::move(callback);
  auto handle = std::make_unique<TimerHandle>(impl_->io, held);
  handle->timer.expires_at(std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(at.time_since_epoch())));
  handle->timer.async_wait([impl = impl_.get(), held](const boost::system::error_code&) {
    if (held->alive) impl->turn([&] { held->call(); });
  });
  return handle;
}

void Loop::post(std::function<void()> callback) {
  asio::post(impl_->io, [impl = impl_.get(), callback = std::move(callback)] { impl->turn(callback); });
}

TimePoint Loop::now() const {
  return impl_->in_turn ? impl_->now : monotonic_now();
}

void Loop::run() {
  impl_->io.restart();
  impl_->io.run();
}

void Loop::stop() {
  impl_->io.stop();
}

}  // namespace loom
