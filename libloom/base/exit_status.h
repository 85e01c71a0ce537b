// The statuses every tool promises (spec/cli.md). Nothing else may leave a main.
#pragma once

namespace loom {

enum class ExitStatus : int {
  kOk = 0,
  kNo = 1,            // an answer that is no: refused, skew, a probe failed, unconfirmed
  kUsage = 2,         // usage, unreadable input, no broker that answers
  kMayHaveRun = 123,  // run and call: lost, escalated, protocol violation, or ran with less than was demanded
  kTimedOut = 124,    // run and call: wall_s, cpu_s, deadline_ms or the budget's deadline
  kNotRun = 125,      // run and call: refused, usage, failed before the go
  kNoPermission = 126,
  kNotFound = 127,
  kPipe = 141,
  kCancelled = 143,  // run and call: a 0 that came after cancel, abort, closing or a lost caller
};

constexpr int to_int(ExitStatus s) {
  return static_cast<int>(s);
}

}  // namespace loom
