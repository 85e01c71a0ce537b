#include "dns_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace loom::test {
namespace {

constexpr std::size_t kHeader = 12;
constexpr unsigned kTypeA = 1;
constexpr unsigned kTypeAaaa = 28;

std::string two(unsigned value) {
  return {static_cast<char>(value >> 8U), static_cast<char>(value & 0xffU)};
}

// The name of the one question, and where it ends; empty when there is none.
std::string question_name(const std::string& query, std::size_t& at) {
  std::string name;
  at = kHeader;
  while (at < query.size() && query[at] != 0) {
    const auto length = static_cast<unsigned char>(query[at]);
    if (length > 63 || at + 1 + length > query.size()) return "";
    name += (name.empty() ? "" : ".") + query.substr(at + 1, length);
    at += 1 + length;
  }
  ++at;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

std::string record(unsigned type, const std::string& data) {
  return "\xc0\x0c" + two(type) + two(1) + std::string(4, '\0') + two(static_cast<unsigned>(data.size())) + data;
}

std::string address_bytes(unsigned type, const std::string& text) {
  std::array<char, 16> bytes{};
  if (::inet_pton(type == kTypeA ? AF_INET : AF_INET6, text.c_str(), bytes.data()) != 1) return "";
  return {bytes.data(), type == kTypeA ? 4U : 16U};
}

}  // namespace

DnsServer::DnsServer(Loop& loop) : loop_(loop) {
  constexpr int kTries = 16;  // TCP chooses the port, and somebody's UDP may have it
  for (int i = 0; i < kTries && port_ == 0; ++i) open();
  if (port_ == 0) std::abort();
  watch_ = loop.watch(fd_.get(), Readiness::kRead, [this] { receive(); });
  listening_watch_ = loop.watch(listening_.get(), Readiness::kRead, [this] { accept(); });
}

void DnsServer::open() {
  fd_.reset(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  listening_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* address = reinterpret_cast<sockaddr*>(&at);
  const bool bound = ::bind(listening_.get(), address, size) == 0 && ::listen(listening_.get(), 16) == 0 &&
                     ::getsockname(listening_.get(), address, &size) == 0 && ::bind(fd_.get(), address, size) == 0;
  if (bound) port_ = ntohs(at.sin_port);
}

void DnsServer::receive() {
  std::array<char, 4096> buffer{};
  sockaddr_in from{};
  socklen_t size = sizeof from;
  const ssize_t got = ::recvfrom(fd_.get(), buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
  if (got < static_cast<ssize_t>(kHeader)) return;
  const std::string reply = reply_to({buffer.data(), static_cast<std::size_t>(got)}, Over::kUdp);
  if (!reply.empty()) ::sendto(fd_.get(), reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
}

void DnsServer::accept() {
  UniqueFd taken(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!taken) return;
  const int fd = taken.get();
  streams_[fd] = std::move(taken);
  stream_watches_[fd] = loop_.watch(fd, Readiness::kRead, [this, fd] { receive_stream(fd); });
}

// Questions with their length before them; each comes whole, as c-ares writes it.
void DnsServer::receive_stream(int fd) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got <= 0) {
    stream_watches_.erase(fd);
    streams_.erase(fd);
    return;
  }
  std::string_view rest(buffer.data(), static_cast<std::size_t>(got));
  while (rest.size() > 2) {
    const std::size_t length = static_cast<unsigned char>(rest[0]) * 256U + static_cast<unsigned char>(rest[1]);
    const std::string reply = reply_to(std::string(rest.substr(2, length)), Over::kTcp);
    const std::string framed = two(static_cast<unsigned>(reply.size())) + reply;
    if (::write(fd, framed.data(), framed.size()) < 0) return;
    rest.remove_prefix(std::min(rest.size(), length + 2));
  }
}

std::string DnsServer::reply_to(const std::string& query, Over over) {
  std::size_t end = 0;
  const std::string name = question_name(query, end);
  if (end + 4 > query.size()) return "";
  const unsigned type = static_cast<unsigned char>(query[end]) << 8U | static_cast<unsigned char>(query[end + 1]);
  const std::string what = (type == kTypeA ? "A " : type == kTypeAaaa ? "AAAA " : "? ") + name;
  const std::string asked = (over == Over::kTcp ? "TCP " : "") + what;
  asked_.push_back(asked);
  if (told_) told_(asked);

  unsigned code = 3;  // no such name
  bool truncated = false;
  std::string records;
  unsigned count = 0;
  if (const auto known = answers_.find(name); known != answers_.end() && !known->second.empty()) {
    code = 0;
    const std::size_t turn = std::min(count_[asked]++, known->second.size() - 1);
    for (const std::string& text : known->second[turn]) {
      if (text == "SILENT") return "";
      if (text == "SERVFAIL") code = 2;
      if (text == "REFUSED") code = 5;
      truncated = truncated || (text == "TRUNCATED" && over == Over::kUdp);
      const std::string bytes = address_bytes(type, text);
      if (bytes.empty()) continue;
      records += record(type, bytes);
      ++count;
    }
  }
  if (truncated) {
    records.clear();
    count = 0;
    code |= 0x0200U;
  }
  return query.substr(0, 2) + two(0x8580U | code) + two(1) + two(count) + two(0) + two(0) +
         query.substr(kHeader, end + 4 - kHeader) + records;
}

}  // namespace loom::test
