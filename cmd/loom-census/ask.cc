#include "ask.h"

#include "base/version.h"
#include "os/fds.h"
#include "os/socket.h"
#include "service/questions.h"
#include "wire/frame.h"
#include "wire/hello.h"
#include "wire/kinds.h"

namespace loom::census {

using service::AnswerReader;
using service::kPatience;

Result<broker::Census> ask_broker(const std::string& socket) {
  LOOM_TRY(const UniqueFd fd, connect_unix(socket, kPatience));
  AnswerReader frames(fd.get(), socket);
  LOOM_TRY(const Frame greeting, frames.expect(Kind::kHello));
  LOOM_TRY(const Hello hello, decode_hello(greeting.body));
  LOOM_CHECK(service::same_protocol(socket, "loom-census", "control", hello.proto, kControlProto));
  const Hello ours{kControlProto, "loom-census/" + std::string(kVersion), {}};
  LOOM_CHECK(write_all(
      fd.get(),
      encode_frame(1, to_text(Kind::kHello), encode(ours)) + encode_frame(2, to_text(Kind::kCensus), Value(Map{})),
      socket));
  LOOM_TRY(const Frame answer, frames.expect(Kind::kOk));
  auto census = broker::decode_census(answer.body);
  if (!census) return fail(std::move(census).error().context(socket));
  return census;
}

}  // namespace loom::census
