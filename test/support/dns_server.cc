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

DnsServer::DnsServer(Loop& loop) : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* address = reinterpret_cast<sockaddr*>(&at);
  if (::bind(fd_.get(), address, size) != 0 || ::getsockname(fd_.get(), address, &size) != 0) std::abort();
  port_ = ntohs(at.sin_port);
  watch_ = loop.watch(fd_.get(), Readiness::kRead, [this] { receive(); });
}

void DnsServer::receive() {
  std::array<char, 4096> buffer{};
  sockaddr_in from{};
  socklen_t size = sizeof from;
  const ssize_t got = ::recvfrom(fd_.get(), buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
  if (got < static_cast<ssize_t>(kHeader)) return;
  const std::string reply = reply_to({buffer.data(), static_cast<std::size_t>(got)});
  if (!reply.empty()) ::sendto(fd_.get(), reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
}

std::string DnsServer::reply_to(const std::string& query) {
  std::size_t end = 0;
  const std::string name = question_name(query, end);
  if (end + 4 > query.size()) return "";
  const unsigned type = static_cast<unsigned char>(query[end]) << 8U | static_cast<unsigned char>(query[end + 1]);
  const std::string asked = (type == kTypeA ? "A " : type == kTypeAaaa ? "AAAA " : "? ") + name;
  asked_.push_back(asked);
  if (told_) told_(asked);

  unsigned code = 3;  // no such name
  std::string records;
  unsigned count = 0;
  if (const auto known = answers_.find(name); known != answers_.end() && !known->second.empty()) {
    code = 0;
    const std::size_t turn = std::min(count_[asked]++, known->second.size() - 1);
    for (const std::string& text : known->second[turn]) {
      if (text == "SILENT") return "";
      if (text == "SERVFAIL") code = 2;
      if (text == "REFUSED") code = 5;
      const std::string bytes = address_bytes(type, text);
      if (bytes.empty()) continue;
      records += record(type, bytes);
      ++count;
    }
  }
  return query.substr(0, 2) + two(0x8580U | code) + two(1) + two(count) + two(0) + two(0) +
         query.substr(kHeader, end + 4 - kHeader) + records;
}

}  // namespace loom::test
