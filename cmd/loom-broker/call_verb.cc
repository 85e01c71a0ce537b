// loom-broker call: one command through a running broker.
#include <memory>
#include <utility>

#include "call_session.h"
#include "caller.h"
#include "cli/output.h"
#include "control_client.h"
#include "policy/decode.h"
#include "service/questions.h"
#include "verbs.h"

namespace loom::broker {
namespace {

class Call {
 public:
  explicit Call(const service::CallFlags& flags) : flags_(flags) {}
  Result<int> run(const std::string& socket, CallSpec spec, const std::vector<std::string>& notes);

 private:
  Loop loop_;
  const service::CallFlags& flags_;
  std::unique_ptr<service::Front> front_;
  std::unique_ptr<ControlClient> client_;
  std::unique_ptr<CallSession> session_;
  int status_ = 0;
};

Result<int> Call::run(const std::string& socket, CallSpec spec, const std::vector<std::string>& notes) {
  const auto done = [this](int status) {
    status_ = status;
    loop_.stop();
  };
  LOOM_TRY(front_, service::Front::open(loop_, front_options(flags_), done));
  for (const std::string& note : notes) front_->note(note);
  session_ = std::make_unique<CallSession>(
      *front_, [this](std::uint64_t id, const Request& request) { client_->send(id, request); });
  spec.tty = front_->tty_size();
  ClientEvents events{[this, &spec] { session_->begin(std::move(spec)); },
                      [this](std::uint64_t id, const ControlReply& reply) { session_->handle(id, reply); },
                      [this](const Error& error) { session_->lost(error); }};
  auto connected = ControlClient::connect(loop_, socket, std::move(events));
  if (connected) {
    client_ = std::move(*connected);
  } else {
    session_->lost(connected.error());
  }
  loop_.run();
  return status_;
}

// The names a client lets in when it does not know the base: those of the ready-made policy. The broker drops what the
// composed policy does not allow.
const std::vector<std::string> kUsualNames{"PATH", "HOME", "LANG", "TERM"};

Result<CallSpec> build_spec(const cli::Parsed& parsed, service::CallFlags& flags, const service::CallerFacts& facts,
                            std::vector<std::string>& notes) {
  CallSpec spec = spec_of(flags);
  spec.op_id = parsed.value("--op").value_or(random_operation());
  spec.step_id = parsed.value("--step").value_or("1");
  if (!flags.policy_file && !flags.workspace) {
    spec.env = service::requested_environment(kUsualNames, flags, facts);
    spec.cwd = flags.cwd;
    return spec;
  }
  LOOM_TRY(ChosenPolicy chosen,
           choose_policy(flags, facts.cwd, features_here(service::helper_program(std::nullopt), "")));
  notes = std::move(chosen.notes);
  spec.env = service::requested_environment(chosen.policy.env_allow, flags, facts);
  spec.cwd = service::requested_cwd(chosen.policy, flags, facts);
  spec.requirements = encode_policy(chosen.policy);
  return spec;
}

Result<int> try_call(const cli::Parsed& parsed) {
  LOOM_TRY(const service::CallerFacts facts, caller_facts());
  LOOM_TRY(service::CallFlags flags, service::read_call_flags(parsed, facts));
  std::vector<std::string> notes;
  LOOM_TRY(CallSpec spec, build_spec(parsed, flags, facts, notes));
  LOOM_TRY(const std::string socket, find_socket(parsed.value("--socket"), std::nullopt));
  Call call(flags);
  return call.run(socket, std::move(spec), notes);
}

}  // namespace

int call_verb(const cli::Parsed& parsed) {
  const auto status = try_call(parsed);
  if (status) return *status;
  service::report_refused_early(parsed.value("--report").value_or(""), status.error());
  say_error(status.error());
  return to_int(ExitStatus::kNotRun);
}

}  // namespace loom::broker
