#include "wire/exec_exit.h"

#include "wire/fields.h"

namespace loom {

Value encode(const ExecExit& message) {
  return BodyWriter(11)
      .add("code", message.code)
      .add("signal", message.signal)
      .add("stdout_bytes", message.stdout_bytes)
      .add("stderr_bytes", message.stderr_bytes)
      .add("stdout_truncated", message.stdout_truncated)
      .add("stderr_truncated", message.stderr_truncated)
      .add("enforcement", encode_texts(message.enforcement))
      .add("degraded", message.degraded)
      .add("wall_ms", message.wall_ms)
      .add("timed_out", message.timed_out)
      .add("cancelled", message.cancelled)
      .done();
}

Result<ExecExit> decode_exec_exit(const Value& body) {
  Fields fields("exec_exit", body);
  ExecExit message;
  fields.integer("code", message.code);
  fields.integer("signal", message.signal);
  fields.count("stdout_bytes", message.stdout_bytes);
  fields.count("stderr_bytes", message.stderr_bytes);
  fields.flag("stdout_truncated", message.stdout_truncated);
  fields.flag("stderr_truncated", message.stderr_truncated);
  fields.texts("enforcement", message.enforcement);
  fields.flag("degraded", message.degraded);
  fields.count("wall_ms", message.wall_ms);
  fields.flag("timed_out", message.timed_out);
  fields.flag("cancelled", message.cancelled);
  return finish(fields, std::move(message));
}

}  // namespace loom
