// loom-broker cancel, abort, abort-step, snapshot, census, stop: one request to a running broker, one answer.
#include <memory>
#include <utility>

#include "base/json.h"
#include "cli/output.h"
#include "control_client.h"
#include "flatten.h"
#include "verbs.h"

namespace loom::broker {
namespace {

Result<Request> request_of(const cli::Parsed& parsed) {
  const std::string& verb = parsed.verb->name;
  if (verb == "cancel") {
    const auto seq = cli::parse_count(parsed.rest[0]);
    if (!seq) return fail(Error(seq.error()).context("SEQ"));
    return Request(CallCancel{std::nullopt, *seq});
  }
  if (verb == "abort") return Request(AbortOp{parsed.rest[0]});
  if (verb == "abort-step") return Request(AbortStep{parsed.rest[0], parsed.rest[1]});
  if (verb == "snapshot") return Request(SnapshotRequest{});
  if (verb == "census") return Request(CensusRequest{});
  Stop stop;
  if (const auto text = parsed.value("--drain")) {
    const auto drain = cli::parse_duration_ms(*text);
    if (!drain) return fail(Error(drain.error()).context("--drain"));
    stop.drain_ms = *drain;
  }
  return Request(stop);
}

// One answer to one request. How long `stop` takes is bounded by the broker (drain and six seconds): none is set here.
// Its answer counts when the broker has closed the connection, so that its socket is free when we say that it has
// stopped.
class Question {
 public:
  Question(Request request, std::string socket) : request_(std::move(request)), socket_(std::move(socket)) {}

  Result<ControlReply> ask() {
    const ClientEvents events{[this] { client_->send(kRequest, request_); },
                              [this](std::uint64_t id, const ControlReply& reply) { on_reply(id, reply); },
                              [this](const Error& error) { on_lost(error); }};
    LOOM_TRY(client_, ControlClient::connect(loop_, socket_, events));
    loop_.run();
    return answer_;
  }

 private:
  static constexpr std::uint64_t kRequest = 1;

  void on_reply(std::uint64_t id, const ControlReply& reply) {
    if (id != kRequest) return;
    answer_ = reply;
    answered_ = true;
    if (!std::holds_alternative<Stop>(request_) || !std::holds_alternative<Ok>(reply)) return loop_.stop();
    patience_ = loop_.timer(loop_.now() + seconds(5), [this] { loop_.stop(); });
  }
  void on_lost(const Error& error) {
    if (!answered_) answer_ = fail(error);
    loop_.stop();
  }

  Loop loop_;
  Request request_;
  std::string socket_;
  std::unique_ptr<ControlClient> client_;
  Loop::Timer patience_;
  bool answered_ = false;
  Result<ControlReply> answer_ = fail("no_broker", "", "no answer came");
};

bool flag(const Value& fields, const char* key) {
  const Value* value = fields.find(key);
  const bool* found = value != nullptr ? value->get_if<bool>() : nullptr;
  return found != nullptr && *found;
}

// Whether an answer is a yes: the call was there, the broker ended clean.
ExitStatus judge(const std::string& verb, const Value& fields) {
  if (verb == "cancel") return flag(fields, "found") ? ExitStatus::kOk : ExitStatus::kNo;
  if (verb == "stop") return flag(fields, "clean") ? ExitStatus::kOk : ExitStatus::kNo;
  return ExitStatus::kOk;
}

// What an operator watches is JSON wherever no person reads it (spec/broker.md "What an operator sees").
bool wants_json(const cli::Parsed& parsed) {
  const std::string& verb = parsed.verb->name;
  return parsed.has("--json") || ((verb == "snapshot" || verb == "census") && !cli::stdout_is_terminal());
}

int say_answer(const cli::Parsed& parsed, const Value& fields) {
  const std::string text =
      wants_json(parsed) ? render_json(fields) + "\n" : cli::table(flatten(fields), cli::stdout_is_terminal());
  const ExitStatus written = cli::answer(kTool, text);
  return to_int(written == ExitStatus::kOk ? judge(parsed.verb->name, fields) : written);
}

int say_no(const cli::Parsed& parsed, const ErrorMessage& message) {
  const Error error{message.code, "", message.msg, {}};
  if (wants_json(parsed)) (void)cli::answer(kTool, render_json(cli::no_answer({error})) + "\n");
  say_error(error);
  return to_int(ExitStatus::kNo);
}

Result<int> try_ask(const cli::Parsed& parsed) {
  LOOM_TRY(Request request, request_of(parsed));
  LOOM_TRY(const std::string socket, find_socket(parsed.value("--socket"), std::nullopt));
  Question question(std::move(request), socket);
  LOOM_TRY(const ControlReply reply, question.ask());
  if (const auto* ok = std::get_if<Ok>(&reply)) return say_answer(parsed, ok->fields);
  if (const auto* error = std::get_if<ErrorMessage>(&reply)) return say_no(parsed, *error);
  return fail("protocol_violation", socket, "the broker answered with something else than was asked");
}

}  // namespace

int ask_verb(const cli::Parsed& parsed) {
  const auto status = try_ask(parsed);
  if (status) return *status;
  say_error(status.error());
  return to_int(ExitStatus::kUsage);
}

}  // namespace loom::broker
