// Moves bytes between the caller's own descriptors and a bounded window in memory, without blocking the loop and
// without changing flags that others share (spec/wire.md "Credit", spec/broker.md "Flags of run and call"). The
// descriptors are borrowed and must outlive the pumps. Callbacks may not destroy the pump that calls them.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "os/loop.h"

namespace loom {

// Writes in order; keeps what the descriptor does not take yet. Whoever pushes bounds what is kept (credit).
class OutputPump {
 public:
  struct Callbacks {
    std::function<void()> progress;         // written() has grown
    std::function<void(int error)> failed;  // once; from then on everything pushed is dropped and counts as written
  };
  OutputPump(Loop& loop, int fd, Callbacks callbacks);
  ~OutputPump();
  OutputPump(const OutputPump&) = delete;
  OutputPump& operator=(const OutputPump&) = delete;

  void push(std::string_view data);
  void push(std::initializer_list<std::string_view> pieces);  // one gathering write when nothing is kept
  [[nodiscard]] std::uint64_t written() const;                // cumulative bytes
  [[nodiscard]] bool empty() const;  // everything pushed was written (or dropped after a failure)

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads as far as it is allowed.
class InputPump {
 public:
  // `eof` comes once, with the last call; a read error ends the stream like an end of file, and `error` holds its
  // errno.
  using Sink = std::function<void(std::string data, bool eof, int error)>;
  InputPump(Loop& loop, int fd, Sink sink);
  ~InputPump();
  InputPump(const InputPump&) = delete;
  InputPump& operator=(const InputPump&) = delete;

  void allow(std::uint64_t upto);  // cumulative bytes; a smaller one than before is ignored
  void pause(bool paused);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loom
