// The load for measuring relays: an origin that pours, and clients that read from it through whatever listens.
// usage: tunnel_load origin                        prints its port; a connection's first bytes say how much it pours
//        tunnel_load rate PORT BYTES [TARGET]      one connection: prints bytes a second
//        tunnel_load opens PORT COUNT CLIENTS [TARGET]   so many, of which each pours one byte: prints connections a
//        second
// With a TARGET, "HOST:PORT", it is asked for by CONNECT; HOST is named in the hello.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "test/support/tls_bytes.h"

namespace {

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

// The hello is a real one to whoever judges it; behind it comes the number of bytes that are wanted, eight in all.
void serve(int fd) {
  std::string heard;
  std::vector<char> buffer(1U << 18U);
  const std::string mark = "pour";
  std::size_t at = std::string::npos;
  while (at == std::string::npos || heard.size() < at + mark.size() + 8) {
    const ssize_t got = ::recv(fd, buffer.data(), 4096, 0);
    if (got <= 0) return static_cast<void>(::close(fd));
    heard.append(buffer.data(), static_cast<std::size_t>(got));
    at = heard.find(mark);
  }
  std::uint64_t left = 0;
  std::memcpy(&left, heard.data() + at + mark.size(), sizeof left);
  while (left > 0) {
    const std::size_t piece = left < buffer.size() ? static_cast<std::size_t>(left) : buffer.size();
    send_all(fd, std::string_view(buffer.data(), piece));
    left -= piece;
  }
  ::close(fd);
}

int run_origin() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&name), size) != 0 || ::listen(listener, 512) != 0) die("listen");
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &size);
  std::printf("%d\n", ntohs(name.sin_port));
  std::fflush(stdout);
  while (true) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::thread(serve, fd).detach();
  }
}

int dial(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) die("connect");
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void fetch(int port, std::uint64_t bytes, const std::string& target, std::vector<char>& buffer) {
  const int fd = dial(port);
  std::string host = "bench.test";
  if (!target.empty()) {
    host = target.substr(0, target.rfind(':'));
    send_all(fd, "CONNECT " + target + " HTTP/1.1\r\n\r\n");
    std::string answer;
    while (answer.find("\r\n\r\n") == std::string::npos) {
      char c = 0;
      if (::recv(fd, &c, 1, 0) != 1) die("no answer to CONNECT");
      answer += c;
    }
    if (answer.find(" 200 ") == std::string::npos) die(answer.c_str());
  }
  std::string first = loom::test::in_records(loom::test::hello_for(host)) + "pour";
  first.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  send_all(fd, first);
  std::uint64_t got = 0;
  while (got < bytes) {
    const ssize_t piece = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (piece <= 0) die("the origin's bytes ended too early");
    got += static_cast<std::uint64_t>(piece);
  }
  ::close(fd);
}

template <class Run>
double rate(double amount, Run run) {
  const auto began = std::chrono::steady_clock::now();
  run();
  return amount / std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "origin") return run_origin();
  if (words.size() >= 3 && words[0] == "rate") {
    std::vector<char> buffer(1U << 18U);
    const auto bytes = std::strtoull(words[2].c_str(), nullptr, 10);
    const std::string target = words.size() > 3 ? words[3] : "";
    std::printf("%.0f\n",
                rate(static_cast<double>(bytes), [&] { fetch(std::atoi(words[1].c_str()), bytes, target, buffer); }));
    return 0;
  }
  if (words.size() < 4 || words[0] != "opens") return 2;
  const int port = std::atoi(words[1].c_str());
  const int count = std::atoi(words[2].c_str());
  const int clients = std::atoi(words[3].c_str());
  const std::string target = words.size() > 4 ? words[4] : "";
  std::printf("%.1f\n", rate(count, [&] {
                std::vector<std::thread> threads;
                for (int i = 0; i < clients; ++i) {
                  threads.emplace_back([&] {
                    std::vector<char> buffer(4096);
                    for (int done = 0; done < count / clients; ++done) fetch(port, 1, target, buffer);
                  });
                }
                for (std::thread& thread : threads) thread.join();
              }));
  return 0;
}
