#include "wire/hello.h"

#include "base/version.h"
#include "wire/fields.h"

namespace loom {
namespace {

// A hello of another protocol is read as far as it is understood and not judged: what its other keys mean is not ours
// to say, and the receiver answers proto_mismatch with both numbers.
Hello read_foreign(const Value& body, std::uint64_t proto) {
  Hello message;
  message.proto = proto;
  if (const Value* peer = body.find("peer")) {
    if (const auto* text = peer->get_if<std::string>()) message.peer = *text;
  }
  return message;
}

}  // namespace

Value encode(const Hello& message) {
  return BodyWriter(3)
      .add("proto", message.proto)
      .add("peer", message.peer)
      .add("features", encode_texts(message.features))
      .done();
}

Result<Hello> decode_hello(const Value& body) {
  Fields fields("hello", body);
  Hello message;
  fields.count("proto", message.proto);
  if (fields.sound() && message.proto != kControlProto && message.proto != kCapProto)
    return read_foreign(body, message.proto);
  fields.text("peer", message.peer);
  fields.texts("features", message.features);
  return finish(fields, std::move(message));
}

}  // namespace loom
