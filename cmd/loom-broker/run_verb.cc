// loom-broker run: the main job on one machine. An embedded broker, one call, the caller's own streams.
#include <memory>
#include <utility>

#include "call_session.h"
#include "caller.h"
#include "cli/output.h"
#include "embedded.h"
#include "os/signals.h"
#include "service/questions.h"
#include "verbs.h"
#include "way_out.h"

namespace loom::broker {
namespace {

// The life of one `run`, from the request to the proof that nothing is left.
class Run {
 public:
  Run(service::CallFlags flags, const service::CallerFacts& facts, EmbeddedOptions options)
      : flags_(std::move(flags)), facts_(facts), options_(std::move(options)) {}

  Result<int> run(const std::vector<std::string>& notes);

 private:
  CallSpec request() const;
  void on_done(int status);
  void close();
  void on_closed(const Closed& closed);

  Loop loop_;
  service::CallFlags flags_;
  const service::CallerFacts& facts_;
  EmbeddedOptions options_;
  std::unique_ptr<service::Front> front_;
  std::unique_ptr<CallSession> session_;
  std::unique_ptr<Shell> shell_;
  std::unique_ptr<Signals> signals_;
  bool settled_ = false;
  int status_ = 0;
};

CallSpec Run::request() const {
  CallSpec spec = spec_of(flags_);
  spec.op_id = random_operation();
  spec.step_id = "1";
  spec.env = service::requested_environment(options_.policy.env_allow, flags_, facts_);
  spec.cwd = service::requested_cwd(options_.policy, flags_, facts_);
  spec.tty = front_->tty_size();
  return spec;
}

Result<int> Run::run(const std::vector<std::string>& notes) {
  LOOM_TRY(front_, service::Front::open(loop_, front_options(flags_), [this](int status) { on_done(status); }));
  for (const std::string& note : notes) front_->note(note);
  const auto reply = [this](std::uint64_t id, const ControlReply& message) {
    settled_ = settled_ || std::holds_alternative<CallSettled>(message) || std::holds_alternative<CallRefused>(message);
    if (session_) session_->handle(id, message);
  };
  LOOM_TRY(shell_, open_embedded(loop_, options_, reply, [this](const Closed& closed) { on_closed(closed); }));
  session_ = std::make_unique<CallSession>(
      *front_, [this](std::uint64_t id, Request request) { shell_->request(id, std::move(request)); });
  session_->begin(request());
  loop_.run();
  return status_;
}

void Run::on_done(int status) {
  status_ = status;
  // Told before the end: whoever asked twice does not wait. The helper reads the end of its input and ends the command.
  if (!settled_) return loop_.stop();
  loop_.post([this] { close(); });
}

void Run::close() {
  session_.reset();
  front_.reset();
  signals_ = std::make_unique<Signals>(loop_, std::vector<int>{SIGINT, SIGTERM}, [this](int) { loop_.stop(); });
  shell_->close();
}

void Run::on_closed(const Closed& closed) {
  if (!closed.clean) {
    say_error(Error{"unconfirmed", "", "the helper's end could not be confirmed: processes of it may be left", {}});
  }
  loop_.stop();
}

Result<int> try_run(const cli::Parsed& parsed) {
  LOOM_TRY(const service::CallerFacts facts, caller_facts());
  LOOM_TRY(service::CallFlags flags, service::read_call_flags(parsed, facts));
  EmbeddedOptions options;
  options.helper = service::helper_program(parsed.value("--helper"));
  options.cgroup_base = parsed.value("--cgroup-base").value_or("");
  LOOM_TRY(options.proxy, find_way_out(parsed.value("--egress-config")));
  LOOM_TRY(ChosenPolicy chosen, choose_policy(flags, facts.cwd, features_here(options.helper, options.cgroup_base)));
  options.policy = std::move(chosen.policy);
  options.demand = flags.demand.value_or(Demand::kPlatform);
  Run run(std::move(flags), facts, std::move(options));
  return run.run(chosen.notes);
}

}  // namespace

int run_verb(const cli::Parsed& parsed) {
  const auto status = try_run(parsed);
  if (status) return *status;
  service::report_refused_early(parsed.value("--report").value_or(""), status.error());
  say_error(status.error());
  return to_int(ExitStatus::kNotRun);
}

}  // namespace loom::broker
