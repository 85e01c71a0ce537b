// request: one request in, one answer out.
#include <optional>
#include <utility>

#include "cli/output.h"
#include "documents.h"
#include "egress/answer.h"
#include "egress/judge.h"
#include "egress/request_document.h"
#include "egress/transfer.h"
#include "environment.h"
#include "service/daemon.h"
#include "verbs.h"

namespace loom::egress_tool {
namespace {

// A body of the legal most in base64, and what stands round it.
constexpr std::size_t kMaxRequest = 48U << 20U;

egress::Outcome<egress::Answer> perform(Loop& loop, const egress::Transfers& transfers, egress::Judged request) {
  std::optional<egress::Outcome<egress::Answer>> outcome;
  const auto transfer = transfers.perform(std::move(request), [&](auto answer) {
    outcome = std::move(answer);
    loop.stop();
  });
  loop.run();
  return std::move(*outcome);
}

ExitStatus request(const cli::Parsed& parsed) {
  // The secret is in our environment and soon in our memory: neither is for a core file or a tracer.
  if (const auto locked = service::lock_down(); !locked) return say_unusable(locked.error());
  const std::string file = parsed.value("--request").value_or("-");
  if (file == "-" && parsed.value("--policy") == "-")
    return say_unusable(Error{"usage", "-", "standard input can be read once only", ""});
  auto policy = load_policy(parsed);
  if (!policy) return ExitStatus::kUsage;
  const auto bytes = read_document(file, kMaxRequest);
  if (!bytes) return say_unusable(bytes.error());

  auto described = egress::decode_request(*bytes, kMaxRequest);
  if (!described) return answer_no(parsed, described.error());
  const std::string origin = egress::render_origin(described->url.origin);
  auto judged = egress::judge_request(*policy, std::move(*described));
  if (!judged) return answer_no(parsed, judged.error(), origin);

  Loop loop;
  const auto transfers = egress::Transfers::make(loop, std::move(*policy), environment_value);
  if (!transfers) return say_unusable(transfers.error());
  const auto answer = perform(loop, *transfers, std::move(*judged));
  if (!answer) return answer_no(parsed, answer.error(), origin);
  Map map = {{"ok", true}};
  for (Member& member : egress::render_answer(*answer)) map.push_back(std::move(member));
  return answer_json(std::move(map));
}

}  // namespace

VerbRow request_verb() {
  VerbRow row{{}, request};
  row.declared.name = "request";
  row.declared.synopsis = "[flags] --policy FILE";
  row.declared.summary = "Perform one request; JSON in, JSON out.";
  row.declared.options = {{"--policy", "FILE", "what may be requested, and under which bounds"},
                          {"--request", "FILE", "the request; without it, standard input"},
                          {"--json", "", "say a no on standard output alone"}};
  row.declared.examples = {"loom-egress request --policy policy.json < request.json",
                           "loom-egress request --policy policy.json --request r.json | jq .body"};
  return row;
}

}  // namespace loom::egress_tool
