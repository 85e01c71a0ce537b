#include "documents.h"

#include <unistd.h>

#include <utility>

#include "base/json.h"
#include "cli/output.h"
#include "options.h"
#include "os/fds.h"
#include "policy/decode.h"
#include "service/questions.h"

namespace loom::policy_tool {

namespace {

constexpr std::size_t kMaxDocument = 1U << 20U;

Result<std::string> read_document(const std::string& file, const std::string& name) {
  auto bytes = file == "-" ? read_to_end(STDIN_FILENO, kMaxDocument, 0, name) : read_file(file, kMaxDocument);
  if (bytes || bytes.error().code != "too_large") return bytes;
  return fail("document_too_large", name, "the document is over " + std::to_string(kMaxDocument) + " bytes");
}

}  // namespace

ExitStatus say_no(const cli::Parsed& parsed, const Error& error, Map more) {
  if (!parsed.has("--json")) {
    cli::say_error(kTool, error);
    return ExitStatus::kNo;
  }
  Value answer = cli::no_answer({error});
  for (Member& member : more) answer.get_if<Map>()->push_back(std::move(member));
  const ExitStatus printed = cli::answer(kTool, render_json(answer) + "\n");
  return printed == ExitStatus::kOk ? ExitStatus::kNo : printed;
}

ExitStatus say_unusable(const Error& error) {
  cli::say_error(kTool, error);
  return ExitStatus::kUsage;
}

std::optional<Policy> load(const cli::Parsed& parsed, const std::string& file, Decode decode, ExitStatus& status) {
  const std::string name = file == "-" ? "standard input" : file;
  const auto bytes = read_document(file, name);
  if (!bytes) {
    status = bytes.error().code == "document_too_large" ? say_no(parsed, bytes.error()) : say_unusable(bytes.error());
    return std::nullopt;
  }
  auto policy = decode(*bytes);
  if (!policy) {
    status = say_no(parsed, std::move(policy).error().context(name));
    return std::nullopt;
  }
  return std::move(*policy);
}

std::optional<Pair> load_two(const cli::Parsed& parsed, const std::string& first, const std::string& second,
                             ExitStatus& status) {
  if (first == "-" && second == "-") {
    status = say_unusable(Error{"usage", "-", "standard input can be read once only", ""});
    return std::nullopt;
  }
  auto a = load(parsed, first, decode_policy_bytes, status);
  auto b = a ? load(parsed, second, decode_policy_bytes, status) : std::nullopt;
  if (!b) return std::nullopt;
  return Pair{std::move(*a), std::move(*b)};
}

ExitStatus answer_document(const cli::Parsed& parsed, const Policy& policy, Encoding encoding) {
  if (encoding == Encoding::kMsgpack) return cli::answer(kTool, render_policy_msgpack(policy));
  const auto text = render_policy_json(policy);
  if (!text) return say_no(parsed, text.error());
  return cli::answer(kTool, parsed.has("--json") ? render_json(encode_policy(policy)) + "\n" : *text);
}

ExitStatus answer_json(Map answer) {
  return cli::answer(kTool, render_json(std::move(answer)) + "\n");
}

std::string shown(const Value& value) {
  if (value.is_nil()) return "nothing";
  if (const auto* text = value.get_if<std::string>()) return text->empty() ? "\"\"" : *text;
  if (const auto* binary = value.get_if<Binary>()) return binary->bytes;
  return render_json(value);
}

Result<Report> ask_features(const cli::Parsed& parsed) {
  LOOM_TRY(const ExecHello hello,
           service::ask_helper(service::helper_program(parsed.value("--helper")), std::string(kTool)));
  return Report(hello.features);
}

}  // namespace loom::policy_tool
