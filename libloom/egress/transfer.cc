#include "egress/transfer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "egress/redirects.h"
#include "egress/resolver.h"
#include "egress/transfer_hop.h"
#include "egress/transfer_trust.h"

namespace loom::egress {

struct Transfers::Shared {
  Loop* loop;
  EgressPolicy policy;
  EnvLookup env;
  std::vector<Listener> own;
  NameResolver resolver;
  TrustStore roots;
};

namespace {

std::uint64_t elapsed_ms(TimePoint from, TimePoint to) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(to_ms(to - from), 0));
}

}  // namespace

// A request on its way: secret, then the lookup, then hop after hop, each under what is left of the one deadline.
class Exchange : public Transfers::Running {
 public:
  Exchange(const Transfers::Shared& shared, Judged request, Transfers::Done done);
  ~Exchange() override { *alive_ = false; }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  void begin();

 private:
  void resolved(Outcome<std::vector<Address>> answers);
  void next_hop();
  void responded(Outcome<HopResponse> response);
  void late();
  void settle(Outcome<Answer> outcome);

  const Transfers::Shared& shared_;
  Judged request_;
  Transfers::Done done_;
  TimePoint began_;
  std::optional<Secret> secret_;
  Reflection reflection_;
  std::vector<Address> addresses_;
  unsigned hops_ = 0;
  Timing timing_;
  Loop::Timer deadline_;
  NameResolver::Lookup lookup_;
  std::unique_ptr<Hop> hop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

Exchange::Exchange(const Transfers::Shared& shared, Judged request, Transfers::Done done)
    : shared_(shared), request_(std::move(request)), done_(std::move(done)), began_(shared.loop->now()) {}

void Exchange::begin() {
  const TimePoint deadline = began_ + milliseconds(static_cast<std::int64_t>(shared_.policy.deadline_ms));
  deadline_ = shared_.loop->timer(deadline, [this] { late(); });
  if (request_.credential) {
    const SecretBinding* binding = shared_.policy.find_secret(*request_.credential);
    if (binding == nullptr) return settle(refuse(SecretMissing{*request_.credential}, Stage::kSecret));
    auto secret = read_secret(*binding, shared_.env);
    if (!secret) return settle(refuse(std::move(secret).error()));
    secret_ = std::move(*secret);
    reflection_ = secret_->reflection();
  }
  lookup_ = shared_.resolver.look_up(request_.url.origin.host, deadline,
                                     [this](auto answers) { resolved(std::move(answers)); });
}

void Exchange::resolved(Outcome<std::vector<Address>> answers) {
  lookup_.reset();
  timing_.resolve_ms = elapsed_ms(began_, shared_.loop->now());
  if (!answers) return settle(refuse(std::move(answers).error()));
  addresses_ = std::move(*answers);
  // Before every hop, though it is one origin and one lookup: nothing is connected to that was not judged.
  next_hop();
}

void Exchange::next_hop() {
  const AddressRules rules{shared_.policy.ip_allow, shared_.own};
  if (const auto refusal = judge_answers(addresses_, request_.url.origin.port, rules))
    return settle(refuse(AddressRefused{refusal->address, refusal->why}, Stage::kResolve));
  HopRequest hop;
  hop.judged = &request_;
  hop.addresses = addresses_;
  hop.roots = shared_.roots.get();
  hop.response_bytes = shared_.policy.response_bytes;
  if (request_.credential && secret_) {
    const SecretBinding& binding = *shared_.policy.find_secret(*request_.credential);
    hop.secret_header.reserve(binding.header.size() + 2 + binding.prefix.size() + secret_->reveal().size());
    hop.secret_header.append(binding.header).append(": ").append(binding.prefix).append(secret_->reveal());
  }
  hop_ = start_hop(*shared_.loop, std::move(hop), [this](auto response) { responded(std::move(response)); });
}

void Exchange::responded(Outcome<HopResponse> response) {
  hop_.reset();
  if (!response) return settle(refuse(std::move(response).error()));
  timing_.connect_ms = response->connect_ms;
  timing_.tls_ms = response->tls_ms;
  timing_.response_ms = response->response_ms;
  const HopAnswer told{response->head.status, response->head.values("location")};
  auto next = judge_redirect(shared_.policy, request_, hops_, told, reflection_);
  if (!next) return settle(refuse(std::move(next).error()));
  if (*next) {
    ++hops_;
    request_ = std::move(**next);
    return next_hop();
  }
  auto answer = compose_answer(shared_.policy, reflection_, std::move(response->head), std::move(response->body));
  if (answer) {
    answer->hops = hops_;
    answer->url = url_without(reflection_, request_.url);
    answer->address = response->address;
    timing_.total_ms = elapsed_ms(began_, shared_.loop->now());
    answer->timing = timing_;
  }
  settle(std::move(answer));
}

void Exchange::late() {
  const Stage stage = hop_ ? hop_->stage() : Stage::kResolve;
  lookup_.reset();
  hop_.reset();
  settle(refuse(DeadlinePassed{}, stage));
}

// The secret goes before anybody hears.
void Exchange::settle(Outcome<Answer> outcome) {
  deadline_.reset();
  secret_.reset();
  reflection_ = Reflection();
  shared_.loop->post([this, alive = alive_, outcome = std::move(outcome)]() mutable {
    if (!*alive) return;
    const Transfers::Done done = std::move(done_);
    done(std::move(outcome));  // may destroy this
  });
}

Transfers::Transfers(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}
Transfers::Transfers(Transfers&&) noexcept = default;
Transfers& Transfers::operator=(Transfers&&) noexcept = default;
Transfers::~Transfers() = default;

Result<Transfers> Transfers::make(Loop& loop, EgressPolicy policy, EnvLookup env, std::vector<Listener> own) {
  LOOM_CHECK(start_transfers());
  LOOM_TRY(NameResolver resolver, NameResolver::make(loop, render_resolver(policy.resolver)));
  LOOM_TRY(TrustStore roots, TrustStore::read(policy.trust));
  return Transfers(std::make_unique<Shared>(
      Shared{&loop, std::move(policy), std::move(env), std::move(own), std::move(resolver), std::move(roots)}));
}

const EgressPolicy& Transfers::policy() const {
  return shared_->policy;
}

Transfers::Transfer Transfers::perform(Judged request, Done done) const {
  auto exchange = std::make_unique<Exchange>(*shared_, std::move(request), std::move(done));
  exchange->begin();
  return exchange;
}

}  // namespace loom::egress
