// Names to addresses on the loop, under a deadline (spec/egress.md "NameResolver and addresses"). The c-ares adapter is
// resolver.cc: getaddrinfo could neither be stopped nor pointed at a test's server. Nothing here judges: whoever asks
// has judged the policy first (an unlisted host causes no query) and judges every address of the answer afterwards.
// Ownership: a Lookup is one question; destroying it ends it for good (its callback is never called after). The
// NameResolver and the Loop outlive their Lookups.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "egress/addresses.h"
#include "egress/failure.h"
#include "os/loop.h"
#include "policy/host.h"

namespace loom::egress {

class NameResolver {
 public:
  class Question {
   public:
    virtual ~Question() = default;
  };
  using Lookup = std::unique_ptr<Question>;
  // All IPv4 and IPv6 addresses of the name, each once, in the order they were told; never an empty list. Failures, at
  // the stage resolve: dns (no such name, no address, no server that answers), deadline.
  using Answer = std::function<void(Outcome<std::vector<Address>>)>;

  // `server` is "system" (the hosts file and the servers of resolv.conf; no search list, no aliases) or "ADDRESS:PORT",
  // which then is the only one asked. Error: bad_resolver, with an empty place.
  [[nodiscard]] static Result<NameResolver> make(Loop& loop, std::string_view server);

  // Asks once. `answer` is called from the loop, never from within look_up, and may destroy the Lookup. A host that is
  // an address already is its own answer, and nobody is asked.
  [[nodiscard]] Lookup look_up(const Host& host, TimePoint deadline, Answer answer) const;

 private:
  NameResolver(Loop& loop, std::string server) : loop_(&loop), server_(std::move(server)) {}
  Loop* loop_;
  std::string server_;  // as c-ares spells it; "" for the system's
};

}  // namespace loom::egress
