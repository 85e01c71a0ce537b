#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace loom::cli {
namespace {

Tool example() {
  Verb run;
  run.name = "run";
  run.synopsis = "[flags] [--] CMD...";
  run.summary = "Run a command.";
  run.options = {{"--policy", "FILE", "the policy"},
                 {"--env", "NAME[=VALUE]", "pass a name", true},
                 {"--why", "WHAT", "say why", false, true},
                 {"--quiet", "", "say less"}};
  run.rest = Rest::kCommand;
  run.usage_status = ExitStatus::kNotRun;
  run.examples = {"loom-demo run -- true", "loom-demo run --quiet -- true"};
  Verb skew;
  skew.name = "skew";
  skew.synopsis = "A B";
  skew.summary = "Compare.";
  skew.options = {{"--json", "", "as JSON"}};
  skew.rest = Rest::kPositionals;
  skew.positionals = {"A", "B", "[C]"};
  Verb list;
  list.name = "list";
  list.summary = "List.";
  return {"loom-demo", "Shows things.", {run, skew, list}, {"loom-demo list", "loom-demo skew a b"}, "loom-demo(1)"};
}

Outcome parse(const Tool& tool, std::vector<const char*> words) {
  words.insert(words.begin(), "loom-demo");
  return parse_command_line(tool, static_cast<int>(words.size()), words.data());
}

using Words = std::vector<std::string>;

TEST(CommandLine, TheFirstWordThatIsNoOptionBeginsTheCommand) {
  const Tool tool = example();
  const Outcome got = parse(tool, {"run", "--policy", "p.json", "sh", "-c", "--policy", "--help"});
  ASSERT_TRUE(got.parsed) << got.text;
  EXPECT_EQ(got.parsed->rest, (Words{"sh", "-c", "--policy", "--help"}));
  EXPECT_EQ(got.parsed->value("--policy"), "p.json");
}

TEST(CommandLine, TwoDashesEndTheOptionsAndAreNotPartOfTheCommand) {
  const Tool tool = example();
  EXPECT_EQ(parse(tool, {"run", "--", "--odd", "--"}).parsed->rest, (Words{"--odd", "--"}));
  EXPECT_EQ(parse(tool, {"run", "-"}).parsed->rest, (Words{"-"}));
  EXPECT_EQ(parse(tool, {"skew", "--", "--a", "b"}).parsed->rest, (Words{"--a", "b"}));
}

TEST(CommandLine, AValueIsTakenAsItStands) {
  const Tool tool = example();
  for (const char* value :
       {"-x", "--", "--quiet", "[a,b]", "a,b", "{}", "%%", "'q'", "true", "0", "-1", "a=b=c", "\xff"}) {
    const Outcome apart = parse(tool, {"run", "--policy", value, "cmd"});
    ASSERT_TRUE(apart.parsed) << value << ": " << apart.text;
    EXPECT_EQ(apart.parsed->values("--policy"), Words{value});
    EXPECT_EQ(apart.parsed->rest, Words{"cmd"});
    const std::string joined = std::string("--policy=") + value;
    const Outcome together = parse(tool, {"run", joined.c_str(), "cmd"});
    ASSERT_TRUE(together.parsed) << value << ": " << together.text;
    EXPECT_EQ(together.parsed->values("--policy"), Words{value});
  }
}

TEST(CommandLine, AnEmptyValueDoesNotSwallowTheNextWord) {
  Tool tool = example();
  for (Option& option : tool.verbs[0].options) option.may_be_empty = true;
  const Outcome got = parse(tool, {"run", "--policy=", "--quiet", "cmd"});
  ASSERT_TRUE(got.parsed) << got.text;
  EXPECT_EQ(got.parsed->value("--policy"), "");
  EXPECT_TRUE(got.parsed->has("--quiet"));
  EXPECT_EQ(parse(tool, {"run", "--policy", "", "cmd"}).parsed->value("--policy"), "");
}

TEST(CommandLine, AnEmptyValueIsRefusedAndNeverMeansTheDefault) {
  const Tool tool = example();
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {"run", "--policy", "", "cmd"}, {"run", "--policy=", "cmd"}, {"run", "--policy", "x", "--env", "", "cmd"}}) {
    const Outcome got = parse(tool, words);
    EXPECT_FALSE(got.parsed);
    EXPECT_EQ(got.status, 125);
    EXPECT_NE(got.text.find("its value is empty"), std::string::npos) << got.text;
  }
  const Outcome positional = parse(tool, {"skew", "a", ""});
  EXPECT_EQ(positional.status, 2);
  EXPECT_NE(positional.text.find("an empty argument: B"), std::string::npos) << positional.text;
  EXPECT_TRUE(parse(tool, {"run", "--", "cmd", ""}).parsed) << "a command's arguments are its own";
}

TEST(CommandLine, AnExtraWordAfterVersionOrHelpIsRefused) {
  const Tool tool = example();
  for (const char* asked : {"--version", "--help"}) {
    EXPECT_EQ(parse(tool, {asked, "x"}).text, "loom-demo: x: unexpected argument\nhint: see loom-demo --help\n");
  }
}

TEST(CommandLine, AnOptionalValueIsOnlyTakenAfterAnEqualsSign) {
  const Tool tool = example();
  EXPECT_EQ(parse(tool, {"run", "--why", "paths"}).parsed->rest, Words{"paths"});
  EXPECT_EQ(parse(tool, {"run", "--why", "cmd"}).parsed->values("--why"), Words{""});
  EXPECT_EQ(parse(tool, {"run", "--why=paths", "cmd"}).parsed->values("--why"), Words{"paths"});
}

TEST(CommandLine, ARepeatableOptionKeepsItsOrder) {
  const Tool tool = example();
  const Outcome got = parse(tool, {"run", "--env", "B=2", "--env=A", "--env", "C=[x,y]", "cmd"});
  ASSERT_TRUE(got.parsed) << got.text;
  EXPECT_EQ(got.parsed->values("--env"), (Words{"B=2", "A", "C=[x,y]"}));
}

TEST(CommandLine, AFlagMayBeRepeatedAndAnAbsentOneIsAbsent) {
  const Tool tool = example();
  const Outcome got = parse(tool, {"run", "--quiet", "--quiet", "cmd"});
  ASSERT_TRUE(got.parsed) << got.text;
  EXPECT_EQ(got.parsed->values("--quiet").size(), 2U);
  EXPECT_FALSE(got.parsed->has("--why"));
  EXPECT_EQ(got.parsed->value("--policy"), std::nullopt);
}

struct BadLine {
  std::vector<const char*> words;
  int status;
  std::string says;
};

TEST(CommandLine, AFaultIsOneLineThatNamesTheWordWithAHintBelow) {
  const Tool tool = example();
  const std::vector<BadLine> lines = {
      {{}, 2, "loom-demo: no verb given\nhint: see loom-demo --help\n"},
      {{"jump"}, 2, "loom-demo: jump: unknown verb\nhint: see loom-demo --help\n"},
      {{"--jump"}, 2, "loom-demo: --jump: unknown option\nhint: see loom-demo --help\n"},
      {{""}, 2, "loom-demo: unknown verb\nhint: see loom-demo --help\n"},
      {{"run", "--fast", "cmd"}, 125, "loom-demo: run: --fast: unknown option\nhint: see loom-demo run --help\n"},
      {{"run", "--pol", "x", "cmd"}, 125, "loom-demo: run: --pol: unknown option\nhint: see loom-demo run --help\n"},
      {{"run", "-q", "cmd"}, 125, "loom-demo: run: -q: unknown option\nhint: see loom-demo run --help\n"},
      {{"run", "-1"}, 125, "loom-demo: run: -1: unknown option\nhint: see loom-demo run --help\n"},
      {{"run", "---"}, 125, "loom-demo: run: ---: unknown option\nhint: see loom-demo run --help\n"},
      {{"run", "--a\x1b[2J"}, 125, "loom-demo: run: --a\\x1b[2J: unknown option\nhint: see loom-demo run --help\n"},
      {{"run", "--policy"}, 125, "loom-demo: run: --policy: needs a value\nhint: see loom-demo run --help\n"},
      {{"run", "--quiet=yes", "c"}, 125, "loom-demo: run: --quiet: takes no value\nhint: see loom-demo run --help\n"},
      {{"run", "--policy", "a", "--policy=b", "c"},
       125,
       "loom-demo: run: --policy: given more than once\nhint: see loom-demo run --help\n"},
      {{"run", "--quiet"}, 125, "loom-demo: run: no command given\nhint: see loom-demo run --help\n"},
      {{"run", "--"}, 125, "loom-demo: run: no command given\nhint: see loom-demo run --help\n"},
      {{"skew", "a"}, 2, "loom-demo: skew: missing argument: B\nhint: see loom-demo skew --help\n"},
      {{"skew", "a", "b", "c", "d"}, 2, "loom-demo: skew: d: unexpected argument\nhint: see loom-demo skew --help\n"},
      {{"list", "x"}, 2, "loom-demo: list: x: unexpected argument\nhint: see loom-demo list --help\n"},
  };
  for (const BadLine& line : lines) {
    const Outcome got = parse(tool, line.words);
    EXPECT_FALSE(got.parsed);
    EXPECT_FALSE(got.to_stdout);
    EXPECT_EQ(got.status, line.status) << line.says;
    EXPECT_EQ(got.text, line.says);
  }
}

TEST(CommandLine, PositionalsMayStandBetweenOptionsAndOneInBracketsMayBeAbsent) {
  const Tool tool = example();
  const Outcome got = parse(tool, {"skew", "a", "--json", "b"});
  ASSERT_TRUE(got.parsed) << got.text;
  EXPECT_EQ(got.parsed->rest, (Words{"a", "b"}));
  EXPECT_TRUE(got.parsed->has("--json"));
  EXPECT_TRUE(parse(tool, {"skew", "a", "b", "c"}).parsed);
}

TEST(CommandLine, AToolMayAnswerWithoutAVerbAndHaveVerbsAsWell) {
  Tool tool = example();
  Verb plain;
  plain.options = {{"--json", "", "as JSON"}};
  tool.verbs.push_back(plain);
  EXPECT_EQ(parse(tool, {}).parsed->verb->name, "");
  EXPECT_TRUE(parse(tool, {"--json"}).parsed->has("--json"));
  EXPECT_EQ(parse(tool, {"list"}).parsed->verb->name, "list");
  EXPECT_EQ(parse(tool, {"jump"}).text, "loom-demo: jump: unexpected argument\nhint: see loom-demo --help\n");
}

TEST(CommandLine, HelpAndVersionAreAnsweredEverywhereBeforeTheCommand) {
  const Tool tool = example();
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {"--help"}, {"-h"}, {"run", "--help"}, {"run", "--policy", "x", "-h"}, {"list", "x", "--help"}}) {
    const Outcome got = parse(tool, words);
    EXPECT_TRUE(got.to_stdout);
    EXPECT_EQ(got.status, 0);
    EXPECT_EQ(got.text.rfind("usage: loom-demo", 0), 0U) << got.text;
  }
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"--version"}, {"run", "--version"}}) {
    const Outcome got = parse(tool, words);
    EXPECT_EQ(got.text.rfind("loom-demo 0.", 0), 0U) << got.text;
    EXPECT_NE(got.text.find("exec 4"), std::string::npos);
    EXPECT_NE(got.text.find("policy 3"), std::string::npos);
  }
}

// Lines and the longest one.
std::pair<std::size_t, std::size_t> size_of(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::size_t count = 0;
  std::size_t width = 0;
  for (; std::getline(lines, line); ++count) width = std::max(width, line.size());
  return {count, width};
}

TEST(CommandLine, HelpFitsOneScreenAndEndsWithTwoExamplesAndThePage) {
  Tool tool = example();
  for (int i = 0; i < 22; ++i) {
    std::string name = "--flag-";
    name += static_cast<char>('a' + i);
    tool.verbs[0].options.push_back({name, "", "one of many flags"});
  }
  const std::string text = parse(tool, {"run", "--help"}).text;
  EXPECT_LE(size_of(text).first, 24U) << text;
  EXPECT_LE(size_of(text).second, 80U) << text;
  EXPECT_NE(text.find("  loom-demo run -- true\n  loom-demo run --quiet -- true\n"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.rfind("see ")), "see loom-demo(1)\n");
  for (const Option& option : tool.verbs[0].options) EXPECT_NE(text.find(option.name), std::string::npos);
}

TEST(CommandLine, TheToolsHelpListsEveryVerb) {
  const Tool tool = example();
  const std::string text = parse(tool, {"--help"}).text;
  for (const char* word : {"run", "skew A B", "list", "Run a command.", "--version"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
}

TEST(Arguments, DurationsHaveAUnit) {
  EXPECT_EQ(parse_duration_ms("500ms").value(), 500U);
  EXPECT_EQ(parse_duration_ms("30s").value(), 30'000U);
  EXPECT_EQ(parse_duration_ms("5m").value(), 300'000U);
  EXPECT_EQ(parse_duration_ms("1h").value(), 3'600'000U);
  for (const char* bad : {"", "5", "ms", "-1s", "1.5s", " 1s", "1s ", "1d", "0x5s", "1ss", "18446744073709551615h",
                          "99999999999999999999s"}) {
    const auto got = parse_duration_ms(bad);
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().code, "bad_argument");
  }
}

TEST(Arguments, CountsAreDecimalWithoutASign) {
  EXPECT_EQ(parse_count("0").value(), 0U);
  EXPECT_EQ(parse_count("18446744073709551615").value(), 18446744073709551615U);
  for (const char* bad : {"", "-1", "+1", "1e3", "0x1", "18446744073709551616", "1 "})
    EXPECT_FALSE(parse_count(bad)) << bad;
}

}  // namespace
}  // namespace loom::cli
