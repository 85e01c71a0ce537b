// loom-broker smoke: the standalone executor, from boot to a proved end. It runs `true` jailed and prints the census,
// so that what it names is what the helper here really said.
#include <memory>
#include <utility>

#include "base/json.h"
#include "broker/census.h"
#include "caller.h"
#include "cli/output.h"
#include "embedded.h"
#include "os/signals.h"
#include "plan/report.h"
#include "service/end_words.h"
#include "service/questions.h"
#include "verbs.h"

namespace loom::broker {
namespace {

constexpr std::uint64_t kCall = 1;
constexpr std::uint64_t kCensusRequest = 2;

Policy smoke_policy() {
  Policy policy;  // no roots, network off, a fresh scratch
  policy.limits.cpu_s = 30;
  policy.limits.wall_s = 60;
  policy.limits.fsize_bytes = 1U << 20U;
  policy.limits.output_bytes = 1U << 20U;
  policy.env_allow = {"PATH"};
  return policy;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

class Smoke {
 public:
  Result<int> run(const cli::Parsed& parsed);

 private:
  void on_reply(std::uint64_t id, const ControlReply& reply);
  void judge(const CallSettled& settled);
  void failed(const std::string& code, const std::string& what);
  void answer(const std::string& text);
  void on_closed(const Closed& closed);

  Loop loop_;
  std::unique_ptr<Shell> shell_;
  std::unique_ptr<Signals> signals_;
  bool ok_ = true;
  bool unread_ = false;  // stdout was closed
};

void Smoke::failed(const std::string& code, const std::string& what) {
  ok_ = false;
  say_error(Error{code, "smoke", what, {}});
}

void Smoke::answer(const std::string& text) {
  const ExitStatus written = cli::answer(kTool, text);
  if (written != ExitStatus::kOk) ok_ = false;
  if (written == ExitStatus::kPipe) unread_ = true;
}

// "exited 0 and every layer held" is the only good end.
void Smoke::judge(const CallSettled& settled) {
  if (settled.failed) {
    return failed(settled.failed->kind,
                  settled.failed->kind + ": " + service::words_of_detail(settled.failed->kind, settled.failed->detail));
  }
  if (!settled.exited || settled.exited->code != 0) {
    return failed("exited", "the command ended with " + std::to_string(settled.exited ? settled.exited->code : -1));
  }
  const auto unapplied = unapplied_layers(settled.exited->enforcement);
  if (settled.exited->degraded) return failed("degraded", "no container was built: " + joined(unapplied));
  if (!unapplied.empty()) return failed("enforcement_short", "layers not applied: " + joined(unapplied));
}

void Smoke::on_reply(std::uint64_t id, const ControlReply& reply) {
  if (id == kCensusRequest) {
    if (const auto* ok = std::get_if<Ok>(&reply)) {
      answer(render_json(ok->fields) + "\n");
    } else {
      failed("census", "no census came");
    }
    return shell_->close();
  }
  const auto* refused = std::get_if<CallRefused>(&reply);
  const auto* settled = std::get_if<CallSettled>(&reply);
  if (refused != nullptr)
    failed(refused->reason, refused->reason + ": " + service::words_of_detail(refused->reason, refused->detail));
  if (settled != nullptr) judge(*settled);
  if (refused != nullptr || settled != nullptr) shell_->request(kCensusRequest, CensusRequest{});
}

void Smoke::on_closed(const Closed& closed) {
  if (closed.clean) {
    answer("drain: ok\n");
  } else {
    failed("unconfirmed", "drain: the helper's end could not be confirmed");
  }
  loop_.stop();
}

Result<int> Smoke::run(const cli::Parsed& parsed) {
  EmbeddedOptions options;
  options.policy = smoke_policy();
  options.demand = Demand::kFull;
  options.tools = tools_here();
  options.helper = service::helper_program(parsed.value("--helper"));
  options.cgroup_base = parsed.value("--cgroup-base").value_or("");
  const auto reply = [this](std::uint64_t id, const ControlReply& message) { on_reply(id, message); };
  LOOM_TRY(shell_, open_embedded(loop_, options, reply, [this](const Closed& closed) { on_closed(closed); }));
  signals_ = std::make_unique<Signals>(loop_, std::vector<int>{SIGINT, SIGTERM}, [this](int) {
    ok_ = false;
    shell_->close();
  });
  CallSpec spec;
  spec.op_id = "smoke";
  spec.step_id = "1";
  spec.argv = {"true"};
  spec.demand = std::string(to_text(Demand::kFull));
  spec.wants_stdin = false;
  loop_.post([this, &spec] { shell_->request(kCall, std::move(spec)); });
  loop_.run();
  if (unread_) return to_int(ExitStatus::kPipe);
  return to_int(ok_ ? ExitStatus::kOk : ExitStatus::kNo);
}

}  // namespace

int smoke_verb(const cli::Parsed& parsed) {
  Smoke smoke;
  const auto status = smoke.run(parsed);
  if (status) return *status;
  say_error(status.error());
  return to_int(ExitStatus::kNo);
}

}  // namespace loom::broker
