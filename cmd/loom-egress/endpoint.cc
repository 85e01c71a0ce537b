#include "endpoint.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "cli/output.h"
#include "daemon_parts.h"
#include "environment.h"
#include "options.h"

namespace loom::egress_tool {
namespace {

constexpr std::string_view kTokenHeader = "x-loom-egress-token";

HttpAnswer answer_of(int status, Map body) {
  return HttpAnswer{status, render_json(Value(std::move(body)))};
}
HttpAnswer no(int status, std::string_view code, std::string_view error) {
  return answer_of(status, {{"error", error}, {"code", code}});
}

// Something of the call has reached the upstream, so that it is a call that went out and not a refusal.
bool went_out(const egress::Failure& failure) {
  switch (failure.stage) {
    case egress::Stage::kRequest:
    case egress::Stage::kPolicy:
    case egress::Stage::kSecret:
    case egress::Stage::kResolve:
    case egress::Stage::kConnect:
      return false;
    case egress::Stage::kTls:
    case egress::Stage::kSend:
    case egress::Stage::kResponse:
    case egress::Stage::kBody:
    case egress::Stage::kRedirect:
      return true;
  }
  return true;
}

// One header, once: of two it could not be said which one speaks.
std::string token_of(const egress::HttpHead& head) {
  std::string token;
  for (const auto& [name, value] : head.headers) {
    if (!egress::same_token(name, kTokenHeader)) continue;
    if (!token.empty()) return "";
    token = value;
  }
  return token;
}

}  // namespace

struct Endpoint::Call {
  TimePoint since;
  std::string caller;
  std::string run;
  std::string token_sha256;  // "" before the head
  std::string destination;
  egress::CallRecord record;
  std::shared_ptr<const egress::Transfers> transfers;  // outlives the transfer
  egress::Transfers::Transfer transfer;
  std::unique_ptr<HttpExchange> http;
};

Endpoint::Endpoint(Loop& loop, Settings settings, std::function<void()> changed)
    : loop_(loop),
      settings_(std::move(settings)),
      changed_(std::move(changed)),
      config_(settings_.config),
      log_(settings_.record) {}

Endpoint::~Endpoint() = default;

Result<const egress::EgressConfig*> Endpoint::refresh() {
  LOOM_TRY(const egress::EgressConfig* config, config_.current());
  if (!transfers_ || generation_ != config_.generation()) {
    transfers_.reset();
    LOOM_TRY(auto transfers, egress::Transfers::make(loop_, config->policy, environment_value, settings_.own));
    transfers_ = std::make_shared<const egress::Transfers>(std::move(transfers));
    generation_ = config_.generation();
  }
  LOOM_CHECK(log_.use(config->record));
  said_closed_ = false;
  return config;
}

void Endpoint::add(UniqueFd socket) {
  const std::uint64_t number = next_++;
  auto call = std::make_unique<Call>();
  Call& added = *call;
  added.since = loop_.now();
  HttpExchange::Callbacks callbacks{[this, &added](const egress::HttpHead& head) { return on_head(added, head); },
                                    [this, &added](const std::string& body) { on_body(added, body); },
                                    [this, number] { on_over(number); }};
  added.http = std::make_unique<HttpExchange>(loop_, std::move(socket), std::move(callbacks));
  calls_.emplace(number, std::move(call));
}

void Endpoint::cut(bool all) {
  for (const auto& [number, call] : calls_) {
    if (call->http->waiting() && !all) continue;
    if (call->transfer && call->http->waiting()) give_up(*call);
    call->http->cut();
  }
}

void Endpoint::cut_nameless(TimePoint before) {
  for (const auto& [number, call] : calls_) {
    if (call->caller.empty() && call->since <= before) call->http->cut();
  }
}

// What has become of it nobody knows any more: it may have gone out.
void Endpoint::give_up(Call& call) {
  call.transfer.reset();
  call.record.at_ms = wall_clock_ms();
  call.record.failure =
      egress::Failure{egress::UpstreamFailed{"the endpoint ended in the middle of it"}, egress::Stage::kSend};
  (void)log_.call(call.record);
}

void Endpoint::on_over(std::uint64_t number) {
  calls_.erase(number);
  changed_();
}

std::optional<HttpAnswer> Endpoint::on_head(Call& call, const egress::HttpHead& head) {
  const std::string token_sha256 = sha256_hex(token_of(head));
  egress::Caller* caller = caller_of(token_sha256);
  if (caller == nullptr) return refuse_caller(call);
  call.caller = caller->name;
  call.run = caller->run;
  call.token_sha256 = token_sha256;
  // As many at once as it may make at all: who never ends what he begins takes no more of the places.
  const auto same = [&token_sha256](const auto& each) { return each.second->token_sha256 == token_sha256; };
  if (static_cast<std::size_t>(std::count_if(calls_.begin(), calls_.end(), same)) > egress::CallBudget::kCalls) {
    const egress::NotAllowed spent{egress::Rule{egress::RuleKind::kCalls, std::nullopt}};
    HttpAnswer answer = refuse(call, "", egress::Failure{spent, egress::Stage::kPolicy});
    call.caller.clear();  // it goes first when places run short
    return answer;
  }
  const auto config = refresh();
  if (!config) return closed(config.error());
  if (head.method == "POST" && head.target == "/blob") return no(503, "no_store", "there is no store of blobs here");
  if (head.method != "POST" || head.target != "/") {
    (void)caller->budget.spend();
    const egress::BadRequest wrong{"", "a call is POST /", false};
    return refuse(call, "", egress::Failure{wrong, egress::Stage::kRequest});
  }
  if (head.body != egress::BodyKind::kLength || head.length <= egress::document_limit((*config)->policy))
    return std::nullopt;
  const auto grants = (*config)->grants_of(call.caller);
  return refuse(call, "", egress::refuse_oversized((*config)->policy, grants, caller->budget));
}

// Between head and body the token may have been revoked and the configuration changed: both are asked again.
void Endpoint::on_body(Call& call, const std::string& document) {
  egress::Caller* caller = caller_of(call.token_sha256);
  if (caller == nullptr) return call.http->answer(refuse_caller(call));
  const auto config = refresh();
  if (!config) return call.http->answer(closed(config.error()));
  const egress::DoorRules rules{&(*config)->policy, settings_.own, environment_value};
  auto verdict = egress::judge_call(rules, (*config)->grants_of(call.caller), caller->budget, std::nullopt, document);
  call.destination = std::move(verdict.destination);
  if (!verdict.outcome) return call.http->answer(refuse(call, call.destination, verdict.outcome.error()));
  const egress::Judged& judged = *verdict.outcome;
  call.record.caller = call.caller;
  call.record.run = call.run;
  call.record.method = judged.method;
  call.record.destination = judged.url;
  call.record.request_sha256 = sha256_hex(judged.body);
  call.record.bytes_out = judged.body.size();
  call.record.credential = judged.credential;
  call.transfers = transfers_;
  call.transfer = call.transfers->perform(
      std::move(*verdict.outcome),
      [this, &call](egress::Outcome<egress::Answer> outcome) { on_done(call, std::move(outcome)); });
}

void Endpoint::on_done(Call& call, egress::Outcome<egress::Answer> outcome) {
  if (!outcome && !went_out(outcome.error())) {
    call.http->answer(refuse(call, call.destination, outcome.error()));
    return;
  }
  call.record.at_ms = wall_clock_ms();
  if (outcome) {
    call.record.destination = outcome->url;
    call.record.status = outcome->status;
    call.record.hops = outcome->hops;
    call.record.bytes_in = outcome->body.size();
    call.record.response_sha256 = sha256_hex(outcome->body);
  } else {
    call.record.failure = outcome.error();
  }
  if (!log_.call(call.record))
    return call.http->answer(no(503, "record_failed", "the call went out, and its record could not be written"));
  call.http->answer(outcome
                        ? answer_of(200, egress::render_answer(*outcome))
                        : answer_of(egress::door_status(outcome.error()), egress::render_door_body(outcome.error())));
}

egress::Caller* Endpoint::caller_of(const std::string& token_sha256) {
  if (settings_.catch_up) settings_.catch_up();
  return tokens_.find_digest(token_sha256, wall_clock_ms());
}

// A refusal stays one whether its record can be written or not.
HttpAnswer Endpoint::refuse(const Call& call, const std::string& destination, const egress::Failure& failure) {
  (void)log_.refusal(egress::make_refusal(call.caller, destination, failure));
  return answer_of(egress::door_status(failure), egress::render_door_body(failure));
}

HttpAnswer Endpoint::refuse_caller(const Call& call) {
  (void)log_.refusal({call.caller, "", "token", "", "request", 0});
  return no(401, "token", "no token that is known here: want the header X-Loom-Egress-Token");
}

HttpAnswer Endpoint::closed(const Error& error) {
  if (!std::exchange(said_closed_, true)) cli::say_error(kTool, error);
  return no(503, "closed", "the configuration of this endpoint cannot be read");
}

}  // namespace loom::egress_tool
