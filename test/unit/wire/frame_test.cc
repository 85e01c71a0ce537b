#include "wire/frame.h"

#include <gtest/gtest.h>

#include <string>

#include "base/msgpack.h"
#include "test/support/vectors.h"

namespace loom {
namespace {

std::string payload_of(const std::string& frame) {
  return frame.substr(kFrameLengthBytes);
}

std::string with_length(const std::string& payload) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame.push_back(static_cast<char>(payload.size() >> shift & 0xffU));
  return frame + payload;
}

Error fault_of(const Value& envelope) {
  const auto frame = decode_payload(render_msgpack(envelope));
  return frame ? Error{"accepted", "", "", ""} : frame.error();
}

Map sound() {
  return Map{{"v", 1}, {"id", 7}, {"kind", "heartbeat"}, {"body", Map{}}};
}

Value changed(std::string_view key, const Value& value) {
  Map map = sound();
  for (auto& member : map) {
    if (member.first == key) member.second = value;
  }
  return Value(std::move(map));
}

TEST(Frame, TheEnvelopeIsWrittenInTheOrderOfItsTableWhateverTheBody) {
  EXPECT_EQ(encode_frame(7, "heartbeat", Value(Map{})), with_length(render_msgpack(Value(sound()))));
}

TEST(Frame, TheMembersOfAnEnvelopeMayArriveInAnyOrder) {
  const Value turned(Map{{"body", Map{{"a", 1}}}, {"kind", "k"}, {"id", 3}, {"v", 1}});
  const auto frame = decode_payload(render_msgpack(turned));
  ASSERT_TRUE(frame);
  EXPECT_EQ(*frame, (Frame{3, "k", Value(Map{{"a", 1}})}));
}

TEST(Frame, EachMissingKeyIsNamed) {
  for (const auto* key : {"v", "id", "kind", "body"}) {
    Map map;
    for (auto& member : sound()) {
      if (member.first != key) map.push_back(member);
    }
    const auto error = fault_of(Value(map));
    EXPECT_EQ(error.code, "malformed_frame");
    EXPECT_EQ(error.where, "/" + std::string(key));
    EXPECT_EQ(error.what, "missing key");
  }
}

TEST(Frame, EachWrongTypeIsNamed) {
  for (const auto* key : {"v", "id", "kind", "body"}) {
    for (const Value& wrong : {Value(), Value(true), Value(-1), Value(1.0), Value(Array{}), Value(Binary{"x"})}) {
      const auto error = fault_of(changed(key, wrong));
      EXPECT_EQ(error.code, "malformed_frame");
      EXPECT_EQ(error.where, "/" + std::string(key)) << wrong.type_name();
    }
  }
}

TEST(Frame, AnUnknownKeyAndAnEmptyKindAreRefused) {
  Map map = sound();
  map.emplace_back("extra", Value());
  EXPECT_EQ(fault_of(Value(map)).where, "/extra");
  EXPECT_EQ(fault_of(changed("kind", Value(""))).what, "empty");
}

TEST(Frame, AnotherEnvelopeVersionIsSaidBeforeAnythingElseIsJudged) {
  EXPECT_EQ(fault_of(Value(Map{{"v", 2}, {"shape", "of tomorrow"}})).what, "unsupported envelope version 2: want 1");
}

TEST(Frame, AFaultInsideABodyNamesTheKeyAndNothingBelowIt) {
  const std::string payload = render_msgpack(Value(sound())).substr(0, 28) + std::string(
                                                                                 "\x81\xa3"
                                                                                 "env\x81\xa6"
                                                                                 "SECRET\xc1",
                                                                                 13);
  const auto frame = decode_payload(payload);
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().where, "/body/env");
  EXPECT_EQ(frame.error().text().find("SECRET"), std::string::npos);
}

TEST(Frame, NestingIsCountedFromThePayload) {
  const auto nested = [](int arrays) {
    Value value(Array{});
    for (int i = 1; i < arrays; ++i) value = Value(Array{value});
    return Value(Map{{"x", value}});
  };
  EXPECT_TRUE(decode_payload(payload_of(encode_frame(1, "k", nested(30)))));  // levels 3 to 32
  EXPECT_FALSE(decode_payload(payload_of(encode_frame(1, "k", nested(31)))));
}

TEST(Frame, EveryMalformedRowForTheHelperIsRefusedHereOrByItsBody) {
  int refused_here = 0;
  for (const auto& row : test::vector_rows("malformed.tsv", "helper")) {
    Deframer deframer;
    deframer.feed(row.bytes);
    const auto next = deframer.next();
    if (row.value.find("exec_") == 0) {
      EXPECT_TRUE(next && next->has_value()) << row.value << ": the envelope is sound, the body is not";
    } else if (row.value == "truncated length, then end of file") {
      EXPECT_TRUE(next && !next->has_value() && deframer.mid_frame());
    } else {
      ASSERT_FALSE(next) << row.value;
      EXPECT_EQ(next.error().code, "malformed_frame") << row.value;
      ++refused_here;
    }
  }
  EXPECT_EQ(refused_here, 15);
}

TEST(Frame, TheReasonOfEachMalformedRowIsTheRowsOwn) {
  const std::vector<std::pair<std::string, std::string>> reasons = {
      {"length over the cap", "length 16777217 over 16777216"},
      {"empty payload", "empty payload"},
      {"payload is not a map", "wrong type: the payload is no map but array"},
      {"envelope version 2", "/v: unsupported envelope version 2: want 1"},
      {"missing body", "/body: missing key"},
      {"unknown envelope key", "/x: unknown key"},
      {"duplicate envelope key", "duplicate key \"id\""},
      {"negative id", "/id: wrong type: want a count, got integer"},
      {"float id", "/id: wrong type: want a count, got number"},
      {"empty kind", "/kind: empty"},
      {"trailing byte after the map", "1 bytes follow the value"},
      {"array claims 2^32-1 elements in 5 bytes", "/body: a container claims more elements than bytes remain"},
      {"nesting of 64 arrays in body", "/body/x: nested deeper than 32 levels"},
      {"ext type", "/body: wrong type: an ext type"},
      {"never-used byte c1", "the never-used byte c1"},
  };
  const auto rows = test::vector_rows("malformed.tsv", "helper");
  for (const auto& [name, reason] : reasons) {
    bool found = false;
    for (const auto& row : rows) {
      if (row.value != name) continue;
      found = true;
      Deframer deframer;
      deframer.feed(row.bytes);
      const auto next = deframer.next();
      ASSERT_FALSE(next) << name;
      EXPECT_EQ(next.error().text(), reason) << name;
    }
    EXPECT_TRUE(found) << "the table has no row " << name;
  }
}

TEST(Deframer, FramesComeOutTheSameOneByteAtATimeAndAllAtOnce) {
  std::string stream;
  for (const auto& row : test::vector_rows("wire.tsv", "frame")) stream += row.bytes;
  const auto frames_of = [&stream](std::size_t chunk) {
    Deframer deframer;
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < stream.size(); at += chunk) {
      deframer.feed(std::string_view(stream).substr(at, chunk));
      while (true) {
        auto next = deframer.next();
        if (!next || !next->has_value()) break;
        frames.push_back(**std::move(next));
      }
    }
    EXPECT_FALSE(deframer.mid_frame());
    EXPECT_EQ(deframer.buffered(), 0U);
    return frames;
  };
  const auto whole = frames_of(stream.size());
  EXPECT_EQ(whole.size(), test::vector_rows("wire.tsv", "frame").size());
  for (const std::size_t chunk : {1U, 3U, 64U}) EXPECT_EQ(frames_of(chunk), whole) << chunk;
}

TEST(Deframer, AnErrorIsAnsweredForEverAndNothingIsHeldAfterIt) {
  Deframer deframer;
  deframer.feed(test::from_hex("01000001"));
  const auto first = deframer.next();
  ASSERT_FALSE(first);
  deframer.feed(encode_frame(1, "heartbeat", Value(Map{})));
  const auto second = deframer.next();
  ASSERT_FALSE(second);
  EXPECT_EQ(first.error(), second.error());
  EXPECT_EQ(deframer.buffered(), 0U);
  EXPECT_FALSE(deframer.mid_frame());
}

TEST(Deframer, ALengthOverTheCapIsRefusedAsSoonAsItsFourBytesAreThere) {
  Deframer deframer;
  deframer.feed(test::from_hex("010000"));
  EXPECT_TRUE(deframer.next());
  deframer.feed(test::from_hex("01"));
  EXPECT_FALSE(deframer.next());
}

TEST(Deframer, AFrameOfExactlyTheCapIsAFrame) {
  const std::size_t around = encode_frame(1, "k", Value(Map{{"data", Binary{std::string(70000, 'x')}}})).size() - 70000;
  const std::string data(kMaxFrameBytes + kFrameLengthBytes - around, 'x');
  const auto frame = encode_frame(1, "k", Value(Map{{"data", Binary{data}}}));
  ASSERT_EQ(frame.size(), kMaxFrameBytes + kFrameLengthBytes);
  EXPECT_TRUE(fits_frame(frame));
  EXPECT_FALSE(fits_frame(frame + "x"));
  Deframer deframer;
  deframer.feed(frame);
  const auto next = deframer.next();
  ASSERT_TRUE(next && next->has_value());
  EXPECT_EQ((*next)->body, Value(Map{{"data", Binary{data}}}));
}

TEST(Deframer, BytesOfAnUnfinishedFrameAreKnownToBeThere) {
  Deframer deframer;
  EXPECT_FALSE(deframer.mid_frame());
  const auto frame = encode_frame(1, "heartbeat", Value(Map{}));
  deframer.feed(frame + frame.substr(0, 2));
  EXPECT_TRUE(deframer.next()->has_value());
  EXPECT_FALSE(deframer.next()->has_value());
  EXPECT_TRUE(deframer.mid_frame());
  EXPECT_EQ(deframer.buffered(), 2U);
}

}  // namespace
}  // namespace loom
