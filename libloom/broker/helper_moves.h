// What the two halves of the helper core share: the moves that more than one event makes. Private to broker/helper*.cc.
#pragma once

#include <string>
#include <vector>

#include "broker/helper.h"

namespace loom::broker::helper_moves {

using Effects = std::vector<HelperEffect>;

// kAfterWords: the helper was told why, and gets a moment to read it.
enum class Kill { kNo, kYes, kAfterWords };

// Live or AwaitingHello -> Dead. `never_live`: what a waiter is told when this happens before hello.
void die(HelperCore& core, Death death, Kill kill, TimePoint now, Effects& out, Map never_live = {});
void send(HelperCore& core, ExecMessage message, Effects& out);

void on_frame(HelperCore& core, Frame frame, TimePoint now, Effects& out);
void on_output(HelperCore& core, StartId id, ExecOut output, TimePoint now, Effects& out);

}  // namespace loom::broker::helper_moves
