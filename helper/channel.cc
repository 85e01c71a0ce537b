#include "helper/channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "helper/kernel.h"

namespace loom::helper {
namespace {

constexpr std::size_t kMaxMessage = 16U << 10U;
constexpr std::size_t kMaxPassed = 128;

}  // namespace

Result<ControlPair> make_control() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(kernel_error("control socket", "make it", errno));
  }
  ControlPair pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
  ::fcntl(pair.helper.get(), F_SETFL, O_NONBLOCK);
  return pair;
}

stage2::FromStage2 ControlMessage::type() const {
  return static_cast<stage2::FromStage2>(as<stage2::Plain>().type);
}

Received receive(int fd, ControlMessage& message) {
  static std::array<char, kMaxMessage> buffer;  // one reader, one thread
  message.passed.clear();
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxPassed * sizeof(int))> room{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = room.data();
  header.msg_controllen = room.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
    // The other side left without reading all it was sent: said once, before what it sent itself is given out.
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::kNothingYet;
  if (got <= 0) return Received::kEnd;
  message.bytes.assign(buffer.data(), static_cast<std::size_t>(got));
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr; control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    std::array<int, kMaxPassed> fds{};
    const std::size_t count = std::min(kMaxPassed, (control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(fds.data(), CMSG_DATA(control), count * sizeof(int));
    for (std::size_t i = 0; i < count; ++i) message.passed.emplace_back(fds[i]);
  }
  return Received::kMessage;
}

bool send_message(int fd, std::string_view bytes, const std::vector<int>& pass) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxPassed * sizeof(int))> room{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!pass.empty()) {
    header.msg_control = room.data();
    header.msg_controllen = CMSG_SPACE(pass.size() * sizeof(int));
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(pass.size() * sizeof(int));
    std::memcpy(CMSG_DATA(control), pass.data(), pass.size() * sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(fd, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

bool send_order(int fd, stage2::ToStage2 what, const std::vector<int>& pass) {
  const stage2::Plain plain{static_cast<std::uint32_t>(what)};
  return send_message(fd, {reinterpret_cast<const char*>(&plain), sizeof plain}, pass);
}

bool send_word(int fd, stage2::FromStage2 what, std::string_view text, const std::vector<int>& pass) {
  const stage2::Plain plain{static_cast<std::uint32_t>(what)};
  std::string bytes(reinterpret_cast<const char*>(&plain), sizeof plain);
  bytes.append(text.substr(0, kMaxMessage - sizeof plain));
  return send_message(fd, bytes, pass);
}

}  // namespace loom::helper
