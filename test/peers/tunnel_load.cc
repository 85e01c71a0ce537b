// The load for measuring relays: an origin that pours, and clients that read from it through whatever listens.
// usage: tunnel_load origin                        prints its port; a connection's first bytes say how much it pours
//        tunnel_load rate PORT BYTES [TARGET]      one connection: prints bytes a second
//        tunnel_load opens PORT COUNT CLIENTS [TARGET]   so many, of which each pours one byte: prints connections a
//        second
// With a TARGET, "HOST:PORT", it is asked for by CONNECT; HOST is named in the hello.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
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

SSL_CTX* tls_origin(const char* certificate, const char* key) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_num_tickets(context, 0);
  if (SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
    die("certificate");
  return context;
}

// One byte, behind a whole handshake, and what the client says to that.
void serve_tls(int fd, SSL_CTX* context) {
  SSL* tls = SSL_new(context);
  SSL_set_fd(tls, fd);
  char byte = 'x';
  if (SSL_accept(tls) == 1 && SSL_write(tls, &byte, 1) == 1) SSL_read(tls, &byte, 1);
  SSL_free(tls);
  ::close(fd);
}

void shake_hands(int fd, const std::string& host, SSL_CTX* context) {
  SSL* tls = SSL_new(context);
  SSL_set_fd(tls, fd);
  SSL_set_tlsext_host_name(tls, host.c_str());
  char byte = 0;
  if (SSL_connect(tls) != 1 || SSL_read(tls, &byte, 1) != 1) die("TLS");
  SSL_shutdown(tls);
  SSL_free(tls);
}

int run_origin(SSL_CTX* context) {
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
    if (context != nullptr)
      std::thread(serve_tls, fd, context).detach();
    else
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

// A connection to whatever listens, and through it to the target when there is one.
int reach(int port, const std::string& target) {
  const int fd = dial(port);
  if (target.empty()) return fd;
  send_all(fd, "CONNECT " + target + " HTTP/1.1\r\n\r\n");
  std::string answer(256, '\0');
  std::size_t got = 0;
  while (answer.find("\r\n\r\n") == std::string::npos) {
    const ssize_t piece = ::recv(fd, &answer[got], answer.size() - got, 0);
    if (piece <= 0) die("no answer to CONNECT");
    got += static_cast<std::size_t>(piece);
  }
  if (answer.find(" 200 ") == std::string::npos) die(answer.c_str());
  return fd;
}

std::string host_of(const std::string& target) {
  return target.empty() ? "bench.test" : target.substr(0, target.rfind(':'));
}

void fetch(int port, std::uint64_t bytes, const std::string& target, std::vector<char>& buffer) {
  const int fd = reach(port, target);
  std::string first = loom::test::in_records(loom::test::hello_for(host_of(target))) + "pour";
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
  ::signal(SIGPIPE, SIG_IGN);  // of TLS, which writes without asking for no signal
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "origin") return run_origin(nullptr);
  if (words.size() == 3 && words[0] == "tls-origin") return run_origin(tls_origin(argv[2], argv[3]));
  if (words.size() >= 3 && words[0] == "rate") {
    std::vector<char> buffer(1U << 18U);
    const auto bytes = std::strtoull(words[2].c_str(), nullptr, 10);
    const std::string target = words.size() > 3 ? words[3] : "";
    const int port = std::atoi(words[1].c_str());
    std::printf("%.0f\n", rate(static_cast<double>(bytes), [&] { fetch(port, bytes, target, buffer); }));
    return 0;
  }
  const bool tls = !words.empty() && words[0] == "tls-opens";
  if (words.size() < 4 || (words[0] != "opens" && !tls)) return 2;
  const int port = std::atoi(words[1].c_str());
  const int count = std::atoi(words[2].c_str());
  const int clients = std::atoi(words[3].c_str());
  const std::string target = words.size() > 4 ? words[4] : "";
  SSL_CTX* context = tls ? SSL_CTX_new(TLS_client_method()) : nullptr;
  const auto client = [&] {
    std::vector<char> buffer(4096);
    for (int done = 0; done < count / clients; ++done) {
      if (!tls) {
        fetch(port, 1, target, buffer);
        continue;
      }
      const int fd = reach(port, target);
      shake_hands(fd, host_of(target), context);
      ::close(fd);
    }
  };
  std::printf("%.1f\n", rate(count, [&] {
                std::vector<std::thread> threads;
                for (int i = 0; i < clients; ++i) threads.emplace_back(client);
                for (std::thread& thread : threads) thread.join();
              }));
  return 0;
}
