// The lane for data and credit against the codec that everything else uses.
#include "wire/data_frame.h"

#include <gtest/gtest.h>

#include "test/property/wire/gen.h"
#include "test/support/property.h"
#include "wire/call_credit.h"
#include "wire/call_output.h"
#include "wire/call_stdin.h"
#include "wire/exec_credit.h"
#include "wire/exec_out.h"
#include "wire/exec_stdin.h"
#include "wire/frame.h"

namespace loom {
namespace {

using test::gen_bytes;
using test::gen_count;

bool flag() {
  return *rc::gen::arbitrary<bool>();
}
Stream output_stream() {
  return flag() ? Stream::kStdout : Stream::kStderr;
}
Stream any_stream() {
  return flag() ? Stream::kStdin : output_stream();
}
// Short, and over each boundary of a bin's header.
std::string gen_data() {
  if (flag()) return gen_bytes();
  return std::string(*rc::gen::element<std::size_t>(255, 256, 65535, 65536, 70000), 'x');
}
std::string_view payload_of(const std::string& frame) {
  return std::string_view(frame).substr(kFrameLengthBytes);
}

TEST(DataFrameProperties, OutputIsWrittenAndReadAsTheCodecDoes) {
  test::property("encode_output = encode_frame, and view_output reads it", [] {
    const bool exec = flag();
    const auto kind = exec ? Kind::kExecOut : Kind::kCallOutput;
    const auto id = gen_count();
    const ExecOut message{output_stream(), gen_data(), gen_count(), flag()};
    const auto frame = encode_output(kind, {id, message.stream, message.data, message.bytes, message.truncated});
    RC_ASSERT(frame == encode_frame(id, to_text(kind), encode(message)));
    const auto view = view_output(kind, payload_of(frame));
    RC_ASSERT(view.has_value());
    RC_ASSERT(view->id == id && view->stream == message.stream && view->data == message.data);
    RC_ASSERT(view->bytes == message.bytes && view->truncated == message.truncated);
    RC_ASSERT(!view_output(exec ? Kind::kCallOutput : Kind::kExecOut, payload_of(frame)));
  });
}

TEST(DataFrameProperties, InputIsWrittenAndReadAsTheCodecDoes) {
  test::property("encode_input = encode_frame, and view_input reads it", [] {
    const auto id = gen_count();
    const ExecStdin exec{gen_count(), gen_data(), flag()};
    const CallStdin call{exec.target, exec.data, exec.eof};
    const InputFrame input{id, exec.target, exec.data, exec.eof};
    for (const auto kind : {Kind::kExecStdin, Kind::kCallStdin}) {
      const auto frame = encode_input(kind, input);
      RC_ASSERT(frame == encode_frame(id, to_text(kind), kind == Kind::kExecStdin ? encode(exec) : encode(call)));
      const auto view = view_input(kind, payload_of(frame));
      RC_ASSERT(view.has_value());
      RC_ASSERT(view->id == id && view->target == exec.target && view->data == exec.data && view->eof == exec.eof);
    }
  });
}

TEST(DataFrameProperties, CreditIsWrittenAndReadAsTheCodecDoes) {
  test::property("encode_credit = encode_frame, and view_credit reads it", [] {
    const auto id = gen_count();
    const ExecCredit exec{gen_count(), any_stream(), gen_count()};
    const CallCredit call{exec.target, exec.stream, exec.upto};
    for (const auto kind : {Kind::kExecCredit, Kind::kCallCredit}) {
      const auto frame = encode_credit(kind, {id, exec.target, exec.stream, exec.upto});
      RC_ASSERT(frame == encode_frame(id, to_text(kind), kind == Kind::kExecCredit ? encode(exec) : encode(call)));
      const auto view = view_credit(kind, payload_of(frame));
      RC_ASSERT(view.has_value());
      RC_ASSERT(view->id == id && view->target == exec.target && view->stream == exec.stream &&
                view->upto == exec.upto);
    }
  });
}

// Whatever the lane takes the codec takes too, as the same message; it may take less, never more.
TEST(DataFrameProperties, WhatTheLaneTakesOfDamagedBytesTheCodecTakesAsTheSame) {
  test::property("view(damaged) is nothing, or what decode says", [] {
    auto frame = encode_output(Kind::kExecOut, {gen_count(), output_stream(), gen_bytes(), gen_count(), flag()});
    const auto at = *rc::gen::inRange<std::size_t>(kFrameLengthBytes, frame.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        frame[at] = static_cast<char>(*rc::gen::arbitrary<std::uint8_t>());
        break;
      case 1:
        frame.erase(at, 1);
        break;
      default:
        frame.insert(at, 1, static_cast<char>(*rc::gen::arbitrary<std::uint8_t>()));
    }
    const auto view = view_output(Kind::kExecOut, payload_of(frame));
    if (!view) return;
    const auto decoded = decode_payload(payload_of(frame));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(decoded->kind == "exec_out" && decoded->id == view->id);
    const auto message = decode_exec_out(decoded->body);
    RC_ASSERT(message.has_value());
    RC_ASSERT(*message == (ExecOut{view->stream, std::string(view->data), view->bytes, view->truncated}));
  });
}

TEST(DataFrameProperties, AnyBytesAreReadOrLeft) {
  test::property("view(bytes) is total", [] {
    const auto bytes = gen_bytes();
    (void)view_output(Kind::kExecOut, bytes);
    (void)view_input(Kind::kExecStdin, bytes);
    (void)view_credit(Kind::kCallCredit, bytes);
    const auto whole = encode_input(Kind::kExecStdin, {gen_count(), gen_count(), gen_bytes(), flag()});
    const auto cut = *rc::gen::inRange<std::size_t>(0, whole.size() - kFrameLengthBytes);
    RC_ASSERT(!view_input(Kind::kExecStdin, payload_of(whole).substr(0, cut)));
  });
}

}  // namespace
}  // namespace loom
