#include "os/runtime_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/socket.h"
#include "test/unit/os/temporary_directory.h"

namespace loom {
namespace {

using test::TemporaryDirectory;

RuntimeDirSources nothing_given(uid_t uid) {
  RuntimeDirSources sources;
  sources.uid = uid;
  sources.is_directory = [](const std::string&) { return false; };
  return sources;
}

TEST(RuntimeDir, TheFlagWinsOverEveryVariable) {
  RuntimeDirSources sources = nothing_given(1000);
  sources.flag = "/f";
  sources.loom_env = "/l";
  sources.xdg_env = "/x";
  EXPECT_EQ(choose_runtime_dir(sources).value(), "/f");
  sources.flag = "";
  EXPECT_EQ(choose_runtime_dir(sources).value(), "/l");
}

TEST(RuntimeDir, AnXdgDirectoryThatIsNoneIsPassedOver) {
  RuntimeDirSources sources = nothing_given(1000);
  sources.xdg_env = "/x";
  sources.is_directory = [](const std::string& path) { return path == "/run/user/1000"; };
  EXPECT_EQ(choose_runtime_dir(sources).value(), "/run/user/1000/loom");
  sources.is_directory = [](const std::string& path) { return path == "/x"; };
  EXPECT_EQ(choose_runtime_dir(sources).value(), "/x/loom");
}

TEST(RuntimeDir, OnlyRootFallsBackToRunLoomAndTheErrorNamesAllThatWasTried) {
  EXPECT_EQ(choose_runtime_dir(nothing_given(0)).value(), "/run/loom");
  const auto refused = choose_runtime_dir(nothing_given(1000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "no_runtime_dir");
  for (const char* name : {"--runtime-dir", "LOOM_RUNTIME_DIR", "XDG_RUNTIME_DIR", "/run/user/1000", "/run/loom"}) {
    EXPECT_NE(refused.error().what.find(name), std::string::npos) << name;
  }
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(SocketDirectory, AMissingOneIsMadeForUsAlone) {
  const TemporaryDirectory home;
  const mode_t before = ::umask(0);
  const auto prepared = prepare_socket_dir(home / "b/s");
  ::umask(before);
  ASSERT_TRUE(prepared) << prepared.error().text();
  EXPECT_EQ(mode_of(home / "b"), 0700U);
}

TEST(SocketDirectory, AnExistingOneIsJudgedAndNeverChanged) {
  const TemporaryDirectory home;
  ASSERT_EQ(::mkdir((home / "b").c_str(), 0755), 0);
  EXPECT_TRUE(prepare_socket_dir(home / "b/s"));
  EXPECT_EQ(mode_of(home / "b"), 0755U);
  for (const mode_t unsafe : {0777U, 0770U, 0702U, 01777U}) {
    ASSERT_EQ(::chmod((home / "b").c_str(), unsafe), 0);
    const auto refused = prepare_socket_dir(home / "b/s");
    ASSERT_FALSE(refused) << std::oct << unsafe;
    EXPECT_EQ(refused.error().code, "socket_dir_unsafe");
    EXPECT_EQ(mode_of(home / "b"), unsafe);
  }
}

TEST(SocketDirectory, OneOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  const TemporaryDirectory home;
  ASSERT_EQ(::mkdir((home / "b").c_str(), 0700), 0);
  ASSERT_EQ(::chown((home / "b").c_str(), 12345, 12345), 0);
  const auto refused = prepare_socket_dir(home / "b/s");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "socket_dir_unsafe");
}

TEST(SocketDirectory, NoLinkIsFollowedOnTheWay) {
  const TemporaryDirectory home;
  ASSERT_EQ(::mkdir((home / "real").c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((home / "real/in").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("real", (home / "link").c_str()), 0);
  for (const char* path : {"link/s", "link/in/s"}) {
    const auto refused = prepare_socket_dir(home / path);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, "socket_through_link");
    EXPECT_EQ(refused.error().where, home / "link");
  }
}

TEST(SocketDirectory, PathsThatCanBeNoSocketAreRefusedByName) {
  const TemporaryDirectory home;
  EXPECT_EQ(prepare_socket_dir("s").error().code, "socket_path_relative");
  EXPECT_EQ(prepare_socket_dir("").error().code, "socket_path_relative");
  EXPECT_EQ(prepare_socket_dir(home / "b/..").error().code, "socket_path_relative");
  EXPECT_EQ(prepare_socket_dir("/s").error().code, "socket_under_root");
  EXPECT_EQ(prepare_socket_dir("//s").error().code, "socket_under_root");
  EXPECT_EQ(prepare_socket_dir(home / "absent/b/s").error().code, "socket_dir_missing");
  const std::string at_limit = "/d/" + std::string(kMaxSocketPath - 3, 'x');
  EXPECT_NE(prepare_socket_dir(at_limit + "y").error().code, "socket_path_relative");
  EXPECT_EQ(prepare_socket_dir(at_limit + "y").error().code, "socket_path_too_long");
}

TEST(OwnSocket, ALiveOneIsRefusedAStaleOneReplacedAFileKept) {
  const TemporaryDirectory home;
  const std::string path = home / "b/s";
  {
    auto first = open_own_socket(path, 0600);
    ASSERT_TRUE(first) << first.error().text();
    EXPECT_EQ(mode_of(path), 0600U);
    const auto second = open_own_socket(path, 0600);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, "socket_live");
    EXPECT_EQ(identify(path), first->identity);
  }
  EXPECT_EQ(probe_unix(path), SocketLife::kStale);
  auto replaced = open_own_socket(path, 0600);
  ASSERT_TRUE(replaced) << replaced.error().text();
  EXPECT_EQ(probe_unix(path), SocketLife::kLive);
  remove_own_socket(*replaced);
  EXPECT_EQ(probe_unix(path), SocketLife::kAbsent);
  std::ofstream(path) << "mine";
  EXPECT_EQ(open_own_socket(path, 0600).error().code, "socket_in_use");
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(OwnSocket, ASocketThatIsNotOursAnyMoreIsNotRemoved) {
  const TemporaryDirectory home;
  const std::string path = home / "b/s";
  auto ours = open_own_socket(path, 0600);
  ASSERT_TRUE(ours);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  std::ofstream(path) << "another's";
  remove_own_socket(*ours);
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace loom
