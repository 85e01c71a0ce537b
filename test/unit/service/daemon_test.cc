#include "service/daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "os/socket.h"
#include "service/readiness.h"
#include "test/unit/os/temporary_directory.h"

namespace loom::service {
namespace {

using test::TemporaryDirectory;

std::string read_all(int fd) {
  std::string text;
  char buffer[256];
  for (ssize_t count = 0; (count = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
}

// Says what it is asked, in order, into a pipe; ends with 5 when told to close.
class Recorder final : public Daemon {
 public:
  Recorder(int out, bool refuses) : out_(out), refuses_(refuses) {}
  Status open() override {
    say("open ");
    if (refuses_) return fail("refused", "", "not today");
    return {};
  }
  Status drop() override {
    say("drop ");
    return {};
  }
  std::string serve(std::function<void(int)> finish) override {
    say("serve ");
    finish_ = std::move(finish);
    return "ready here";
  }
  void close() override {
    say("close ");
    finish_(5);
  }

 private:
  void say(const std::string& word) const { (void)!::write(out_, word.data(), word.size()); }
  int out_;
  bool refuses_;
  std::function<void(int)> finish_;
};

struct Life {
  std::string said;
  std::string ready;
  int status = -1;
};

// A daemon in a process of its own, told to end by a signal once it is ready.
Life live(bool refuses, int signal) {
  int words[2];
  int ready[2];
  EXPECT_EQ(::pipe2(words, O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    Loop loop;
    Recorder recorder(words[1], refuses);
    DaemonOptions options;
    options.ready_fd = ready[1];
    const auto status = run_daemon(loop, recorder, options);
    ::_exit(status ? *status : 99);
  }
  ::close(words[1]);
  ::close(ready[1]);
  Life life;
  life.ready = read_all(ready[0]);  // its end: announced and closed, or refused
  if (signal != 0) ::kill(pid, signal);
  life.said = read_all(words[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  life.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  ::close(words[0]);
  ::close(ready[0]);
  return life;
}

TEST(Daemon, EachStepComesOnceInItsOrderAndASignalIsAClose) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const Life life = live(false, signal);
    EXPECT_EQ(life.said, "open drop serve close ");
    EXPECT_EQ(life.ready, "ready here\n");
    EXPECT_EQ(life.status, 5);
  }
}

TEST(Daemon, WhatIsRefusedIsNeverAnnounced) {
  const Life life = live(true, 0);
  EXPECT_EQ(life.said, "open ");
  EXPECT_EQ(life.ready, "");
  EXPECT_EQ(life.status, 99);
}

TEST(Daemon, AReadyDescriptorThatIsNotOpenIsRefusedBeforeAnythingIsOpened) {
  Loop loop;
  Recorder recorder(-1, false);
  DaemonOptions options;
  options.ready_fd = 987;
  const auto status = run_daemon(loop, recorder, options);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "ready_fd_failed");
}

TEST(Readiness, ASupervisorIsToldOverItsSocket) {
  const TemporaryDirectory home;
  const std::string path = home / "notify";
  const UniqueFd supervisor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(supervisor.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  notify_supervisor("READY=1");
  ::unsetenv("NOTIFY_SOCKET");
  char text[32] = {};
  ASSERT_EQ(::recv(supervisor.get(), text, sizeof text, MSG_DONTWAIT), 7);
  EXPECT_STREQ(text, "READY=1");
}

// In a process of its own, since the descriptor it takes is number 3.
int with_listen_fds(const std::string& count, int fd) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (fd >= 0) ::dup2(fd, 3);
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", count.c_str(), 1);
    const auto taken = take_listen_fd();
    const bool cleared = std::getenv("LISTEN_FDS") == nullptr && std::getenv("LISTEN_PID") == nullptr;
    if (!cleared) ::_exit(9);
    if (!taken) ::_exit(1);
    ::_exit(taken->has_value() && (::fcntl((*taken)->get(), F_GETFD) & FD_CLOEXEC) != 0 ? 0 : 2);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST(Readiness, OneListeningSocketOfASupervisorIsTakenAndAnythingElseRefused) {
  const TemporaryDirectory home;
  const auto listening = listen_unix(home / "s", 0600);
  ASSERT_TRUE(listening);
  EXPECT_EQ(bound_path(listening->get()), home / "s");
  EXPECT_EQ(with_listen_fds("1", listening->get()), 0);
  EXPECT_EQ(with_listen_fds("0", listening->get()), 2);
  EXPECT_EQ(with_listen_fds("2", listening->get()), 1);
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(with_listen_fds("1", null.get()), 1);
}

TEST(Readiness, SocketsMeantForAnotherProcessAreLeftAlone) {
  ::setenv("LISTEN_PID", "1", 1);
  ::setenv("LISTEN_FDS", "1", 1);
  const auto taken = take_listen_fd();
  ASSERT_TRUE(taken);
  EXPECT_FALSE(taken->has_value());
}

}  // namespace
}  // namespace loom::service
