#include <unistd.h>

#include "base/json.h"
#include "cli/output.h"
#include "options.h"
#include "os/fds.h"
#include "verbs.h"

namespace loom::census {
namespace {

constexpr std::size_t kMaxCensus = 1U << 20U;

Result<broker::Census> read_census(const std::string& file) {
  const bool piped = file == "-";
  const std::string name = piped ? "standard input" : file;
  const auto text = piped ? read_to_end(STDIN_FILENO, kMaxCensus, 0, name) : read_file(file, kMaxCensus);
  if (!text) return fail(text.error());
  auto value = parse_json(*text);
  if (!value) return fail(std::move(value).error().context(name));
  auto census = broker::decode_census(*value);
  if (!census) return fail(std::move(census).error().context(name));
  return census;
}

std::string shown(const std::string& version) {
  return version.empty() ? "not there" : version;
}

Value as_json(const std::vector<broker::Skew>& found) {
  if (found.empty()) return Map{{"ok", true}, {"skew", Array{}}};
  std::vector<Error> errors;
  Array list;
  for (const broker::Skew& skew : found) {
    errors.push_back({"skew", skew.name, shown(skew.ours) + " and " + shown(skew.theirs), ""});
    list.emplace_back(Map{{"name", skew.name},
                          {"ours", skew.ours.empty() ? Value() : Value(skew.ours)},
                          {"theirs", skew.theirs.empty() ? Value() : Value(skew.theirs)}});
  }
  Value answer = cli::no_answer(errors);
  answer.get_if<Map>()->emplace_back("skew", std::move(list));
  return answer;
}

}  // namespace

ExitStatus show_skew(const cli::Parsed& parsed) {
  std::vector<broker::Census> both;
  for (const std::string& file : parsed.rest) {
    auto census = read_census(file);
    if (!census) {
      cli::say_error(kTool, census.error());
      return ExitStatus::kUsage;
    }
    both.push_back(std::move(*census));
  }
  const auto found = broker::skew(both[0], both[1]);
  std::vector<std::vector<std::string>> rows;
  for (const broker::Skew& skew : found) rows.push_back({skew.name, shown(skew.ours), shown(skew.theirs)});
  const std::string text =
      parsed.has("--json") ? render_json(as_json(found)) + "\n" : cli::table(rows, cli::stdout_is_terminal());
  const ExitStatus printed = cli::answer(kTool, text);
  return printed == ExitStatus::kOk && !found.empty() ? ExitStatus::kNo : printed;
}

}  // namespace loom::census
