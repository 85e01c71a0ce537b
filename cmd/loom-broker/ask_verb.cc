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

// A broker that ends may close the connection before its answer to `stop` is read; there is no bound on how long it
// takes but its own (drain and six seconds), so none is set here.
Result<ControlReply> ask(const std::string& socket, const Request& request) {
  Loop loop;
  std::unique_ptr<ControlClient> client;
  Result<ControlReply> answer = fail("no_broker", socket, "no answer came");
  const ClientEvents events{[&] { client->send(1, request); },
                            [&](std::uint64_t id, const ControlReply& reply) {
                              if (id != 1) return;
                              answer = reply;
                              loop.stop();
                            },
                            [&](const Error& error) {
                              answer = fail(error);
                              loop.stop();
                            }};
  LOOM_TRY(client, ControlClient::connect(loop, socket, events));
  loop.run();
  return answer;
}

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

int say_answer(const cli::Parsed& parsed, const Value& fields) {
  const std::string text =
      parsed.has("--json") ? render_json(fields) + "\n" : cli::table(flatten(fields), cli::stdout_is_terminal());
  const ExitStatus written = cli::answer(kTool, text);
  return to_int(written == ExitStatus::kOk ? judge(parsed.verb->name, fields) : written);
}

int say_no(const cli::Parsed& parsed, const ErrorMessage& message) {
  const Error error{message.code, "", message.msg, {}};
  if (parsed.has("--json")) (void)cli::answer(kTool, render_json(cli::no_answer({error})) + "\n");
  cli::say_error(kTool, error);
  return to_int(ExitStatus::kNo);
}

Result<int> try_ask(const cli::Parsed& parsed) {
  LOOM_TRY(const Request request, request_of(parsed));
  LOOM_TRY(const std::string socket, find_socket(parsed.value("--socket"), std::nullopt));
  LOOM_TRY(const ControlReply reply, ask(socket, request));
  if (const auto* ok = std::get_if<Ok>(&reply)) return say_answer(parsed, ok->fields);
  if (const auto* error = std::get_if<ErrorMessage>(&reply)) return say_no(parsed, *error);
  return fail("protocol_violation", socket, "the broker answered with something else than was asked");
}

}  // namespace

int ask_verb(const cli::Parsed& parsed) {
  const auto status = try_ask(parsed);
  if (status) return *status;
  cli::say_error(kTool, status.error());
  return to_int(ExitStatus::kUsage);
}

}  // namespace loom::broker
