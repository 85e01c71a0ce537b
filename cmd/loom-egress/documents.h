// Documents in, and the one way to say no.
#pragma once

#include <optional>
#include <string>

#include "base/exit_status.h"
#include "base/result.h"
#include "cli/command_line.h"
#include "egress/failure.h"
#include "egress/policy_document.h"

namespace loom::egress_tool {

// A file, or standard input for "-". Errors, with the file as their place: unreadable, read_failed, document_too_large.
[[nodiscard]] Result<std::string> read_document(const std::string& file, std::size_t max_bytes);
// The policy of --policy, its trusted files found from its folder on. nullopt: the fault has been said, and the status
// is kUsage: nothing is judged by a policy that cannot be read.
[[nodiscard]] std::optional<egress::EgressPolicy> load_policy(const cli::Parsed& parsed);

// Unreadable input or a command line that makes no sense: a line on stderr. kUsage.
ExitStatus say_unusable(const Error& error);
// A no is an answer: {"ok":false,"errors":[...]} on stdout, and a line on stderr unless --json was given; `about` is
// its place there (an origin). kNo.
ExitStatus answer_no(const cli::Parsed& parsed, const egress::Failure& failure, const std::string& about = {});
// One JSON object on one line.
ExitStatus answer_json(Map answer);

}  // namespace loom::egress_tool
