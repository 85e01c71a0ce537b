// loom-exec run: one command in a jail, with the caller's own streams and the command's own status.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cli/output.h"
#include "helper/host_context.h"
#include "local_call.h"
#include "os/fds.h"
#include "os/loop.h"
#include "policy/decode.h"
#include "run_policy.h"
#include "service/call_flags.h"
#include "service/front.h"
#include "service/report_file.h"
#include "verbs.h"

namespace loom::exec {
namespace {

constexpr std::string_view kProxyGrant = "network=proxy";
constexpr std::string_view kNoProxyHere =
    "loom-exec starts no proxy: loom-broker run does, with the same flags; or the policy names the socket of one";

Result<service::CallerFacts> caller_facts() {
  service::CallerFacts facts;
  const std::unique_ptr<char, decltype(&std::free)> here(::getcwd(nullptr, 0), &std::free);
  if (!here) return fail("bad_cwd", "", "cannot tell the current directory: " + errno_text(errno));
  facts.cwd = here.get();
  facts.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  };
  return facts;
}

CallRefused refusal(std::string reason, const Error& error) {
  Map detail{{"error", error.code}, {"msg", error.text()}};
  if (!error.hint.empty()) detail.emplace_back("hint", error.hint);
  return CallRefused{std::move(reason), Value(std::move(detail)), {}};
}

std::vector<Value> encode_all(const std::vector<Narrowing>& narrowings) {
  std::vector<Value> out;
  out.reserve(narrowings.size());
  for (const auto& narrowing : narrowings) out.push_back(encode_narrowing(narrowing));
  return out;
}

// A proxy is not to be had here, whatever is granted: naming that grant would send the caller round in a circle.
bool is_proxy(const Grant& grant) {
  return render_grant(grant).compare(0, kProxyGrant.size(), kProxyGrant) == 0;
}

CallRefused narrowed_refusal(const std::vector<Narrowing>& narrowings) {
  Map detail{{"narrowings", Value(Array(encode_all(narrowings)))}};
  std::vector<Value> wanted;
  for (const auto& grant : wanted_grants(narrowings)) {
    if (is_proxy(grant)) {
      detail.emplace_back("hint", std::string(kNoProxyHere));
    } else {
      wanted.push_back(encode_grant(grant));
    }
  }
  return {"policy_refused", Value(std::move(detail)), std::move(wanted)};
}

service::FrontOptions front_options(const service::CallFlags& flags, const service::CallerFacts& caller) {
  service::FrontOptions options;
  options.tool = tool().name;
  options.tty = flags.tty;
  options.quiet = flags.quiet;
  options.feed_stdin = flags.policy_file != "-";
  options.report_file = flags.report_file;
  if (!flags.report_file.empty()) options.planted = service::where_commands_write(flags, caller);
  options.status_fd = flags.status_fd;
  return options;
}

// Whether it is what was asked for that cannot be, or the document.
const char* reason_of(const Error& error) {
  return error.code == "missing_path" || error.code == "bad_argument" ? "bad_request" : "policy_invalid";
}

// One run from flags to status. Everything that goes wrong once the front is open ends as a call's end, so that the
// report says it too.
class Run {
 public:
  Run(service::CallFlags flags, service::CallerFacts caller, helper::HostOptions host)
      : flags_(std::move(flags)), caller_(std::move(caller)), host_options_(std::move(host)) {}

  int go() {
    auto front = service::Front::open(loop_, front_options(flags_, caller_), [this](int status) {
      status_ = status;
      loop_.stop();
    });
    if (!front) {
      cli::say_error(tool().name, front.error());
      return to_int(ExitStatus::kNotRun);
    }
    front_ = std::move(*front);
    if (auto refused = start()) front_->ended(std::move(*refused), facts_);
    loop_.run();
    return status_;
  }

 private:
  std::optional<CallRefused> start() {
    // One jail is built either way; trying the container beforehand would build two.
    host_options_.probe = helper::ProbeWhen::kByTheFirstJail;
    auto host = helper::make_host_context(std::move(host_options_));
    if (!host) return refusal("spawn_failed", host.error());
    host_ = std::make_unique<helper::HostContext>(std::move(*host));

    auto chosen = choose_policy(flags_, caller_, host_->features);
    if (!chosen) return refusal(reason_of(chosen.error()), chosen.error());
    if (flags_.workspace) host_->options.workspace = *flags_.workspace;
    for (auto& line : chosen->notes) front_->note(std::move(line));
    const Composed& composed = chosen->composed;
    facts_.policy_digest = policy_digest(composed.policy);
    facts_.narrowings = encode_all(composed.narrowings);
    if (!composed.narrowings.empty() && !flags_.proceed_narrowed) return narrowed_refusal(composed.narrowings);

    const auto cwd = service::requested_cwd(composed.policy, flags_, caller_);
    if (!cwd) {
      return refusal("bad_request",
                     Error{"bad_cwd", "--cwd", "no root of the policy to start in", "name one with --cwd"});
    }
    begin(composed.policy, *cwd);
    return std::nullopt;
  }

  void begin(const Policy& policy, const Path& cwd) {
    helper::ExecRequest request;
    request.argv = flags_.argv;
    request.env = service::requested_environment(policy.env_allow, flags_, caller_);
    request.cwd = cwd;
    request.policy = policy;
    request.demand = flags_.demand.value_or(Demand::kPlatform);
    request.tty = front_->tty_size();
    if (flags_.why) request.why = helper::parse_why(*flags_.why).value_or(helper::Why::kCalls);
    call_ = std::make_unique<LocalCall>(loop_, *front_, flags_.timeout_ms);
    front_->attach(*call_);
    front_->started(facts_);
    call_->start(
        [this](helper::ExecRequest asked, helper::ExecEvents events) {
          return helper::start_execution(loop_, *host_, std::move(asked), std::move(events));
        },
        std::move(request));
  }

  service::CallFlags flags_;
  service::CallerFacts caller_;
  helper::HostOptions host_options_;
  service::CallFacts facts_;
  int status_ = to_int(ExitStatus::kMayHaveRun);
  Loop loop_;
  std::unique_ptr<helper::HostContext> host_;
  std::unique_ptr<service::Front> front_;
  std::unique_ptr<LocalCall> call_;
};

}  // namespace

int run_verb(const cli::Parsed& parsed, JailFlags jail) {
  auto caller = caller_facts();
  if (!caller) {
    cli::say_error(tool().name, caller.error());
    return to_int(ExitStatus::kNotRun);
  }
  auto flags = service::read_call_flags(parsed, *caller);
  if (!flags) {
    service::report_refused_early(parsed.value("--report").value_or(""), flags.error());
    cli::say_error(tool().name, flags.error());
    return to_int(ExitStatus::kNotRun);
  }
  return Run(std::move(*flags), std::move(*caller), std::move(jail.host)).go();
}

}  // namespace loom::exec
