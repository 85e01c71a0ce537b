#include "options.h"

#include "service/call_flags.h"

namespace loom::broker {
namespace {

const cli::Option kSocket{"--socket", "PATH", "default: LOOM_SOCKET, then RUNTIME/broker.sock"};
const cli::Option kHelper{"--helper", "PATH", "loom-exec (default: LOOM_EXEC_HELPER, beside this)"};
const cli::Option kCgroupBase{"--cgroup-base", "DIR", "a delegated cgroup v2 directory for ceilings"};
const cli::Option kEgressConfig{"--egress-config", "FILE", "credentials and limits of the way out"};
const cli::Option kJson{"--json", "", "one JSON object"};

cli::Verb run() {
  cli::Verb verb{
      "run",
      "[flags] [--] CMD...",
      "run one command in a jail, here and now",
      {},
      cli::Rest::kCommand,
      {},
      ExitStatus::kNotRun,
      {"loom-broker run --workspace . -- make test", "loom-broker run --policy p.json --report r.json -- ./build.sh"}};
  verb.options = service::call_options(service::CallFront::kBrokerRun);
  verb.options.push_back(kHelper);
  verb.options.push_back(kCgroupBase);
  verb.options.push_back(kEgressConfig);
  return verb;
}

cli::Verb call() {
  cli::Verb verb{"call",
                 "[flags] [--] CMD...",
                 "run one command through a running broker",
                 {},
                 cli::Rest::kCommand,
                 {},
                 ExitStatus::kNotRun,
                 {"loom-broker call -- make test", "loom-broker call --op build-7 --step 2 --timeout 5m -- make"}};
  verb.options = {kSocket,
                  {"--op", "ID", "the operation it belongs to (default: random)"},
                  {"--step", "ID", "the step of the operation (default: 1)"}};
  for (cli::Option& option : service::call_options(service::CallFront::kBrokerCall))
    verb.options.push_back(std::move(option));
  return verb;
}

cli::Verb serve() {
  cli::Verb verb{"serve",
                 "--base-policy FILE [flags]",
                 "serve calls on a Unix socket until told to stop",
                 {},
                 cli::Rest::kNone,
                 {},
                 ExitStatus::kUsage,
                 {"loom-broker serve --base-policy base.json --ready-fd 3 3>ready &",
                  "loom-broker serve --base-policy base.json --pool-size 8 --log-json"}};
  verb.options = {{"--base-policy", "FILE", "what any call may do at most (loom-policy(5))"},
                  kSocket,
                  {"--runtime-dir", "DIR", "where the socket goes without --socket"},
                  {"--ready-fd", "N", "write a line to this descriptor once it serves"},
                  {"--grants", "HOW", "deny (default) or allow calls that widen the base"},
                  {"--demand", "D", "the least enforcement: full, platform or best_effort"},
                  {"--pool-size", "N", "execution slots (default: LOOM_HELPER_POOL, 4..16)"},
                  {"--per-helper", "N", "executions a helper runs at once, 1..4 (default: 4)"},
                  {"--spare-helpers", "N", "helpers started at boot (default: 1)"},
                  kHelper,
                  {"--helper-command", "CMD", "reach the helper through a command"},
                  kCgroupBase,
                  kEgressConfig,
                  {"--allow-uid", "N", "serve this user, too", true},
                  {"--allow-sessions", "", "allow calls without a time limit"},
                  {"--heartbeat", "", "ask the helpers for a sign of life every 15 s"},
                  {"--log-json", "", "log lines as JSON"}};
  return verb;
}

cli::Verb ask(const char* name, const char* synopsis, const char* summary, std::vector<std::string> positionals,
              std::vector<std::string> examples) {
  cli::Verb verb{name,
                 synopsis,
                 summary,
                 {kSocket, kJson},
                 cli::Rest::kPositionals,
                 std::move(positionals),
                 ExitStatus::kUsage,
                 std::move(examples)};
  if (verb.positionals.empty()) verb.rest = cli::Rest::kNone;
  return verb;
}

std::vector<cli::Verb> questions() {
  std::vector<cli::Verb> verbs{
      ask("cancel", "[flags] SEQ", "cancel one call by its sequence number", {"SEQ"},
          {"loom-broker cancel 12", "loom-broker cancel --json 12"}),
      ask("abort", "[flags] OP", "cancel everything of an operation", {"OP"},
          {"loom-broker abort build-7", "loom-broker abort --json build-7"}),
      ask("abort-step", "[flags] OP STEP", "cancel everything of one step", {"OP", "STEP"},
          {"loom-broker abort-step build-7 2", "loom-broker abort-step --json build-7 2"}),
      ask("snapshot", "[flags]", "what the broker is doing", {},
          {"loom-broker snapshot", "loom-broker snapshot --json | jq .pool"}),
      ask("census", "[flags]", "versions and features of its parts", {},
          {"loom-broker census", "loom-broker census --json"}),
      ask("stop", "[flags]", "end the broker in good order", {}, {"loom-broker stop", "loom-broker stop --drain 10s"})};
  verbs.back().options.push_back({"--drain", "TIME", "how long running calls may take to end (default: 3s)"});
  return verbs;
}

cli::Verb smoke() {
  return {"smoke",
          "[flags]",
          "run `true` in a jail and print the census",
          {kHelper, kCgroupBase},
          cli::Rest::kNone,
          {},
          ExitStatus::kUsage,
          {"loom-broker smoke", "loom-broker smoke --helper /opt/loom/bin/loom-exec"}};
}

}  // namespace

cli::Tool broker_tool() {
  cli::Tool tool{"loom-broker",
                 "The one door: decide, account and settle jailed commands.",
                 {run(), serve(), call()},
                 {"loom-broker run -- make test", "loom-broker serve --base-policy base.json &"},
                 "loom-broker(1)"};
  for (cli::Verb& verb : questions()) tool.verbs.push_back(std::move(verb));
  tool.verbs.push_back(smoke());
  return tool;
}

}  // namespace loom::broker
