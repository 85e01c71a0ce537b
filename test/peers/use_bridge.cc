// Goes the way out: connects to the bridge and says what came of it.
//   use_bridge echo COUNT BYTES   COUNT connections at once, BYTES over each and its half-close; the same must come
//   back use_bridge reach ADDRESS PORT what connect says to any other place
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct Stream {
  int fd = -1;
  std::size_t sent = 0;
  std::size_t got = 0;
  bool over = false;
};

int connected(const char* host, int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, host, &address.sin_addr);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
  return fd;
}

char byte_at(std::size_t at) {
  return static_cast<char>(at * 31 + at / 251);
}

bool send_some(Stream& stream, std::size_t size) {
  char block[4096];
  std::size_t count = 0;
  for (; count < sizeof block && stream.sent + count < size; ++count) block[count] = byte_at(stream.sent + count);
  const ssize_t put = ::send(stream.fd, block, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (put < 0) return errno == EAGAIN;
  stream.sent += static_cast<std::size_t>(put);
  if (stream.sent == size) ::shutdown(stream.fd, SHUT_WR);
  return true;
}

bool hear_some(Stream& stream) {
  char block[4096];
  const ssize_t got = ::recv(stream.fd, block, sizeof block, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN;
  for (ssize_t i = 0; i < got; ++i) {
    if (block[i] != byte_at(stream.got + static_cast<std::size_t>(i))) return false;
  }
  stream.got += static_cast<std::size_t>(got);
  stream.over = got == 0;
  return true;
}

int echo(int count, std::size_t size) {
  std::vector<Stream> streams(static_cast<std::size_t>(count));
  for (Stream& stream : streams) {
    stream.fd = connected("127.0.0.1", 3128);
    if (stream.fd < 0) return std::printf("no connection: %s\n", std::strerror(errno)), 1;
  }
  int over = 0;
  while (over < count) {
    std::vector<pollfd> asked;
    for (const Stream& stream : streams) {
      const bool sends = stream.sent < size;
      asked.push_back({stream.over ? -1 : stream.fd, static_cast<short>(POLLIN | (sends ? POLLOUT : 0)), 0});
    }
    ::poll(asked.data(), asked.size(), -1);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      Stream& stream = streams[i];
      if ((asked[i].revents & POLLOUT) != 0 && stream.sent < size && !send_some(stream, size)) return 1;
      if ((asked[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      if (!hear_some(stream)) return std::puts("something else came back"), 1;
      over += stream.over ? 1 : 0;
    }
  }
  for (const Stream& stream : streams) {
    if (stream.got != size) return std::printf("%zu of %zu bytes came back\n", stream.got, size), 1;
  }
  std::puts("all came back");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  if (std::strcmp(argv[1], "echo") == 0) return echo(std::atoi(argv[2]), std::strtoul(argv[3], nullptr, 10));
  const int fd = connected(argv[2], std::atoi(argv[3]));
  std::puts(fd >= 0 ? "connected" : std::strerror(errno));
  return 0;
}
