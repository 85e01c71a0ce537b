#include "wire/call_spec.h"

#include "wire/fields.h"
#include "wire/tty_size.h"

namespace loom {
namespace {

constexpr std::string_view kCode = "bad_request";

Value encode_budget(const CallBudget& budget) {
  return BodyWriter(2).add("max_outstanding", budget.max_outstanding).add("deadline_ms", budget.deadline_ms).done();
}

Status read_budget(const Value& body, CallBudget& budget) {
  Fields fields("clear_call: /budget", body, kCode);
  if (fields.has("max_outstanding")) fields.count("max_outstanding", budget.max_outstanding, {.least = 1});
  if (fields.has("deadline_ms")) fields.count("deadline_ms", budget.deadline_ms, {0, kMaxMilliseconds});
  return fields.finish();
}

// {kind, value}, and `field` for a limit: nothing else.
Status check_grants(const std::vector<Value>& grants) {
  for (std::size_t i = 0; i < grants.size(); ++i) {
    Fields fields("clear_call: /grants/" + std::to_string(i), grants[i], kCode);
    std::string kind;
    std::string field;
    Value value;
    fields.text("kind", kind);
    if (kind == "limit") fields.text("field", field);
    fields.any("value", value);
    LOOM_CHECK(fields.finish());
  }
  return {};
}

// What the command is and where it starts.
void read_command(Fields& fields, CallSpec& spec) {
  fields.sized_text("op_id", spec.op_id, 1, kMaxIdBytes);
  fields.sized_text("step_id", spec.step_id, 1, kMaxIdBytes);
  fields.argv("argv", spec.argv);
  if (fields.has("env")) fields.environment("env", spec.env);
  if (fields.has("cwd")) fields.path("cwd", spec.cwd.emplace());
}

// What it may do and how strictly that is meant.
void read_authority(Fields& fields, CallSpec& spec) {
  if (fields.has("requirements")) fields.map("requirements", spec.requirements.emplace());
  if (fields.has("grants")) fields.maps("grants", spec.grants);
  fields.absorb(check_grants(spec.grants));
  if (fields.has("narrowed")) fields.one_of("narrowed", spec.narrowed, {"refuse", "proceed"});
  if (fields.has("demand")) fields.one_of("demand", spec.demand, {"full", "platform", "best_effort"});
  if (fields.has("why")) fields.one_of("why", spec.why.emplace(), {"calls", "paths"});
}

// How long, how many, and what it is connected to.
void read_terms(Fields& fields, CallSpec& spec) {
  if (fields.has("budget")) fields.absorb(read_budget(*fields.value("budget"), spec.budget));
  if (fields.has("waiting_ms")) fields.count("waiting_ms", spec.waiting_ms, {0, kMaxMilliseconds});
  if (fields.has("deadline_ms")) fields.count("deadline_ms", spec.deadline_ms, {0, kMaxMilliseconds});
  if (fields.has("stdin")) fields.flag("stdin", spec.wants_stdin);
  if (fields.has("session")) fields.one_of("session", spec.session, {"no", "log", "wire"});
  if (fields.has("caps")) fields.texts("caps", spec.caps);
  if (fields.has("caller")) fields.text("caller", spec.caller);
  if (fields.has("tty")) fields.absorb(read_tty_size(fields, spec.tty.emplace()));
}

}  // namespace

Value encode(const CallSpec& spec) {
  const CallSpec defaults;
  BodyWriter body(18);
  body.add("op_id", spec.op_id).add("step_id", spec.step_id).add("argv", encode_paths(spec.argv));
  if (!spec.env.empty()) body.add("env", encode_environment(spec.env));
  if (spec.cwd) body.add("cwd", text_or_bytes(*spec.cwd));
  if (spec.requirements) body.add("requirements", *spec.requirements);
  if (!spec.grants.empty()) body.add("grants", Array(spec.grants));
  if (spec.narrowed != defaults.narrowed) body.add("narrowed", spec.narrowed);
  if (spec.demand != defaults.demand) body.add("demand", spec.demand);
  if (spec.why) body.add("why", *spec.why);
  if (!(spec.budget == defaults.budget)) body.add("budget", encode_budget(spec.budget));
  if (spec.waiting_ms != defaults.waiting_ms) body.add("waiting_ms", spec.waiting_ms);
  if (spec.deadline_ms != defaults.deadline_ms) body.add("deadline_ms", spec.deadline_ms);
  if (spec.wants_stdin != defaults.wants_stdin) body.add("stdin", spec.wants_stdin);
  if (spec.session != defaults.session) body.add("session", spec.session);
  if (!spec.caps.empty()) body.add("caps", encode_texts(spec.caps));
  if (!spec.caller.empty()) body.add("caller", spec.caller);
  if (spec.tty) body.add("tty", encode_tty_size(*spec.tty));
  return body.done();
}

Result<CallSpec> decode_call_spec(const Value& body) {
  Fields fields("clear_call", body, kCode);
  CallSpec spec;
  read_command(fields, spec);
  read_authority(fields, spec);
  read_terms(fields, spec);
  return finish(fields, std::move(spec));
}

}  // namespace loom
