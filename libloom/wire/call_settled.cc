#include "wire/call_settled.h"

#include "wire/fields.h"

namespace loom {
namespace {

Value encode_failure(const CallFailure& failure) {
  return BodyWriter(2).add("kind", failure.kind).add("detail", failure.detail).done();
}

Result<CallFailure> decode_failure(const Value& body) {
  Fields fields("call_settled: /outcome/failed", body);
  CallFailure failure;
  fields.text("kind", failure.kind);
  fields.map("detail", failure.detail);
  return finish(fields, std::move(failure));
}

Status decode_outcome(const Value& outcome, CallSettled& message) {
  Fields fields("call_settled: /outcome", outcome);
  if (fields.has("exited") && fields.has("failed"))
    fields.fault("failed", "unexpected key beside exited: want one of the two");
  if (fields.has("failed")) {
    LOOM_TRY(message.failed, decode_failure(*fields.value("failed")));
  } else if (const Value* exited = fields.value("exited")) {
    auto decoded = decode_exec_exit(*exited);
    if (!decoded) return fail(std::move(decoded).error().context("call_settled: /outcome/exited"));
    message.exited = *std::move(decoded);
  }
  return fields.finish();
}

}  // namespace

Value encode(const CallSettled& message) {
  BodyWriter outcome(1);
  if (message.exited) outcome.add("exited", encode(*message.exited));
  if (message.failed) outcome.add("failed", encode_failure(*message.failed));
  return BodyWriter(2).add("outcome", outcome.done()).add("stopped_by", message.stopped_by).done();
}

Result<CallSettled> decode_call_settled(const Value& body) {
  Fields fields("call_settled", body);
  CallSettled message;
  Value outcome;
  fields.map("outcome", outcome);
  if (outcome.get_if<Map>() != nullptr) fields.absorb(decode_outcome(outcome, message));
  fields.one_of("stopped_by", message.stopped_by,
                {"none", "wall", "cpu", "deadline", "budget", "cancel", "abort", "caller_gone", "closing"});
  return finish(fields, std::move(message));
}

}  // namespace loom
