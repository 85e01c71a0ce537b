// The caller's terminal while a command owns it: raw, its size, and given back whatever happens (spec/broker.md
// "--tty").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace loom {

struct WindowSize {
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
};
[[nodiscard]] std::optional<WindowSize> window_size(int fd);  // nothing when it is no terminal or has no size

// As the terminal's own stop key does it, with SIGTSTP blocked: until it is continued, or not at all where nobody could
// continue it (an orphaned process group).
void stop_this_process();

// Raw from enter() to the end of the owner. The descriptor is borrowed.
class RawTerminal {
 public:
  static std::unique_ptr<RawTerminal> enter(int fd);  // nullptr: no terminal
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  // Gives the terminal back, stops this process, and takes the terminal again when it is continued.
  void stop_process();

 private:
  struct Saved;
  RawTerminal(int fd, std::unique_ptr<Saved> saved);
  void make_raw();
  void give_back();
  int fd_;
  std::unique_ptr<Saved> saved_;
};

}  // namespace loom
