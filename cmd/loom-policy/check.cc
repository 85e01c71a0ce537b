// check, convert and digest: one document in, an answer about it out.
#include "base/version.h"
#include "cli/output.h"
#include "documents.h"
#include "options.h"
#include "policy/decode.h"
#include "policy/upgrade.h"
#include "verbs.h"

namespace loom::policy_tool {

ExitStatus check(const cli::Parsed& parsed) {
  ExitStatus status = ExitStatus::kOk;
  const auto policy = load(parsed, parsed.rest[0], decode_policy_bytes, status);
  if (!policy) return status;
  const std::string name = policy_digest(*policy);
  if (parsed.has("--json")) return answer_json({{"ok", true}, {"v", kPolicyVersion}, {"digest", name}});
  return cli::answer(kTool, "valid\n");
}

ExitStatus convert(const cli::Parsed& parsed) {
  const auto format = parsed.value("--to");
  if (!format || (*format != "json" && *format != "msgpack"))
    return say_unusable(Error{"usage", "--to",
                              format ? "want json or msgpack, got " + *format : "must be given: json or msgpack",
                              "see loom-policy convert --help"});
  ExitStatus status = ExitStatus::kOk;
  const auto policy = load(parsed, parsed.rest[0], decode_policy_upgrading, status);
  if (!policy) return status;
  return answer_document(parsed, *policy, *format == "json" ? Encoding::kJson : Encoding::kMsgpack);
}

ExitStatus digest(const cli::Parsed& parsed) {
  ExitStatus status = ExitStatus::kOk;
  const auto policy = load(parsed, parsed.rest[0], decode_policy_bytes, status);
  if (!policy) return status;
  const std::string name = policy_digest(*policy);
  if (parsed.has("--json")) return answer_json({{"ok", true}, {"digest", name}});
  return cli::answer(kTool, name + "\n");
}

}  // namespace loom::policy_tool
