#include "cli/help.h"

#include <algorithm>

#include "base/version.h"

namespace loom::cli {
namespace {

constexpr std::size_t kScreenLines = 24;
constexpr std::size_t kScreenColumns = 80;

using Rows = std::vector<std::string>;

std::string option_word(const Option& option) {
  if (option.argument.empty()) return option.name;
  if (option.optional_argument) return option.name + "[=" + option.argument + "]";
  return option.name + " " + option.argument;
}

void pad(std::string& line, std::size_t width) {
  if (line.size() < width) line.append(width - line.size(), ' ');
}

// Names on the left, one line each.
Rows listed(const std::vector<std::pair<std::string, std::string>>& items) {
  std::size_t width = 0;
  for (const auto& [name, help] : items) width = std::max(width, name.size());
  Rows rows;
  for (const auto& [name, help] : items) {
    std::string line = "  " + name;
    pad(line, width + 4);
    rows.push_back(line + help);
  }
  return rows;
}

// Two items to a line where both fit a half: for a verb with more flags than a screen has lines.
Rows paired(const std::vector<std::pair<std::string, std::string>>& items) {
  constexpr std::size_t kHalf = kScreenColumns / 2;
  Rows rows;
  std::string left;
  for (const auto& [name, help] : items) {
    std::string cell = "  ";
    cell.append(name).append("  ").append(help);
    const bool fits = cell.size() < kHalf;
    if (left.empty() && fits) {
      left = std::move(cell);
      continue;
    }
    if (!left.empty() && fits) {
      pad(left, kHalf);
      rows.push_back(left + cell);
      left.clear();
      continue;
    }
    rows.push_back(std::move(cell));
  }
  if (!left.empty()) rows.push_back(left);
  return rows;
}

std::vector<std::pair<std::string, std::string>> option_items(const Verb& verb) {
  std::vector<std::pair<std::string, std::string>> items;
  for (const Option& option : verb.options) items.emplace_back(option_word(option), option.help);
  return items;
}

void append(std::string& text, const Rows& rows) {
  for (const std::string& row : rows) text += row + "\n";
}

std::string finish(const std::vector<std::string>& usage, const Rows& body, const std::vector<std::string>& examples,
                   const std::string& page) {
  const std::size_t lines = usage.size() + body.size() + examples.size() + 1;
  const std::string gap = lines + 3 <= kScreenLines ? "\n" : "";
  std::string text;
  append(text, usage);
  if (!body.empty()) text += gap;
  append(text, body);
  text += gap;
  for (const std::string& example : examples) text += "  " + example + "\n";
  return text + gap + "see " + page + "\n";
}

std::vector<std::string> usage_of(const std::string& words, const std::string& synopsis, const std::string& summary) {
  return {"usage: " + words + (synopsis.empty() ? "" : " " + synopsis), summary};
}

}  // namespace

std::string verb_help(const Tool& tool, const Verb& verb) {
  const auto items = option_items(verb);
  Rows body = listed(items);
  if (body.size() + verb.examples.size() + 3 > kScreenLines) body = paired(items);
  const std::string words = tool.name + (verb.name.empty() ? "" : " " + verb.name);
  return finish(usage_of(words, verb.synopsis, verb.summary), body, verb.examples, tool.page);
}

std::string tool_help(const Tool& tool) {
  std::vector<std::pair<std::string, std::string>> verbs;
  std::vector<std::pair<std::string, std::string>> flags;
  std::string synopsis = "VERB [flags]";
  for (const Verb& verb : tool.verbs) {
    if (verb.name.empty()) {
      flags = option_items(verb);
      synopsis = tool.verbs.size() == 1 ? verb.synopsis : "[VERB] [flags]";
    } else {
      verbs.emplace_back(verb.name + (verb.synopsis.empty() ? "" : " " + verb.synopsis), verb.summary);
    }
  }
  flags.emplace_back("--help, --version", verbs.empty() ? "this text; versions" : "also: VERB --help");
  verbs.insert(verbs.end(), flags.begin(), flags.end());
  Rows body = listed(verbs);
  const bool fits =
      std::all_of(body.begin(), body.end(), [](const std::string& row) { return row.size() <= kScreenColumns; });
  if (!fits) {
    // The verbs' synopses give way to their summaries: each verb's own help shows its in full.
    for (auto& [name, summary] : verbs) name = name.front() == '-' ? name : name.substr(0, name.find(' '));
    body = listed(verbs);
  }
  return finish(usage_of(tool.name, synopsis, tool.summary), body, tool.examples, tool.page);
}

std::string version_line(const Tool& tool) {
  return tool.name + " " + std::string(kVersion) + " (wire: envelope " + std::to_string(kEnvelopeVersion) + ", exec " +
         std::to_string(kExecProto) + ", control " + std::to_string(kControlProto) + ", capability " +
         std::to_string(kCapProto) + "; policy " + std::to_string(kPolicyVersion) + ")\n";
}

}  // namespace loom::cli
