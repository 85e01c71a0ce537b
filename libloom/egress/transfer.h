// Performs requests that were judged (spec/egress.md "Resolver and addresses", "Redirects", "Transfer"): reads the
// secret, asks the resolver once, judges every address, connects to one of these, and follows what the one judge lets
// follow; all under one deadline. HTTP by libcurl (transfer_hop.cc); no curl header leaves it. Requests run side by
// side.
//
// The process's environment must be clean of what libcurl, OpenSSL and c-ares read before the first Transfers is made
// (cmd/loom-egress/environment.h): nothing here can take back what they have read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "egress/answer.h"
#include "egress/judge.h"
#include "egress/policy_document.h"
#include "egress/secrets.h"
#include "os/loop.h"

namespace loom::egress {

class Transfers {
 public:
  class Running {
   public:
    virtual ~Running() = default;
  };
  // A request on its way; destroying it cancels it at once, and its callback is never called after.
  using Transfer = std::unique_ptr<Running>;
  using Done = std::function<void(Outcome<Answer>)>;

  // Reads the roots the policy trusts. The Loop must outlive this, and this its Transfers. `env` is asked for a
  // secret's value when a request needs it; `own` are our listeners, which nobody reaches through us. Errors:
  // bad_resolver, bad_trust, unreadable, transfer_failed.
  [[nodiscard]] static Result<Transfers> make(Loop& loop, EgressPolicy policy, EnvLookup env,
                                              std::vector<Listener> own = {});
  Transfers(Transfers&&) noexcept;
  Transfers& operator=(Transfers&&) noexcept;
  ~Transfers();

  [[nodiscard]] const EgressPolicy& policy() const;

  // `request` is what judge_request admitted under this policy. `done` is called once, from the loop, never from within
  // perform, and may destroy the Transfer. Failures: secret_missing, header_refused, dns, address_refused, connect,
  // tls, upstream, response_too_large, redirect_refused (and what the judge says of a hop), deadline.
  [[nodiscard]] Transfer perform(Judged request, Done done) const;

 private:
  friend class Exchange;
  struct Shared;
  explicit Transfers(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace loom::egress
