// Documents in and out, and the one way to say no.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.h"
#include "base/result.h"
#include "base/value.h"
#include "cli/command_line.h"
#include "plan/report.h"
#include "policy/model.h"

namespace loom::policy_tool {

// A no is an answer: JSON on stdout with --json, else a line on stderr. `more` are further members of that object. kNo.
ExitStatus say_no(const cli::Parsed& parsed, const Error& error, Map more = {});
// Unreadable input or a command line that makes no sense: a line on stderr. kUsage.
ExitStatus say_unusable(const Error& error);

// A file, or standard input for "-". nullopt: the fault has been said and `status` is what to leave with.
using Decode = Result<Policy> (*)(std::string_view);
[[nodiscard]] std::optional<Policy> load(const cli::Parsed& parsed, const std::string& file, Decode decode,
                                         ExitStatus& status);
// Two files, of which only one may be "-".
struct Pair {
  Policy first;
  Policy second;
};
[[nodiscard]] std::optional<Pair> load_two(const cli::Parsed& parsed, const std::string& first,
                                           const std::string& second, ExitStatus& status);

// The document itself as the answer: JSON for people, on one line with --json, or msgpack. kNo for not_utf8.
enum class Encoding { kJson, kMsgpack };
ExitStatus answer_document(const cli::Parsed& parsed, const Policy& policy, Encoding encoding);
// One JSON object on one line.
ExitStatus answer_json(Map answer);

// The value for people: text as it stands, paths of any bytes, everything else as JSON; "nothing" for nil.
[[nodiscard]] std::string shown(const Value& value);

// What the helper here says it can hold.
[[nodiscard]] Result<Report> ask_features(const cli::Parsed& parsed);

}  // namespace loom::policy_tool
