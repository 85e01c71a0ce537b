#include "plan/explain.h"

#include <filesystem>

#include "cli/output.h"
#include "documents.h"
#include "layers.h"
#include "options.h"
#include "os/host_facts.h"
#include "policy/decode.h"
#include "policy/validate.h"
#include "verbs.h"

namespace loom::policy_tool {

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string asked_by(const ExplainRow& row) {
  return row.entry_path.empty() ? row.entry : row.entry + " " + row.entry_path;
}

Array plan_json(const MountPlan& plan) {
  Array list;
  for (const ExplainRow& row : explain_plan(plan)) {
    list.emplace_back(Map{{"what", row.what},
                          {"access", row.access},
                          {"path", text_or_bytes(row.where)},
                          {"entry", row.entry},
                          {"entry_path", text_or_bytes(row.entry_path)},
                          {"note", text_or_bytes(row.note)}});
  }
  return list;
}

Array texts_json(const std::vector<std::string>& texts) {
  Array list;
  for (const std::string& text : texts) list.push_back(text_or_bytes(text));
  return list;
}

std::string plan_text(const MountPlan& plan) {
  const bool aligned = cli::stdout_is_terminal();
  Rows rows = {{"WHAT", "ACCESS", "WHERE", "ASKED FOR BY", "NOTE"}};
  for (const ExplainRow& row : explain_plan(plan))
    rows.push_back({row.what, row.access, row.where, asked_by(row), row.note});
  std::string text = cli::table(rows, aligned);
  if (plan.events.empty() && plan.skips.empty()) return text;
  rows = {{"SAID", "ABOUT"}};
  for (const std::string& event : plan.events) rows.push_back({"event", event});
  for (const std::string& skip : plan.skips) rows.push_back({"left out", skip});
  return text + "\n" + cli::table(rows, aligned);
}

std::string layers_text(const std::vector<LayerRow>& layers) {
  Rows rows = {{"LAYER", "STATE", "WHY"}};
  for (const LayerRow& layer : layers) rows.push_back({layer.name, layer.state, layer.detail});
  return cli::table(rows, cli::stdout_is_terminal());
}

// As a person writes it: from the current directory, with dots, with a slash at the end.
Path absolute_path(const std::string& text) {
  std::error_code fault;  // an empty text, or no current directory: then validate_path has something to refuse
  Path path = std::filesystem::absolute(text, fault).lexically_normal().string();
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

ExitStatus explain_path(const cli::Parsed& parsed, const MountPlan& plan, const std::string& text) {
  const Path path = absolute_path(text);
  if (auto valid = validate_path(path, "--path"); !valid) return say_unusable(valid.error());
  const PathVerdict verdict = judge_path(plan, path);
  if (parsed.has("--json"))
    return answer_json({{"ok", true},
                        {"path", text_or_bytes(path)},
                        {"access", std::string(to_text(verdict.access))},
                        {"entry", verdict.entry},
                        {"reason", text_or_bytes(verdict.reason)}});
  const std::string entry = verdict.entry.empty() ? "no entry" : verdict.entry;
  return cli::answer(kTool, cli::table({{path, std::string(to_text(verdict.access)), entry, verdict.reason}},
                                       cli::stdout_is_terminal()));
}

ExitStatus explain_all(const cli::Parsed& parsed, const Policy& policy, const MountPlan& plan) {
  const auto features = ask_features(parsed);
  if (!features) cli::say_error(kTool, Error(features.error()).context("the layers of this host are not known"));
  const auto layers = features ? layer_rows(policy, *features) : std::vector<LayerRow>();
  if (!parsed.has("--json")) return cli::answer(kTool, plan_text(plan) + (features ? "\n" + layers_text(layers) : ""));
  Array rows;
  for (const LayerRow& layer : layers)
    rows.emplace_back(Map{{"layer", layer.name}, {"state", layer.state}, {"detail", text_or_bytes(layer.detail)}});
  return answer_json({{"ok", true},
                      {"digest", policy_digest(policy)},
                      {"plan_digest", plan_digest(plan)},
                      {"plan", plan_json(plan)},
                      {"events", texts_json(plan.events)},
                      {"left_out", texts_json(plan.skips)},
                      {"layers", features ? Value(std::move(rows)) : Value()}});
}

}  // namespace

ExitStatus explain(const cli::Parsed& parsed) {
  ExitStatus status = ExitStatus::kOk;
  const auto policy = load(parsed, parsed.rest[0], decode_policy_bytes, status);
  if (!policy) return status;
  auto plan = mount_plan(*policy, host_facts(*policy));
  if (!plan) return say_no(parsed, std::move(plan).error().context(parsed.rest[0]));
  const auto path = parsed.value("--path");
  return path ? explain_path(parsed, *plan, *path) : explain_all(parsed, *policy, *plan);
}

}  // namespace loom::policy_tool
