// One hop of a request: one connection, one request, one response, by libcurl under the loop. Internal to transfer*.cc.
// Adapter: transfer_hop.cc (the loop and the callbacks), transfer_setup.cc (the options), transfer_fault.cc (its errors
// in our words).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "egress/addresses.h"
#include "egress/failure.h"
#include "egress/headers.h"
#include "egress/judge.h"
#include "egress/response_head.h"
#include "os/loop.h"

namespace loom::egress {

// Starts libcurl, once a process, with an allocator that wipes what it frees: its buffers held a secret's header.
// Error: transfer_failed.
[[nodiscard]] Status start_transfers();

struct HopRequest {
  const Judged* judged = nullptr;  // borrowed while the hop runs
  std::vector<Address> addresses;  // judged: nothing else is connected to
  std::string secret_header;       // "authorization: Bearer ..." or ""; wiped by start_hop
  void* roots = nullptr;           // a TrustStore's, borrowed while the hop runs
  std::uint64_t response_bytes = 0;
};

struct HopResponse {
  ResponseHead head;
  std::string body;
  Address address;
  std::uint64_t connect_ms = 0;
  std::uint64_t tls_ms = 0;
  std::uint64_t response_ms = 0;
};

class Hop {
 public:
  virtual ~Hop() = default;
  // How far it has come, for who ends it.
  [[nodiscard]] virtual Stage stage() const = 0;
};
using HopDone = std::function<void(Outcome<HopResponse>)>;

// `done` is called once, from the loop, and may destroy the Hop; destroying the Hop closes its connection.
[[nodiscard]] std::unique_ptr<Hop> start_hop(Loop& loop, HopRequest request, HopDone done);

}  // namespace loom::egress
