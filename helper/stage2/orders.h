// The orders as stage 2 sees them: two read-only maps (the policy's part, the request's part) walked record by record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "helper/stage2/protocol.h"

namespace loom::stage2 {

struct Region {
  const char* at = nullptr;
  std::size_t size = 0;
};

struct Orders {
  Region policy;
  Region request;
  const Setup* setup = nullptr;
  const Tty* tty = nullptr;
  const char* cwd = nullptr;
  const char* proxy = nullptr;  // the proxy's socket, where the bridge is to lead
  char** argv = nullptr;        // built by read_orders, NULL-terminated
  char** env = nullptr;
};

// Maps both and finds the single records; the error is an errno.
int read_orders(int policy_fd, int request_fd, Orders& orders);

// The next record of a region after `from` (nullptr: the first), or nullptr at the end. A record never reaches past the
// region.
const Record* next_record(const Region& region, const Record* from);
template <class T>
const T* body(const Record* record) {
  return reinterpret_cast<const T*>(record + 1);
}
// The text that stands behind a record's structure.
template <class T>
const char* text_after(const Record* record) {
  return reinterpret_cast<const char*>(body<T>(record) + 1);
}

}  // namespace loom::stage2
