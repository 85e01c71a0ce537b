#include "test/support/stub_proxy.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <string_view>

namespace loom::test {
namespace {

void say(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (put <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

// Its first bytes tell what it is: a request's line, or something to be sent back.
void answer(int fd, StubProxy::Manner manner) {
  if (manner == StubProxy::Manner::kHangsUp) return;
  std::array<char, 65536> block{};
  for (bool first = true;; first = false) {
    const ssize_t got = ::recv(fd, block.data(), block.size(), 0);
    if (got <= 0) return;
    const std::string_view text(block.data(), static_cast<std::size_t>(got));
    if (!first || text.substr(0, 4) != "GET ") {
      say(fd, text);
      continue;
    }
    const bool ready = manner == StubProxy::Manner::kReady && text.find("/ready ") != std::string_view::npos;
    return say(fd, ready ? "HTTP/1.1 204 No Content\r\n\r\n" : "HTTP/1.1 503 not now\r\nContent-Length: 0\r\n\r\n");
  }
}

[[noreturn]] void serve(int listener, StubProxy::Manner manner) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGCHLD, SIG_IGN);
  for (;;) {
    const int fd = ::accept(listener, nullptr, nullptr);
    if (fd < 0) continue;
    if (::fork() == 0) {
      ::close(listener);
      answer(fd, manner);
      ::_exit(0);
    }
    ::close(fd);
  }
}

}  // namespace

StubProxy::StubProxy(std::string path, Manner manner) : path_(std::move(path)) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  ::unlink(path_.c_str());
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) std::abort();
  ::chmod(path_.c_str(), 0666);
  ::listen(listener, 512);
  pid_ = ::fork();
  if (pid_ == 0) serve(listener, manner);
  ::close(listener);
}

StubProxy::~StubProxy() {
  end();
}

void StubProxy::end() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace loom::test
