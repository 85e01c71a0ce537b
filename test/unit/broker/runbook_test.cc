// The code and loom-runbook(7): each state in which loom ends closed has an entry, and each entry is about one.
#include "base/runbook.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "broker/helper.h"
#include "broker/refusal.h"
#include "broker/settlement.h"
#include "test/support/paths.h"

namespace loom::broker {
namespace {

std::string file(const std::string& path) {
  std::ifstream in(test::tree_path(path));
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

std::set<std::string> matches(const std::string& text, const char* pattern) {
  std::set<std::string> out;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) out.insert((*it)[1].str());
  return out;
}

// The codes of the errors that a source makes.
std::set<std::string> codes_of(const std::string& path) {
  return matches(file(path), R"((?:fail\(|Error\{)\s*"([a-z_]+)\")");
}

std::set<std::string> listed() {
  const auto& entries = runbook_entries();
  return {entries.begin(), entries.end()};
}

TEST(Runbook, ThePageHasAnEntryForEachAndNoOther) {
  const auto page = matches(file("man/loom-runbook.7"), R"(\n\.It Sy ([a-z_]+)\n)");
  EXPECT_EQ(page, listed());
  EXPECT_EQ(listed().size(), runbook_entries().size()) << "one is listed twice";
}

TEST(Runbook, EveryRefusalFailureAndUnconfirmedReasonHasAnEntryOfItsName) {
  for (int i = 0; i < kRefusalReasonCount; ++i) {
    const auto name = to_text(static_cast<RefusalReason>(i));
    EXPECT_EQ(runbook_entry(name), name);
  }
  for (int i = 0; i < kFailureKindCount; ++i) {
    const auto name = to_text(static_cast<FailureKind>(i));
    EXPECT_EQ(runbook_entry(name), name);
  }
  for (int i = 0; i < kUnconfirmedReasonCount; ++i) {
    const auto name = to_text(static_cast<UnconfirmedReason>(i));
    EXPECT_EQ(runbook_entry(name), name);
  }
  const std::string page = file("man/loom-runbook.7");
  for (const LossCause cause : {LossCause::kHelperDown, LossCause::kRelayDown, LossCause::kBrokerClosing}) {
    EXPECT_NE(page.find(to_text(cause)), std::string::npos) << to_text(cause);
  }
}

TEST(Runbook, EveryStateOfTheSocketAndEveryFailedStartHasAnEntry) {
  // A flag or a value that cannot be read is a usage error: the line says what to write.
  const std::set<std::string> usage = {"bad_argument"};
  for (const char* source :
       {"libloom/os/runtime_dir.cc", "libloom/os/socket.cc", "libloom/os/subreaper.cc", "libloom/os/spawn.cc",
        "libloom/service/listener.cc", "libloom/service/readiness.cc", "libloom/service/daemon.cc",
        "cmd/loom-broker/serve_verb.cc", "cmd/loom-broker/serve_options.cc", "cmd/loom-broker/control_client.cc",
        "cmd/loom-broker/ask_verb.cc", "cmd/loom-broker/run_verb.cc"}) {
    const auto codes = codes_of(source);
    EXPECT_FALSE(codes.empty()) << source;
    for (const std::string& code : codes) {
      EXPECT_TRUE(usage.contains(code) || !runbook_entry(code).empty()) << source << ": " << code;
    }
  }
}

TEST(Runbook, EveryWarningOfTheLogNamesItsEntryAsReasonOrKind) {
  for (const char* source : {"libloom/broker/local_executor.cc", "libloom/broker/broker_calls.cc",
                             "libloom/broker/broker_close.cc", "cmd/loom-broker/serve_verb.cc"}) {
    const std::string text = file(source);
    for (std::size_t at = text.find("kWarning"); at != std::string::npos; at = text.find("kWarning", at + 1)) {
      const std::string around = text.substr(at > 600 ? at - 600 : 0, 1000);
      EXPECT_TRUE(around.find("reason") != std::string::npos || around.find("call.settled") != std::string::npos)
          << source << ": " << text.substr(at, 120);
    }
  }
}

TEST(Runbook, TheHintNamesTheEntryAndKeepsWhatItSaid) {
  EXPECT_EQ(with_runbook_entry(Error{"all_busy", "", "x", ""}).hint, "see all_busy in loom-runbook(7)");
  EXPECT_EQ(with_runbook_entry(Error{"socket_live", "", "x", "stop it"}).hint,
            "stop it (see socket_live in loom-runbook(7))");
  EXPECT_EQ(with_runbook_entry(Error{"layer_refused", "", "x", ""}, "helper_refused").hint,
            "see helper_refused in loom-runbook(7)");
  EXPECT_EQ(with_runbook_entry(Error{"exec_not_found", "", "x", ""}).hint, "");
}

}  // namespace
}  // namespace loom::broker
