// check: would a request be allowed, and by which rule? The judge of a real request, stopped before the network.
#include <utility>

#include "cli/output.h"
#include "documents.h"
#include "egress/judge.h"
#include "egress/secrets.h"
#include "environment.h"
#include "options.h"
#include "service/daemon.h"
#include "verbs.h"

namespace loom::egress_tool {
namespace {

ExitStatus say_refused(const cli::Parsed& parsed, const egress::Failure& failure, const std::string& about) {
  if (parsed.has("--json")) return answer_no(parsed, failure, about);
  Error error = egress::to_error(failure);
  error.where = about;
  cli::say_error(kTool, error);
  const std::string reason = egress::failure_reason(failure);
  const ExitStatus printed = cli::answer(
      kTool, "refused: " + std::string(egress::failure_code(failure)) + (reason.empty() ? "" : " " + reason) + "\n");
  return printed == ExitStatus::kOk ? ExitStatus::kNo : printed;
}

// The request as the flags describe it: the same value that a document decodes to.
egress::Outcome<egress::Request> described(const cli::Parsed& parsed) {
  auto url = egress::parse_url(*parsed.value("--url"), egress::Schemes::kHttpsOnly);
  if (!url) return egress::refuse(std::move(url).error());
  egress::Request request;
  request.url = std::move(*url);
  request.method = parsed.value("--method").value_or("GET");
  request.credential = parsed.value("--credential");
  for (const std::string& name : parsed.values("--header")) {
    if (!egress::is_token(name))
      return egress::refuse(egress::HeaderRefused{name.substr(0, 64), egress::HeaderFault::kNotAToken},
                            egress::Stage::kRequest);
    request.headers.push_back({name, ""});
  }
  return request;
}

// What a request goes through before the lookup: the judge, and the secret's presence.
egress::Outcome<egress::Judged> judge(const egress::EgressPolicy& policy, egress::Request request) {
  auto judged = egress::judge_request(policy, std::move(request));
  if (!judged || !judged->credential) return judged;
  const auto secret = egress::read_secret(*policy.find_secret(*judged->credential), environment_value);
  if (!secret) return egress::refuse(secret.error());
  return judged;
}

ExitStatus check(const cli::Parsed& parsed) {
  if (const auto locked = service::lock_down(); !locked) return say_unusable(locked.error());
  if (!parsed.has("--url"))
    return say_unusable(Error{"usage", "--url", "must be given", "see loom-egress check --help"});
  const auto policy = load_policy(parsed);
  if (!policy) return ExitStatus::kUsage;
  auto request = described(parsed);
  if (!request) return say_refused(parsed, request.error(), "--url");
  const std::string origin = egress::render_origin(request->url.origin);
  const auto judged = judge(*policy, std::move(*request));
  if (!judged) return say_refused(parsed, judged.error(), origin);
  const std::string rule = egress::render_rule({egress::RuleKind::kOrigins, judged->entry});
  if (!parsed.has("--json")) return cli::answer(kTool, "allowed: " + rule + "\n");
  return answer_json({{"ok", true},
                      {"rule", rule},
                      {"origin", origin},
                      {"method", egress::render_method(judged->method)},
                      {"path", judged->url.path}});
}

}  // namespace

VerbRow check_verb() {
  VerbRow row{{}, check};
  row.declared.name = "check";
  row.declared.synopsis = "[flags] --policy FILE --url URL";
  row.declared.summary = "Would a request be allowed, and by which rule?";
  row.declared.options = {{"--policy", "FILE", "what may be requested, and under which bounds"},
                          {"--url", "URL", "where the request would go"},
                          {"--method", "METHOD", "how; GET without it"},
                          {"--credential", "NAME", "the credential that would ride with it"},
                          {"--header", "NAME", "a header that it would have", true},
                          {"--json", "", "one line of JSON"}};
  row.declared.examples = {"loom-egress check --policy policy.json --url https://api.test/v1/x",
                           "loom-egress check --policy p.json --url https://api.test/v1/ --method PUT"};
  return row;
}

}  // namespace loom::egress_tool
