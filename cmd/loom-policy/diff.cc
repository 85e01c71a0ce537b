#include "cli/output.h"
#include "documents.h"
#include "options.h"
#include "policy/difference.h"
#include "verbs.h"

namespace loom::policy_tool {

namespace {

struct Side {
  std::string only;  // the file that allows more
  std::string other;
  std::vector<Narrowing> differences;
};

std::string name_of(const Narrowing& difference) {
  return difference.kind + (difference.field.empty() ? "" : "." + difference.field);
}

Value as_json(const std::vector<Side>& sides) {
  std::vector<Error> errors;
  Map lists;
  const char* keys[] = {"only_b", "only_a"};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Array list;
    for (const Narrowing& difference : sides[i].differences) {
      Map row = {{"kind", difference.kind}};
      if (!difference.field.empty()) row.emplace_back("field", difference.field);
      row.emplace_back("allowed", difference.wanted);
      row.emplace_back("other", difference.granted);
      list.emplace_back(std::move(row));
      errors.push_back(
          Error{"differs", name_of(difference), sides[i].only + " allows more than " + sides[i].other, ""});
    }
    lists.emplace_back(keys[i], std::move(list));
  }
  Value answer = errors.empty() ? Value(Map{{"ok", true}}) : cli::no_answer(errors);
  for (Member& member : lists) answer.get_if<Map>()->push_back(std::move(member));
  return answer;
}

std::string as_text(const std::vector<Side>& sides) {
  std::vector<std::vector<std::string>> rows = {{"ALLOWED BY", "WHAT", "IT ALLOWS", "THE OTHER"}};
  for (const Side& side : sides) {
    for (const Narrowing& difference : side.differences)
      rows.push_back({side.only, name_of(difference), shown(difference.wanted), shown(difference.granted)});
  }
  return rows.size() == 1 ? "" : cli::table(rows, cli::stdout_is_terminal());
}

}  // namespace

ExitStatus diff(const cli::Parsed& parsed) {
  ExitStatus status = ExitStatus::kOk;
  const auto both = load_two(parsed, parsed.rest[0], parsed.rest[1], status);
  if (!both) return status;
  const std::vector<Side> sides = {{parsed.rest[1], parsed.rest[0], allowed_beyond(both->first, both->second)},
                                   {parsed.rest[0], parsed.rest[1], allowed_beyond(both->second, both->first)}};
  const bool same = sides[0].differences.empty() && sides[1].differences.empty();
  const ExitStatus printed =
      parsed.has("--json") ? answer_json(*as_json(sides).get_if<Map>()) : cli::answer(kTool, as_text(sides));
  return printed == ExitStatus::kOk && !same ? ExitStatus::kNo : printed;
}

}  // namespace loom::policy_tool
