#include "options.h"

namespace loom::census {
namespace {

cli::Verb local() {
  cli::Verb verb;
  verb.synopsis = "[flags]";
  verb.summary = "Versions of the tools here, and what the helper here can hold.";
  verb.options = {{"--helper", "PATH", "the loom-exec to ask"}, {"--json", "", "one line of JSON"}};
  return verb;
}

cli::Verb broker() {
  cli::Verb verb;
  verb.name = "broker";
  verb.synopsis = "[flags]";
  verb.summary = "Ask a running broker.";
  verb.options = {{"--socket", "PATH", "its socket"}, {"--json", "", "one line of JSON"}};
  verb.examples = {"loom-census broker", "loom-census broker --json > there.json"};
  return verb;
}

cli::Verb skew() {
  cli::Verb verb;
  verb.name = "skew";
  verb.synopsis = "[flags] A.json B.json";
  verb.summary = "Each version in which two censuses differ; status 1 on any.";
  verb.options = {{"--json", "", "one line of JSON"}};
  verb.rest = cli::Rest::kPositionals;
  verb.positionals = {"A.json", "B.json"};
  verb.examples = {"loom-census skew here.json there.json", "loom-census --json | loom-census skew - there.json"};
  return verb;
}

cli::Verb doctor() {
  cli::Verb verb;
  verb.name = "doctor";
  verb.synopsis = "[flags]";
  verb.summary = "What this host lacks, with the remedies; status 1 on any.";
  verb.options = {{"--helper", "PATH", "the loom-exec to ask"},
                  {"--cgroup-base", "DIR", "the cgroup v2 directory to look at"},
                  {"--json", "", "one line of JSON"}};
  verb.examples = {"loom-census doctor", "loom-census doctor --cgroup-base /sys/fs/cgroup/loom"};
  return verb;
}

}  // namespace

const cli::Tool& tool() {
  static const cli::Tool kDeclared = {std::string(kTool),
                                      "What is here: versions, features, and where two censuses differ.",
                                      {local(), broker(), skew(), doctor()},
                                      {"loom-census", "loom-census --json | jq .helper.features"},
                                      "loom-census(1)"};
  return kDeclared;
}

}  // namespace loom::census
