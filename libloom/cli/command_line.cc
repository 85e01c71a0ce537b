#include "cli/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "cli/help.h"
#include "cli/output.h"

namespace loom::cli {
namespace {

using Words = std::vector<std::string>;

Outcome print(std::string text) {
  return {std::nullopt, std::move(text), true, to_int(ExitStatus::kOk)};
}

Outcome refuse(const Tool& tool, const Verb* verb, std::string where, std::string what) {
  const bool named = verb != nullptr && !verb->name.empty();
  std::string hint = "see " + tool.name + (named ? " " + verb->name : "") + " --help";
  if (named) where = where.empty() ? verb->name : verb->name + ": " + where;
  const Error error{"usage", std::move(where), std::move(what), std::move(hint)};
  const ExitStatus status = verb == nullptr ? ExitStatus::kUsage : verb->usage_status;
  return {std::nullopt, error_line(tool.name, error) + "\n", false, to_int(status)};
}

const Verb* find_verb(const Tool& tool, std::string_view name) {
  const auto it = std::find_if(tool.verbs.begin(), tool.verbs.end(), [&](const Verb& v) { return v.name == name; });
  return it == tool.verbs.end() ? nullptr : &*it;
}

const Option* find_option(const Verb& verb, std::string_view name) {
  const auto it =
      std::find_if(verb.options.begin(), verb.options.end(), [&](const Option& o) { return o.name == name; });
  return it == verb.options.end() ? nullptr : &*it;
}

// What a walk over the words finds before CLI11 sees any of them: where the options end, and which words are ours to
// keep. CLI11 gets each option and its value as two words, so that it never splits, swallows or reinterprets one.
struct Cut {
  Words options;
  Words rest;
  bool help = false;
  bool version = false;
  std::string bad_flag;     // a flag that was given a value
  std::string empty_value;  // an option whose value is ""
};

// Takes words[i] (an option, with its value where it has one); returns the index after it.
std::size_t take_option(const Verb& verb, const Words& words, std::size_t i, Cut& cut) {
  const std::string& word = words[i];
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const Option* option = find_option(verb, name);
  if (option == nullptr) {
    cut.help = cut.help || word == "--help" || word == "-h";
    cut.version = cut.version || word == "--version";
    cut.options.push_back(name);
    return i + 1;
  }
  const bool takes_value = !option->argument.empty();
  if (equals != std::string::npos && !takes_value) cut.bad_flag = name;
  cut.options.push_back(name);
  if (!takes_value) return i + 1;
  if (equals == std::string::npos && option->optional_argument) {
    cut.options.emplace_back();
    return i + 1;
  }
  const bool apart = equals == std::string::npos;
  if (apart && i + 1 >= words.size()) return i + 2;
  cut.options.push_back(apart ? words[i + 1] : word.substr(equals + 1));
  if (cut.options.back().empty() && !option->may_be_empty) cut.empty_value = name;
  return apart ? i + 2 : i + 1;
}

Cut cut_words(const Verb& verb, const Words& words) {
  Cut cut;
  std::size_t i = 0;
  while (i < words.size() && !cut.help && !cut.version) {
    const std::string& word = words[i];
    if (word == "--") {
      cut.rest.insert(cut.rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (word.size() > 1 && word.front() == '-') {
      i = take_option(verb, words, i, cut);
      continue;
    }
    if (verb.rest == Rest::kCommand) {
      cut.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    cut.rest.push_back(word);
    ++i;
  }
  return cut;
}

void declare(CLI::App& app, const Verb& verb) {
  app.set_help_flag();
  app.fallthrough(false);
  for (const Option& option : verb.options) {
    if (option.argument.empty()) {
      app.add_flag(option.name)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    } else {
      app.add_option(option.name)
          ->expected(1)
          ->allow_extra_args(false)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
}

// Runs CLI11 over the cut words. The outcome holds a refusal, or the options.
Outcome run_parser(const Tool& tool, const Verb& verb, Words words) {
  const std::string last = words.empty() ? "" : words.back();
  CLI::App app;
  try {
    declare(app, verb);
    std::reverse(words.begin(), words.end());
    app.parse(std::move(words));
  } catch (const CLI::ExtrasError&) {
    return refuse(tool, &verb, app.remaining().empty() ? "" : app.remaining().front(), "unknown option");
  } catch (const CLI::ArgumentMismatch&) {
    // Only the last word can lack its value: the walk gave every other option one.
    return refuse(tool, &verb, last, "needs a value");
  } catch (const CLI::Error&) {
    return refuse(tool, &verb, "", "the command line cannot be read");
  }
  Parsed parsed;
  parsed.verb = &verb;
  for (const Option& option : verb.options) {
    const CLI::Option* found = app.get_option(option.name);
    if (found->count() == 0) continue;
    if (found->count() > 1 && !option.repeatable && !option.argument.empty())
      return refuse(tool, &verb, option.name, "given more than once");
    Words values = found->results();
    if (option.argument.empty()) std::fill(values.begin(), values.end(), std::string());
    parsed.options.emplace(option.name, std::move(values));
  }
  return {std::move(parsed), "", true, 0};
}

// What is wrong with the number of words left over; "" when nothing is. `where` gets the word it is about.
std::string judge_rest(const Verb& verb, const Words& rest, std::string& where) {
  switch (verb.rest) {
    case Rest::kCommand:
      return rest.empty() ? "no command given" : "";
    case Rest::kNone:
      if (rest.empty()) return "";
      where = rest.front();
      return "unexpected argument";
    case Rest::kPositionals:
      break;
  }
  std::size_t least = 0;
  bool endless = false;
  for (const std::string& name : verb.positionals) {
    endless = endless || name.find("...") != std::string::npos;
    if (name.front() != '[') ++least;
  }
  if (rest.size() < least) return "missing argument: " + verb.positionals[rest.size()];
  if (const auto empty = std::find(rest.begin(), rest.end(), ""); empty != rest.end()) {
    const auto index = static_cast<std::size_t>(empty - rest.begin());
    return "an empty argument: " + verb.positionals[std::min(index, verb.positionals.size() - 1)];
  }
  if (endless || rest.size() <= verb.positionals.size()) return "";
  where = rest[verb.positionals.size()];
  return "unexpected argument";
}

Outcome parse_verb(const Tool& tool, const Verb& verb, const Words& words) {
  Cut cut = cut_words(verb, words);
  if (cut.help) return print(verb.name.empty() ? tool_help(tool) : verb_help(tool, verb));
  if (cut.version) return print(version_line(tool));
  if (!cut.bad_flag.empty()) return refuse(tool, &verb, cut.bad_flag, "takes no value");
  if (!cut.empty_value.empty()) return refuse(tool, &verb, cut.empty_value, "its value is empty");
  Outcome outcome = run_parser(tool, verb, std::move(cut.options));
  if (!outcome.parsed) return outcome;
  std::string where;
  if (const std::string fault = judge_rest(verb, cut.rest, where); !fault.empty())
    return refuse(tool, &verb, where, fault);
  outcome.parsed->rest = std::move(cut.rest);
  return outcome;
}

}  // namespace

Outcome parse_command_line(const Tool& tool, int argc, const char* const* argv) {
  const Words words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && !words.front().empty()) {
    if (const Verb* verb = find_verb(tool, words.front()))
      return parse_verb(tool, *verb, Words(words.begin() + 1, words.end()));
  }
  if (const Verb* plain = find_verb(tool, "")) return parse_verb(tool, *plain, words);
  if (words.empty()) return refuse(tool, nullptr, "", "no verb given");
  const std::string& first = words.front();
  const bool asks = first == "--help" || first == "-h" || first == "--version";
  if (asks && words.size() > 1 && first != words[1]) return refuse(tool, nullptr, words[1], "unexpected argument");
  if (first == "--help" || first == "-h") return print(tool_help(tool));
  if (first == "--version") return print(version_line(tool));
  return refuse(tool, nullptr, first, first.substr(0, 1) == "-" ? "unknown option" : "unknown verb");
}

bool Parsed::has(std::string_view name) const {
  return options.find(std::string(name)) != options.end();
}

std::optional<std::string> Parsed::value(std::string_view name) const {
  const auto it = options.find(std::string(name));
  if (it == options.end() || it->second.empty()) return std::nullopt;
  return it->second.back();
}

std::vector<std::string> Parsed::values(std::string_view name) const {
  const auto it = options.find(std::string(name));
  return it == options.end() ? std::vector<std::string>() : it->second;
}

Result<std::uint64_t> parse_count(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return fail("bad_argument", "", "want a whole number, got \"" + std::string(text) + "\"");
  std::uint64_t value = 0;
  for (const char c : text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10)
      return fail("bad_argument", "", "too large: " + std::string(text));
    value = value * 10 + digit;
  }
  return value;
}

Result<std::uint64_t> parse_duration_ms(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = text.substr(digits);
  std::uint64_t scale = 0;
  if (unit == "ms") scale = 1;
  if (unit == "s") scale = 1000;
  if (unit == "m") scale = 60'000;
  if (unit == "h") scale = 3'600'000;
  const auto count = parse_count(text.substr(0, digits));
  if (scale == 0 || digits == 0)
    return fail("bad_argument", "", "want a duration such as 500ms, 30s, 5m or 1h, got \"" + std::string(text) + "\"");
  if (!count || *count > std::numeric_limits<std::uint64_t>::max() / scale)
    return fail("bad_argument", "", "too long: " + std::string(text));
  return *count * scale;
}

}  // namespace loom::cli
