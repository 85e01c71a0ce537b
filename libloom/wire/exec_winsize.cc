#include "wire/exec_winsize.h"

#include "wire/fields.h"

namespace loom {

Value encode(const ExecWinsize& message) {
  return BodyWriter(3).add("target", message.target).add("rows", message.rows).add("cols", message.cols).done();
}

Result<ExecWinsize> decode_exec_winsize(const Value& body) {
  Fields fields("exec_winsize", body);
  ExecWinsize message;
  fields.count("target", message.target);
  fields.window("rows", message.rows);
  fields.window("cols", message.cols);
  return finish(fields, message);
}

}  // namespace loom
