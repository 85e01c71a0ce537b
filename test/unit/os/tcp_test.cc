#include "os/tcp.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "os/loop.h"

namespace loom {
namespace {

UniqueFd listening(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(::listen(fd.get(), 1), 0);
  return fd;
}

// How an attempt ended: 0, or the errno.
int outcome(const TcpAddress& to) {
  const auto begun = begin_connect(to);
  if (!begun) return -1;
  Loop loop;
  const Loop::Watch watch = loop.watch(begun->get(), Readiness::kWrite, [&loop] { loop.stop(); });
  loop.run();
  return connect_error(begun->get());
}

TEST(Tcp, AnAttemptEndsConnectedOrWithItsReason) {
  UniqueFd fd = listening(AF_INET);
  const auto at = bound_tcp(fd.get());
  ASSERT_TRUE(at);
  EXPECT_FALSE(at->v6);
  EXPECT_EQ(at->bytes[0], 127);
  EXPECT_NE(at->port, 0);
  EXPECT_EQ(outcome(*at), 0);
  fd.reset();
  EXPECT_EQ(outcome(*at), ECONNREFUSED);
}

TEST(Tcp, ListeningStreamsAreToldFromOtherDescriptors) {
  const UniqueFd tcp = listening(AF_INET);
  EXPECT_TRUE(is_listening_stream(tcp.get()));
  const UniqueFd idle(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(is_listening_stream(idle.get()));
  EXPECT_FALSE(is_listening_stream(-1));
  const UniqueFd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(local.get(), 1), -1);
  EXPECT_FALSE(bound_tcp(local.get()));
}

}  // namespace
}  // namespace loom
