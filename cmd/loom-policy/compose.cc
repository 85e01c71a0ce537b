#include "policy/compose.h"

#include "cli/output.h"
#include "documents.h"
#include "options.h"
#include "policy/decode.h"
#include "verbs.h"

namespace loom::policy_tool {

namespace {

Array encoded(const std::vector<Narrowing>& narrowings) {
  Array list;
  for (const Narrowing& narrowing : narrowings) list.push_back(encode_narrowing(narrowing));
  return list;
}

Array encoded(const std::vector<Grant>& grants) {
  Array list;
  for (const Grant& grant : grants) list.push_back(encode_grant(grant));
  return list;
}

void say(const std::string& text) {
  cli::say(std::string(kTool) + ": " + cli::escape(text));
}

void say_narrowings(const Composed& composed) {
  for (const Narrowing& narrowing : composed.narrowings) {
    const std::string name = narrowing.kind + (narrowing.field.empty() ? "" : "." + narrowing.field);
    say("narrowed: " + name + ": wanted " + shown(narrowing.wanted) + ", granted " + shown(narrowing.granted));
  }
  std::string wanted;
  for (const Grant& grant : wanted_grants(composed.narrowings)) wanted += " --grant " + render_grant(grant);
  if (!wanted.empty()) cli::say("hint: what is missing would be given by" + cli::escape(wanted));
}

ExitStatus refuse(const cli::Parsed& parsed, const Composed& composed) {
  if (!parsed.has("--json")) say_narrowings(composed);
  const std::size_t count = composed.narrowings.size();
  const Error error{"policy_refused", "",
                    "refused: " + std::to_string(count) + (count == 1 ? " narrowing" : " narrowings"), ""};
  return say_no(
      parsed, error,
      {{"narrowings", encoded(composed.narrowings)}, {"wanted", encoded(wanted_grants(composed.narrowings))}});
}

ExitStatus answer_composed(const cli::Parsed& parsed, const Composed& composed) {
  if (parsed.has("--json") && !parsed.has("--msgpack"))
    return answer_json({{"ok", true},
                        {"digest", policy_digest(composed.policy)},
                        {"policy", encode_policy(composed.policy)},
                        {"narrowings", encoded(composed.narrowings)},
                        {"wanted", encoded(wanted_grants(composed.narrowings))}});
  say_narrowings(composed);
  return answer_document(parsed, composed.policy, parsed.has("--msgpack") ? Encoding::kMsgpack : Encoding::kJson);
}

}  // namespace

ExitStatus compose_files(const cli::Parsed& parsed) {
  const auto base = parsed.value("--base");
  const auto require = parsed.value("--require");
  if (!base || !require)
    return say_unusable(
        Error{"usage", base ? "--require" : "--base", "must be given", "see loom-policy compose --help"});
  std::vector<Grant> grants;
  for (const std::string& text : parsed.values("--grant")) {
    auto grant = parse_grant(text);
    if (!grant) return say_unusable(grant.error());
    grants.push_back(std::move(*grant));
  }
  ExitStatus status = ExitStatus::kOk;
  const auto both = load_two(parsed, *base, *require, status);
  if (!both) return status;
  const Composed composed = compose(both->first, both->second, grants);
  if (parsed.has("--refuse-narrowed") && !composed.narrowings.empty()) return refuse(parsed, composed);
  if (auto valid = validate_composed(composed.policy); !valid)
    return say_no(parsed, std::move(valid).error().context("the composed policy"));
  return answer_composed(parsed, composed);
}

}  // namespace loom::policy_tool
