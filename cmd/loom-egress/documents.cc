#include "documents.h"

#include <unistd.h>

#include <utility>

#include "base/json.h"
#include "cli/output.h"
#include "options.h"
#include "os/fds.h"

namespace loom::egress_tool {
namespace {

constexpr std::size_t kMaxPolicy = 1U << 20U;

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  if (file == "-" || slash == std::string::npos) return "";
  return slash == 0 ? "/" : file.substr(0, slash);
}

}  // namespace

Result<std::string> read_document(const std::string& file, std::size_t max_bytes) {
  const std::string name = file == "-" ? "standard input" : file;
  auto bytes = file == "-" ? read_to_end(STDIN_FILENO, max_bytes, 0, name) : read_file(file, max_bytes);
  if (bytes || bytes.error().code != "too_large") return bytes;
  return fail("document_too_large", name, "the document is over " + std::to_string(max_bytes) + " bytes");
}

std::optional<egress::EgressPolicy> load_policy(const cli::Parsed& parsed) {
  const auto file = parsed.value("--policy");
  if (!file) {
    say_unusable(Error{"usage", "--policy", "must be given", "see loom-egress(1)"});
    return std::nullopt;
  }
  const auto bytes = read_document(*file, kMaxPolicy);
  if (!bytes) {
    say_unusable(bytes.error());
    return std::nullopt;
  }
  auto policy = egress::decode_egress_policy_bytes(*bytes);
  if (!policy) {
    say_unusable(std::move(policy).error().context(*file == "-" ? "standard input" : *file));
    return std::nullopt;
  }
  egress::anchor_trust(*policy, folder_of(*file));
  return std::move(*policy);
}

ExitStatus say_unusable(const Error& error) {
  cli::say_error(kTool, error);
  return ExitStatus::kUsage;
}

ExitStatus answer_no(const cli::Parsed& parsed, const egress::Failure& failure, const std::string& about) {
  if (!parsed.has("--json")) {
    Error error = egress::to_error(failure);
    cli::say_error(kTool, about.empty() ? error : std::move(error).context(about));
  }
  const ExitStatus printed = answer_json({{"ok", false}, {"errors", Array{egress::render_failure(failure)}}});
  return printed == ExitStatus::kOk ? ExitStatus::kNo : printed;
}

ExitStatus answer_json(Map answer) {
  return cli::answer(kTool, render_json(std::move(answer)) + "\n");
}

}  // namespace loom::egress_tool
