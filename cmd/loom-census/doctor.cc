// loom-census doctor: what this host lacks for full enforcement, and what to do about each (spec/cli.md "loom-census").
#include <algorithm>
#include <cstdlib>

#include "base/json.h"
#include "cli/output.h"
#include "doctor_look.h"
#include "options.h"
#include "service/questions.h"
#include "verbs.h"

namespace loom::census {
namespace {

Value as_json(const std::vector<Finding>& findings, bool sound) {
  std::vector<Error> errors;
  Array rows;
  for (const Finding& finding : findings) {
    rows.emplace_back(Map{{"check", finding.check},
                          {"state", to_text(finding.health)},
                          {"found", text_or_bytes(finding.found)},
                          {"remedy", text_or_bytes(finding.remedy)}});
    if (finding.health == Health::kLacking) errors.push_back({"lacking", finding.check, finding.found, finding.remedy});
  }
  Value answer = sound ? Value(Map{{"ok", true}}) : cli::no_answer(errors);
  answer.get_if<Map>()->emplace_back("checks", std::move(rows));
  return answer;
}

std::string as_text(const std::vector<Finding>& findings) {
  std::vector<std::vector<std::string>> rows = {{"CHECK", "STATE", "FOUND"}};
  for (const Finding& finding : findings) {
    rows.push_back({finding.check, std::string(to_text(finding.health)), finding.found});
    if (!finding.remedy.empty()) rows.push_back({"", "do:", finding.remedy});
  }
  return cli::table(rows, cli::stdout_is_terminal());
}

std::string base_of(const cli::Parsed& parsed) {
  if (const auto flag = parsed.value("--cgroup-base")) return *flag;
  const char* named = std::getenv("LOOM_CGROUP_BASE");
  return named != nullptr ? named : "";
}

}  // namespace

ExitStatus show_doctor(const cli::Parsed& parsed) {
  const auto facts = look_for_doctor(service::helper_program(parsed.value("--helper")), base_of(parsed));
  if (!facts) {
    cli::say_error(kTool, facts.error());
    return ExitStatus::kUsage;
  }
  const std::vector<Finding> findings = examine(*facts);
  const bool sound = std::none_of(findings.begin(), findings.end(),
                                  [](const Finding& finding) { return finding.health == Health::kLacking; });
  const std::string text = parsed.has("--json") ? render_json(as_json(findings, sound)) + "\n" : as_text(findings);
  const ExitStatus printed = cli::answer(kTool, text);
  return printed == ExitStatus::kOk && !sound ? ExitStatus::kNo : printed;
}

}  // namespace loom::census
