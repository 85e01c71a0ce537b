#include "base/json.h"
#include "cli/output.h"
#include "options.h"
#include "verbs.h"

namespace loom::census {

ExitStatus print_census(const cli::Parsed& parsed, const broker::Census& census, const std::vector<Error>& faults) {
  if (parsed.has("--json")) {
    Value answer = encode(census);
    if (!faults.empty()) {
      const Value no = cli::no_answer(faults);
      for (const Member& member : *no.get_if<Map>()) answer.get_if<Map>()->push_back(member);
    }
    return cli::answer(kTool, render_json(answer) + "\n");
  }
  std::vector<std::vector<std::string>> rows = {{"PART", "VERSION"}};
  rows.push_back({"service", census.service});
  for (const auto& [name, version] : census.tools) rows.push_back({name, version.value_or("not here")});
  rows.push_back({"exec protocol", std::to_string(census.exec_proto)});
  rows.push_back({"control protocol", std::to_string(census.control_proto)});
  rows.push_back({"capability protocol", std::to_string(census.cap_proto)});
  rows.push_back({"policy", std::to_string(census.policy_v)});
  rows.push_back({"helper", !census.helper_peer.empty() ? census.helper_peer
                            : faults.empty()            ? "not asked yet"
                                                        : "no answer"});
  for (const std::string& feature : census.helper_features) {
    const std::size_t colon = feature.find(": ");
    const bool skipped = feature.rfind("skip:", 0) == 0 && colon != std::string::npos;
    if (skipped)
      rows.push_back({"  " + feature.substr(5, colon - 5), "skipped: " + feature.substr(colon + 2)});
    else
      rows.push_back({"  " + feature, "held"});
  }
  return cli::answer(kTool, cli::table(rows, cli::stdout_is_terminal()));
}

}  // namespace loom::census
