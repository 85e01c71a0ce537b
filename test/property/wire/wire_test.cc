// What holds of the codec for every input: a message goes through unchanged, any bytes give a value or an error, and
// how bytes arrive never matters.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <tuple>
#include <vector>

#include "base/msgpack.h"
#include "test/property/wire/gen.h"
#include "test/support/property.h"
#include "test/support/wire_bodies.h"
#include "wire/frame.h"

namespace loom {
namespace {

using test::gen_bytes;
using test::gen_count;
using test::gen_text;
using test::gen_value;
using test::property;

Kind gen_kind() {
  return static_cast<Kind>(*rc::gen::inRange(0, kKindCount));
}
Channel gen_channel() {
  return *rc::gen::element(Channel::kExec, Channel::kControl, Channel::kCapability);
}

// Changes one place of a sound body: a value replaced, a member dropped, renamed or added.
Value mutate(Value body) {
  auto& map = *body.get_if<Map>();
  if (map.empty()) return body;
  auto& member = map[*rc::gen::inRange<std::size_t>(0, map.size())];
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      member.second = gen_value(3);
      break;
    case 1:
      member.first = gen_text();
      break;
    case 2:
      map.pop_back();
      break;
    default:
      map.emplace_back(gen_text(), gen_value(2));
      break;
  }
  return body;
}

TEST(WireProperties, AnyValueIsReadBackAsItWasWritten) {
  property("parse(render(value)) = value, sorted or not", [] {
    const Value value = gen_value(6);
    const auto read = parse_msgpack(render_msgpack(value));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == value);
    const auto sorted = parse_msgpack(render_msgpack_sorted(value));
    RC_ASSERT(sorted.has_value());
    RC_ASSERT(render_msgpack_sorted(*sorted) == render_msgpack_sorted(value));
  });
}

TEST(WireProperties, AnyBytesAreAValueOrAnErrorAndWhatIsAcceptedIsOneValue) {
  property("parse(bytes) is total", [] {
    const auto bytes = gen_bytes();
    const auto read = parse_msgpack(bytes);
    if (!read) {
      RC_ASSERT(!read.error().code.empty() && !read.error().what.empty());
    } else {
      RC_ASSERT(render_msgpack(*read).size() <= bytes.size());
    }
  });
}

TEST(WireProperties, ADamagedEncodingIsAValueOrAnError) {
  property("parse(damaged) is total", [] {
    std::string bytes = render_msgpack(gen_value(5));
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] = static_cast<char>(*rc::gen::arbitrary<std::uint8_t>());
    (void)parse_msgpack(bytes);
    RC_ASSERT(!parse_msgpack(render_msgpack(gen_value(3)) + "\xc0"));
    const std::string whole = render_msgpack(gen_value(5));
    RC_ASSERT(!parse_msgpack(std::string_view(whole).substr(0, whole.size() - 1)));
  });
}

TEST(WireProperties, AFrameIsReadBackAsItWasWritten) {
  property("decode(encode(frame)) = frame", [] {
    Map body;
    for (int i = *rc::gen::inRange(0, 6); i > 0; --i) body.emplace_back(gen_text() + std::to_string(i), gen_value(4));
    const Frame frame{gen_count(), "k" + gen_text(), Value(std::move(body))};
    const auto bytes = encode_frame(frame.id, frame.kind, frame.body);
    const auto read = decode_payload(std::string_view(bytes).substr(kFrameLengthBytes));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == frame);
    RC_ASSERT(encode_frame(read->id, read->kind, read->body) == bytes);
  });
}

TEST(WireProperties, ChunkingNeverMatters) {
  property("the deframer gives the same frames and the same end however its bytes are cut", [] {
    std::string stream;
    for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
      const auto kind = gen_kind();
      stream += encode_frame(gen_count(), to_text(kind), test::sample_bodies(gen_channel(), kind).front());
    }
    if (*rc::gen::arbitrary<bool>()) stream += gen_bytes();
    const auto run = [&stream](const std::vector<std::size_t>& cuts) {
      Deframer deframer;
      std::vector<Frame> frames;
      std::string end;
      std::size_t at = 0;
      const auto drain = [&] {
        while (true) {
          auto next = deframer.next();
          if (!next) end = next.error().text();
          if (!next || !next->has_value()) return;
          frames.push_back(**std::move(next));
        }
      };
      for (const auto cut : cuts) {
        if (at >= stream.size()) break;
        deframer.feed(std::string_view(stream).substr(at, cut));
        at += cut;
        drain();
      }
      if (at < stream.size()) deframer.feed(std::string_view(stream).substr(at));
      drain();
      return std::make_tuple(std::move(frames), end, deframer.buffered(), deframer.mid_frame());
    };
    const auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 40));
    RC_ASSERT(run(cuts) == run({}));
    RC_ASSERT(run(std::vector<std::size_t>(stream.size(), 1)) == run({}));
  });
}

TEST(WireProperties, AnyBodyIsAMessageOrAnErrorThatNamesItsKind) {
  property("decode(any body) is total and decode(encode(decode(x))) = decode(x)", [] {
    const auto kind = gen_kind();
    const auto channel = gen_channel();
    const auto samples = test::sample_bodies(channel, kind);
    Value body = samples[*rc::gen::inRange<std::size_t>(0, samples.size())];
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) body = mutate(std::move(body));
    const auto once = test::recode(channel, kind, body);
    if (!once) {
      RC_ASSERT(once.error().code == (kind == Kind::kClearCall ? "bad_request" : "malformed_frame"));
      RC_ASSERT(once.error().where.rfind(to_text(kind), 0) == 0U);
      return;
    }
    const auto twice = test::recode(channel, kind, *once);
    RC_ASSERT(twice.has_value());
    RC_ASSERT(*twice == *once);
  });
}

}  // namespace
}  // namespace loom
