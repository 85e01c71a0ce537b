// The control socket: whole messages, in order. Stage 2 obeys nothing else.
#pragma once

#include <cstddef>

#include "helper/stage2/protocol.h"

namespace loom::stage2 {

inline constexpr int kMaxPassed = 8;

struct Heard {
  bool gone = false;  // end of file or an error: the helper is no more, or wants us gone
  ToStage2 what = ToStage2::kTerminate;
  int passed[kMaxPassed] = {};
  int passed_count = 0;
};

// Waits for one message.
Heard hear();
// The descriptor that one message on `socket` carries, or -errno.
int take_passed(int socket);
// Says one message, with a descriptor when `pass` is not negative. A helper that is gone is noticed by hear().
void say(const void* message, std::size_t size, int pass = -1);
// The same on another socket.
void say_on(int socket, const void* message, std::size_t size, int pass);

}  // namespace loom::stage2
