#include "helper/stage2/orders.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helper/stage2/sys.h"

namespace loom::stage2 {
namespace {

constexpr std::size_t kAlign = 8;

int map_region(int fd, Region& region) {
  const long size = call(__NR_lseek, fd, 0, SEEK_END);
  if (size < static_cast<long>(sizeof(std::uint64_t))) return EPROTO;
  const long at = call(__NR_mmap, nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at < 0 && at > -4096) return static_cast<int>(-at);
  region.at = reinterpret_cast<const char*>(at);
  region.size = static_cast<std::size_t>(size);
  return *reinterpret_cast<const std::uint32_t*>(region.at) == kMagic ? 0 : EPROTO;
}

// A vector of pointers into a block of strings, for execve.
char** pointers(const Record* record, int& error) {
  const char* text = body<char>(record);
  std::size_t count = 0;
  for (std::size_t i = 0; i < record->length; ++i) count += text[i] == '\0' ? 1 : 0;
  const long at =
      call(__NR_mmap, nullptr, (count + 1) * sizeof(char*), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at < 0 && at > -4096) {
    error = static_cast<int>(-at);
    return nullptr;
  }
  char** list = reinterpret_cast<char**>(at);
  for (std::size_t i = 0; i < count; ++i) {
    list[i] = const_cast<char*>(text);
    text += length(text) + 1;
  }
  return list;
}

}  // namespace

const Record* next_record(const Region& region, const Record* from) {
  const char* at = region.at + sizeof(std::uint64_t);
  if (from != nullptr) {
    at = reinterpret_cast<const char*>(from + 1) + (from->length + kAlign - 1) / kAlign * kAlign;
  }
  const auto left = static_cast<std::size_t>(region.at + region.size - at);
  if (at >= region.at + region.size || left < sizeof(Record)) return nullptr;
  const auto* record = reinterpret_cast<const Record*>(at);
  return record->length <= left - sizeof(Record) ? record : nullptr;
}

int read_orders(int policy_fd, int request_fd, Orders& orders) {
  if (const int error = map_region(policy_fd, orders.policy); error != 0) return error;
  if (const int error = map_region(request_fd, orders.request); error != 0) return error;
  for (const Record* r = next_record(orders.policy, nullptr); r != nullptr; r = next_record(orders.policy, r)) {
    if (r->tag == Tag::kSetup) orders.setup = body<Setup>(r);
    if (r->tag == Tag::kBridge) orders.proxy = body<char>(r);
  }
  int error = 0;
  for (const Record* r = next_record(orders.request, nullptr); r != nullptr; r = next_record(orders.request, r)) {
    if (r->tag == Tag::kCwd) orders.cwd = body<char>(r);
    if (r->tag == Tag::kTty) orders.tty = body<Tty>(r);
    if (r->tag == Tag::kArgv) orders.argv = pointers(r, error);
    if (r->tag == Tag::kEnv) orders.env = pointers(r, error);
  }
  if (error != 0) return error;
  const bool whole =
      orders.setup != nullptr && orders.cwd != nullptr && orders.argv != nullptr && orders.env != nullptr;
  return whole ? 0 : EPROTO;
}

}  // namespace loom::stage2
