// One direction of one connection: bytes read from one descriptor and not yet written to the other.
#pragma once

#include "helper/bridge/bridge.h"

namespace loom::bridge {

struct Flow {
  unsigned begin = 0;
  unsigned end = 0;
  bool ended = false;  // the reading side is at its end
  bool shut = false;   // and the writing side was told
  char bytes[kFlowBytes];

  [[nodiscard]] bool wants_input() const { return !ended && begin == end; }
  [[nodiscard]] bool has_output() const { return begin != end; }
  [[nodiscard]] bool over() const { return ended && shut; }
  // Nobody reads the other end any more.
  void drop() {
    begin = end = 0;
    ended = shut = true;
  }
  void clear() {
    begin = end = 0;
    ended = shut = false;
  }
};

enum class Moved { kSome, kNothing, kBroken };
// Reads when there is room, writes what is there, passes an end on once everything before it was written.
Moved take(Flow& flow, int from);
Moved give(Flow& flow, int to);

}  // namespace loom::bridge
