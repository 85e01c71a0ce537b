#include "helper/bridge/flow.h"

#include <errno.h>
#include <sys/socket.h>

#include "helper/stage2/sys.h"

namespace loom::bridge {

using stage2::call;

namespace {

bool later(long answer) {
  return answer == -EAGAIN || answer == -EINTR;
}

}  // namespace

Moved take(Flow& flow, int from) {
  if (!flow.wants_input()) return Moved::kNothing;
  const long got = call(__NR_recvfrom, from, flow.bytes, sizeof flow.bytes, 0, nullptr, nullptr);
  if (later(got)) return Moved::kNothing;
  if (got < 0) return Moved::kBroken;
  flow.begin = 0;
  flow.end = static_cast<unsigned>(got);
  flow.ended = got == 0;
  return Moved::kSome;
}

Moved give(Flow& flow, int to) {
  if (flow.has_output()) {
    const long put =
        call(__NR_sendto, to, flow.bytes + flow.begin, flow.end - flow.begin, MSG_NOSIGNAL, nullptr, nullptr);
    if (later(put)) return Moved::kNothing;
    if (put < 0) return Moved::kBroken;
    flow.begin += static_cast<unsigned>(put);
    if (flow.has_output()) return Moved::kSome;
    flow.begin = flow.end = 0;
  }
  if (flow.ended && !flow.shut) {
    call(__NR_shutdown, to, SHUT_WR);
    flow.shut = true;
  }
  return Moved::kSome;
}

}  // namespace loom::bridge
