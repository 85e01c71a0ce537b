#include "helper/stage2/talk.h"

#include <errno.h>
#include <sys/socket.h>

#include "helper/stage2/sys.h"

namespace loom::stage2 {

namespace {

Heard hear_on(int socket) {
  Heard heard;
  Plain plain{};
  iovec part{&plain, sizeof plain};
  alignas(cmsghdr) char room[CMSG_SPACE(kMaxPassed * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  long got = 0;
  do {
    got = call(__NR_recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
  } while (got == -EINTR);
  if (got < static_cast<long>(sizeof plain)) {
    heard.gone = true;
    return heard;
  }
  heard.what = static_cast<ToStage2>(plain.type);
  const cmsghdr* control = CMSG_FIRSTHDR(&message);
  if (control != nullptr && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS) {
    heard.passed_count = static_cast<int>((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    const auto* passed = reinterpret_cast<const int*>(CMSG_DATA(control));
    for (int i = 0; i < heard.passed_count && i < kMaxPassed; ++i) heard.passed[i] = passed[i];
  }
  return heard;
}

}  // namespace

Heard hear() {
  return hear_on(kControlFd);
}

int take_passed(int socket) {
  const Heard heard = hear_on(socket);
  return !heard.gone && heard.passed_count == 1 ? heard.passed[0] : -EPIPE;
}

void say(const void* message, std::size_t size, int pass) {
  say_on(kControlFd, message, size, pass);
}

void say_on(int socket, const void* message, std::size_t size, int pass) {
  iovec part{const_cast<void*>(message), size};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (pass >= 0) {
    header.msg_control = room;
    header.msg_controllen = sizeof room;
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(control)) = pass;
  }
  while (call(__NR_sendmsg, socket, &header, MSG_NOSIGNAL) == -EINTR) {
  }
}

}  // namespace loom::stage2
