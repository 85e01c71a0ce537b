#include "service/listener.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "os/socket.h"
#include "test/unit/os/temporary_directory.h"
#include "test/unit/service/turns.h"

namespace loom::service {
namespace {

using test::TemporaryDirectory;
using test::Turns;

TEST(Listener, EveryPeerIsTakenWithItsCredentials) {
  Turns turns;
  const TemporaryDirectory home;
  const auto listening = listen_unix(home / "s", 0600);
  ASSERT_TRUE(listening);
  std::vector<uid_t> users;
  Listener listener(
      turns.loop(), listening->get(),
      {[&](UniqueFd, PeerCredentials peer) { users.push_back(peer.uid); }, [](bool) {}, [](const Error&) {}});
  const auto first = connect_unix(home / "s", seconds(5));
  const auto second = connect_unix(home / "s", seconds(5));
  turns.until([&] { return users.size() == 2; });
  EXPECT_EQ(users, (std::vector<uid_t>{::geteuid(), ::geteuid()}));
}

TEST(Listener, HeldItTakesNobodyAndLetGoWhoeverWaited) {
  Turns turns;
  const TemporaryDirectory home;
  const auto listening = listen_unix(home / "s", 0600);
  ASSERT_TRUE(listening);
  std::vector<UniqueFd> peers;
  std::unique_ptr<Listener> listener;
  listener = std::make_unique<Listener>(turns.loop(), listening->get(),
                                        ListenerEvents{[&](UniqueFd fd, PeerCredentials) {
                                                         peers.push_back(std::move(fd));
                                                         listener->hold(true);
                                                       },
                                                       [](bool) { ADD_FAILURE() << "its own affair"; },
                                                       [](const Error&) { ADD_FAILURE() << "not broken"; }});
  const auto first = connect_unix(home / "s", seconds(5));
  const auto second = connect_unix(home / "s", seconds(5));
  turns.until([&] { return peers.size() == 1; });
  turns.for_a_moment();
  EXPECT_EQ(peers.size(), 1U);
  listener->hold(false);
  turns.until([&] { return peers.size() == 2; });
}

TEST(Listener, WithoutDescriptorsItPausesWithoutSpinningAndTakesThePeerLater) {
  Turns turns;
  const TemporaryDirectory home;
  const auto listening = listen_unix(home / "s", 0600);
  ASSERT_TRUE(listening);
  std::vector<bool> paused;
  std::vector<UniqueFd> peers;
  Listener listener(turns.loop(), listening->get(),
                    {[&](UniqueFd fd, PeerCredentials) { peers.push_back(std::move(fd)); },
                     [&](bool now) { paused.push_back(now); }, [](const Error&) { ADD_FAILURE() << "not broken"; }});
  const auto client = connect_unix(home / "s", seconds(5));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  rusage at_start{};
  ::getrusage(RUSAGE_SELF, &at_start);
  turns.until([&] { return !paused.empty(); });
  turns.for_a_moment();
  rusage at_end{};
  ::getrusage(RUSAGE_SELF, &at_end);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(peers.empty());
  const auto used = [](const rusage& use) {
    return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1'000'000 + use.ru_utime.tv_usec + use.ru_stime.tv_usec;
  };
  EXPECT_LT(used(at_end) - used(at_start), 30'000) << "microseconds: it spins";
  turns.until([&] { return !peers.empty(); });
  EXPECT_EQ(paused, (std::vector<bool>{true, false}));
}

class LostSocket : public testing::Test {
 protected:
  void expect_lost(const std::function<void(const std::string&)>& deed) {
    auto own = open_own_socket(home_ / "b/s", 0600);
    ASSERT_TRUE(own) << own.error().text();
    std::vector<Error> lost;
    SocketWatch watch(turns_.loop(), own->path, own->identity, [&](const Error& error) { lost.push_back(error); });
    turns_.for_a_moment();
    ASSERT_TRUE(lost.empty());
    deed(own->path);
    turns_.until([&] { return !lost.empty(); });
    turns_.for_a_moment();
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].code, "socket_lost");
    EXPECT_EQ(lost[0].where, own->path);
  }
  TemporaryDirectory home_;
  Turns turns_;
};

TEST_F(LostSocket, OneThatVanishedIsTold) {
  expect_lost([](const std::string& path) { ASSERT_EQ(::unlink(path.c_str()), 0); });
}

TEST_F(LostSocket, OneThatWasReplacedIsTold) {
  expect_lost([](const std::string& path) {
    const std::string other = path + ".new";
    std::fclose(std::fopen(other.c_str(), "w"));
    ASSERT_EQ(::rename(other.c_str(), path.c_str()), 0);
  });
}

TEST_F(LostSocket, OneWhoseDirectoryWasMovedAwayIsTold) {
  expect_lost([this](const std::string&) { ASSERT_EQ(::rename((home_ / "b").c_str(), (home_ / "c").c_str()), 0); });
}

}  // namespace
}  // namespace loom::service
