#include "wire/exec_hello.h"

#include "base/version.h"
#include "wire/fields.h"

namespace loom {
namespace {

// A hello of another protocol is read as far as it is understood and not judged: what its other keys mean is not ours
// to say, and the receiver answers proto_mismatch with both numbers.
ExecHello read_foreign(const Value& body, std::uint64_t proto) {
  ExecHello message;
  message.proto = proto;
  if (const Value* peer = body.find("peer")) {
    if (const auto* text = peer->get_if<std::string>()) message.peer = *text;
  }
  return message;
}

}  // namespace

Value encode(const ExecHello& message) {
  return BodyWriter(4)
      .add("proto", message.proto)
      .add("peer", message.peer)
      .add("features", encode_texts(message.features))
      .add("capacity", message.capacity)
      .done();
}

Result<ExecHello> decode_exec_hello(const Value& body) {
  Fields fields("hello", body);
  ExecHello message;
  fields.count("proto", message.proto);
  if (fields.sound() && message.proto != kExecProto) return read_foreign(body, message.proto);
  fields.text("peer", message.peer);
  fields.texts("features", message.features);
  fields.count("capacity", message.capacity, {0, kMaxCapacity});
  return finish(fields, std::move(message));
}

}  // namespace loom
