// loom-exec self-test: every layer attacked from inside, on the live kernel.
#include "helper/self_test/self_test.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/version.h"
#include "cli/output.h"
#include "helper/host_context.h"
#include "verbs.h"

namespace loom::exec {
namespace {

using helper::ProbeResult;
using helper::Verdict;

std::ptrdiff_t count(const std::vector<ProbeResult>& results, Verdict verdict) {
  return std::count_if(results.begin(), results.end(), [&](const ProbeResult& r) { return r.verdict == verdict; });
}

Value as_json(const std::vector<ProbeResult>& results, std::string_view result, bool ok) {
  Array list;
  for (const ProbeResult& probe : results) {
    Array layers(probe.layers.begin(), probe.layers.end());
    list.emplace_back(Map{{"name", probe.name},
                          {"misdeed", probe.misdeed},
                          {"verdict", std::string(to_text(probe.verdict))},
                          {"reason", probe.reason},
                          {"layers", std::move(layers)},
                          {"wall_ms", probe.wall_ms}});
  }
  return Map{{"ok", ok},
             {"result", std::string(result)},
             {"peer", tool().name + "/" + std::string(kVersion)},
             {"probes", std::move(list)}};
}

std::string as_text(const std::vector<ProbeResult>& results, std::string_view result) {
  std::vector<std::vector<std::string>> rows{{"PROBE", "VERDICT", "WHAT WAS TRIED, OR WHY IT DOES NOT HOLD"}};
  for (const ProbeResult& probe : results) {
    const std::string& said = probe.reason.empty() ? probe.misdeed : probe.reason;
    rows.push_back({probe.name, std::string(to_text(probe.verdict)), cli::escape(said)});
  }
  std::string text = results.empty() ? "" : cli::table(rows, cli::stdout_is_terminal());
  if (!results.empty()) {
    text += std::to_string(count(results, Verdict::kEnforced)) + " enforced, " +
            std::to_string(count(results, Verdict::kSkipped)) + " skipped, " +
            std::to_string(count(results, Verdict::kFailed)) + " failed\n";
  }
  return text + "RESULT: " + std::string(result) + "\n";
}

int tell(const cli::Parsed& parsed, const std::vector<ProbeResult>& results, std::string_view result, bool ok) {
  const bool json = parsed.has("--json");
  const std::string text = json ? render_json(as_json(results, result, ok)) + "\n" : as_text(results, result);
  const ExitStatus written = cli::answer(tool().name, text);
  return to_int(written != ExitStatus::kOk ? written : (ok ? ExitStatus::kOk : ExitStatus::kNo));
}

}  // namespace

int self_test_verb(const cli::Parsed& parsed, JailFlags flags) {
  flags.host.allow_unenforced = true;  // nothing is run there, and the answer says why
  const auto host = helper::make_host_context(std::move(flags.host));
  if (!host) {
    cli::say_error(tool().name, host.error());
    return to_int(ExitStatus::kUsage);
  }
  if (helper::without_a_jail(host->features)) return tell(parsed, {}, "UNSUPPORTED PLATFORM", false);
  const bool progress = cli::stderr_is_terminal() && !parsed.has("--json");
  const auto results = helper::run_self_test(*host, [&](std::string_view name) {
    if (progress) cli::say(std::string("trying ").append(name));
  });
  if (!results) {
    cli::say_error(tool().name, results.error());
    return to_int(ExitStatus::kUsage);
  }
  const bool held = count(*results, Verdict::kFailed) == 0 && count(*results, Verdict::kEnforced) > 0;
  return tell(parsed, *results, held ? "ENFORCED" : "FAILED", held);
}

}  // namespace loom::exec
