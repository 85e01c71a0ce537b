#include "wire/exec_start.h"

#include "wire/fields.h"
#include "wire/tty_size.h"

namespace loom {
namespace {

// The six ceilings; a field that is left out leaves the policy's, as 0 does.
Status check_limits(const Value& limits) {
  Fields fields("exec_start: /limits", limits);
  std::uint64_t ceiling = 0;
  for (const auto* key : {"cpu_s", "wall_s", "mem_bytes", "pids", "fsize_bytes", "output_bytes"}) {
    if (fields.has(key)) fields.count(key, ceiling, {0, kMaxLimit});
  }
  return fields.finish();
}

}  // namespace

Value encode(const ExecStart& message) {
  BodyWriter body(9);
  body.add("argv", encode_paths(message.argv));
  body.add("env", encode_environment(message.env));
  body.add("cwd", text_or_bytes(message.cwd));
  body.add("token", Binary{message.token});
  if (message.policy) body.add("policy", *message.policy);
  if (message.limits) body.add("limits", *message.limits);
  if (message.demand) body.add("demand", *message.demand);
  if (message.why) body.add("why", *message.why);
  if (message.tty) body.add("tty", encode_tty_size(*message.tty));
  return body.done();
}

Result<ExecStart> decode_exec_start(const Value& body) {
  Fields fields("exec_start", body);
  ExecStart message;
  fields.argv("argv", message.argv);
  fields.environment("env", message.env);
  fields.path("cwd", message.cwd);
  fields.secret("token", message.token);
  if (fields.has("policy")) fields.map("policy", message.policy.emplace());
  if (fields.has("limits")) {
    fields.map("limits", message.limits.emplace());
    fields.absorb(check_limits(*message.limits));
  }
  if (fields.has("demand")) fields.one_of("demand", message.demand.emplace(), {"full", "platform", "best_effort"});
  if (fields.has("why")) fields.one_of("why", message.why.emplace(), {"calls", "paths"});
  if (fields.has("tty")) fields.absorb(read_tty_size(fields, message.tty.emplace()));
  return finish(fields, std::move(message));
}

}  // namespace loom
