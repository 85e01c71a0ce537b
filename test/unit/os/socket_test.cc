#include "os/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "os/peer.h"
#include "test/unit/os/temporary_directory.h"

namespace loom {
namespace {

using test::TemporaryDirectory;

TEST(UnixSocket, APeerIsAcceptedAndKnownByItsCredentials) {
  const TemporaryDirectory home;
  const auto listening = listen_unix(home / "s", 0600);
  ASSERT_TRUE(listening) << listening.error().text();
  EXPECT_EQ(accept_unix(listening->get()).fault, AcceptFault::kNobody);
  const auto client = connect_unix(home / "s", seconds(5));
  ASSERT_TRUE(client) << client.error().text();
  const Accepted accepted = accept_unix(listening->get());
  ASSERT_EQ(accepted.fault, AcceptFault::kNone);
  const auto peer = peer_credentials(accepted.fd.get());
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::geteuid());
}

TEST(UnixSocket, EveryDescriptorIsCloseOnExecAndNeverBlocks) {
  const TemporaryDirectory home;
  const auto listening = listen_unix(home / "s", 0600);
  const auto client = connect_unix(home / "s", seconds(5));
  const Accepted accepted = accept_unix(listening->get());
  for (const int fd : {listening->get(), client->get(), accepted.fd.get()}) {
    EXPECT_EQ(::fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  }
}

TEST(UnixSocket, NobodyThereAndAStaleFileAreBothNoBroker) {
  const TemporaryDirectory home;
  const auto absent = connect_unix(home / "s", seconds(5));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, "no_broker");
  EXPECT_NE(absent.error().hint.find("loom-broker serve"), std::string::npos);
  { const auto listening = listen_unix(home / "s", 0600); }
  EXPECT_EQ(connect_unix(home / "s", seconds(5)).error().code, "no_broker");
}

TEST(UnixSocket, ANameIsBoundOnce) {
  const TemporaryDirectory home;
  const auto listening = listen_unix(home / "s", 0600);
  EXPECT_EQ(listen_unix(home / "s", 0600).error().code, "socket_in_use");
}

TEST(UnixSocket, ALengthThatTheKernelWouldCutIsRefused) {
  const std::string longest = "/" + std::string(kMaxSocketPath - 1, 'x');
  EXPECT_EQ(listen_unix(longest + "x", 0600).error().code, "socket_path_too_long");
  EXPECT_EQ(connect_unix(longest + "x", seconds(5)).error().code, "socket_path_too_long");
  EXPECT_EQ(connect_unix(longest, seconds(5)).error().code, "no_broker");
}

TEST(UnixSocket, AListenerThatIsNoneIsBroken) {
  EXPECT_EQ(accept_unix(-1).fault, AcceptFault::kBroken);
}

}  // namespace
}  // namespace loom
