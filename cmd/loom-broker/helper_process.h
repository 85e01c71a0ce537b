// One helper: its process, its two pipes, its end (spec/broker.md "Helpers and the pool"). It moves frames and tells
// what happened; what follows from that is the core's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/loop.h"
#include "os/spawn.h"
#include "os/subreaper.h"
#include "service/frame_channel.h"
#include "wire/frame.h"

namespace loom::broker {

struct HelperEvents {
  std::function<void(Frame)> frame;
  std::function<void(service::ChannelEnd, const Error&)> channel_ended;
  // Its status was read, after every frame that was left in the pipe was given out. The last event.
  std::function<void(ChildEnd)> exited;
};

class HelperProcess {
 public:
  // Errors: spawn_failed.
  [[nodiscard]] static Result<std::unique_ptr<HelperProcess>> start(Loop& loop, Subreaper& reaper,
                                                                    const SpawnRequest& request, HelperEvents events);
  [[nodiscard]] pid_t pid() const { return child_.pid; }
  // With `secret` the bytes are wiped once written.
  void send(std::string bytes, bool secret) { channel_->send(std::move(bytes), secret); }
  void kill() const;

 private:
  HelperProcess(SpawnedChild child, HelperEvents events);
  void on_end(ChildEnd end);

  SpawnedChild child_;
  HelperEvents events_;
  std::unique_ptr<service::FrameChannel> channel_;
};

}  // namespace loom::broker
