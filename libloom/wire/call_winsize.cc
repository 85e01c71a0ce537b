#include "wire/call_winsize.h"

#include "wire/fields.h"

namespace loom {

Value encode(const CallWinsize& message) {
  return BodyWriter(3).add("call", message.call).add("rows", message.rows).add("cols", message.cols).done();
}

Result<CallWinsize> decode_call_winsize(const Value& body) {
  Fields fields("call_winsize", body);
  CallWinsize message;
  fields.count("call", message.call);
  fields.window("rows", message.rows);
  fields.window("cols", message.cols);
  return finish(fields, message);
}

}  // namespace loom
