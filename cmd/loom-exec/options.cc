#include "options.h"

#include <cstdlib>
#include <limits>
#include <vector>

#include "service/call_flags.h"

namespace loom::exec {
namespace {

const cli::Option kBackend{"--backend", "NAME", "native or bwrap; without it bwrap only where native cannot"};
const cli::Option kCgroupBase{"--cgroup-base", "DIR", "a delegated cgroup v2 directory"};
const cli::Option kJailUid{"--jail-uid", "J", "started by root: where its block of ids begins"};
const cli::Option kAllowUnenforced{"--allow-unenforced", "", "serve where there is no jail"};
const cli::Option kJson{"--json", "", "one JSON object"};

cli::Verb serve_verb() {
  cli::Verb verb;
  verb.name = "serve";
  verb.synopsis = "[flags]";
  verb.summary = "the exec channel on stdin and stdout, for a broker";
  verb.options = {{"--policy", "FILE", "the base policy, instead of descriptor 3"}, kBackend, kCgroupBase,
                  {"--capacity", "N", "executions at once, 1 to 4 (default: 4)"},   kJailUid, kAllowUnenforced};
  verb.examples = {"loom-exec serve --policy base.json < frames > answers",
                   "ssh host loom-exec serve --policy /etc/loom/base.json"};
  return verb;
}

cli::Verb run_verb() {
  cli::Verb verb;
  verb.name = "run";
  verb.synopsis = "[flags] [--] CMD...";
  verb.summary = "run one command in a jail, on the caller's own streams";
  verb.options = service::call_options(service::CallFront::kExecRun);
  for (const auto& option : {kBackend, kCgroupBase, kJailUid, kAllowUnenforced}) verb.options.push_back(option);
  verb.rest = cli::Rest::kCommand;
  verb.usage_status = ExitStatus::kNotRun;
  verb.examples = {"loom-exec run --workspace src -- make test",
                   "loom-exec run --policy p.json --report r.json -- ./tool"};
  return verb;
}

cli::Verb features_verb() {
  cli::Verb verb;
  verb.name = "features";
  verb.synopsis = "[--json]";
  verb.summary = "what this host can enforce, and why not the rest";
  verb.options = {kJson, kBackend, kCgroupBase, kJailUid};
  verb.examples = {"loom-exec features", "loom-exec features --json"};
  return verb;
}

cli::Verb self_test_verb() {
  cli::Verb verb;
  verb.name = "self-test";
  verb.synopsis = "[--json]";
  verb.summary = "attack each layer from inside and say which held";
  verb.options = {kJson, kBackend, kCgroupBase, kJailUid};
  verb.examples = {"loom-exec self-test",
                   "loom-exec self-test --json | jq '.probes[] | select(.verdict == \"FAILED\")'"};
  return verb;
}

Status read_backend(const cli::Parsed& parsed, JailFlags& flags) {
  const auto name = parsed.value("--backend");
  if (!name) return {};
  if (*name == "native") {
    flags.host.backend = helper::Backend::kNative;
  } else if (*name == "bwrap") {
    flags.host.backend = helper::Backend::kBwrap;
  } else {
    return fail("bad_argument", "--backend", "want native or bwrap, got \"" + *name + "\"");
  }
  return {};
}

Status read_numbers(const cli::Parsed& parsed, JailFlags& flags) {
  if (const auto text = parsed.value("--capacity")) {
    const auto count = cli::parse_count(*text);
    if (!count || *count < 1 || *count > 4)
      return fail("bad_argument", "--capacity", "want 1 to 4, got \"" + *text + "\"");
    flags.capacity = static_cast<unsigned>(*count);
  }
  if (const auto text = parsed.value("--jail-uid")) {
    constexpr std::uint64_t kLast = std::numeric_limits<std::uint32_t>::max() - helper::kJailIdCount;
    const auto id = cli::parse_count(*text);
    // Ids below the first block's length are the host's own people.
    if (!id || *id < helper::kJailIdCount || *id > kLast) {
      return fail("bad_argument", "--jail-uid",
                  "want a host id from " + std::to_string(helper::kJailIdCount) + " to " + std::to_string(kLast) +
                      ", got \"" + *text + "\"");
    }
    flags.host.jail_uid = static_cast<std::uint32_t>(*id);
  }
  return {};
}

}  // namespace

const cli::Tool& tool() {
  static const cli::Tool kTool{"loom-exec",
                               "run one command under one policy, and say what was really enforced",
                               {run_verb(), serve_verb(), features_verb(), self_test_verb()},
                               {"loom-exec run -- make test", "loom-exec self-test"},
                               "loom-exec(1)"};
  return kTool;
}

Result<JailFlags> read_jail_flags(const cli::Parsed& parsed) {
  JailFlags flags;
  LOOM_CHECK(read_backend(parsed, flags));
  LOOM_CHECK(read_numbers(parsed, flags));
  flags.policy_file = parsed.value("--policy");
  flags.host.allow_unenforced = parsed.has("--allow-unenforced");
  const char* base = std::getenv("LOOM_CGROUP_BASE");
  flags.host.cgroup_base = parsed.value("--cgroup-base").value_or(base != nullptr ? base : "");
  return flags;
}

}  // namespace loom::exec
