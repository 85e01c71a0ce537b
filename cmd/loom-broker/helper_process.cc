#include "helper_process.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace loom::broker {

HelperProcess::HelperProcess(SpawnedChild child, HelperEvents events)
    : child_(std::move(child)), events_(std::move(events)) {}

Result<std::unique_ptr<HelperProcess>> HelperProcess::start(Loop& loop, Subreaper& reaper, const SpawnRequest& request,
                                                            HelperEvents events) {
  LOOM_TRY(SpawnedChild child, spawn_child(request));
  std::unique_ptr<HelperProcess> helper(new HelperProcess(std::move(child), std::move(events)));
  HelperProcess& self = *helper;
  // What waits for a helper is bounded by the credit of its executions: reading never has to pause for it.
  service::ChannelLimits limits;
  limits.unwritten_pause = SIZE_MAX;
  self.channel_ = std::make_unique<service::FrameChannel>(
      loop, std::move(self.child_.from_child), std::move(self.child_.to_child),
      service::ChannelEvents{
          [&self](Frame frame) { self.events_.frame(std::move(frame)); },
          [&self](service::ChannelEnd how, const Error& why) { self.events_.channel_ended(how, why); }},
      nullptr, limits);
  reaper.expect(self.child_.pid, [&self](ChildEnd end) { self.on_end(end); });
  return helper;
}

void HelperProcess::kill() const {
  ::syscall(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
}

void HelperProcess::on_end(ChildEnd end) {
  channel_->read_rest();
  events_.exited(end);
}

}  // namespace loom::broker
