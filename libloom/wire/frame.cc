#include "wire/frame.h"

#include <utility>

#include "base/msgpack.h"
#include "base/version.h"
#include "wire/fields.h"

namespace loom {
namespace {

// What an empty deframer keeps for the next bytes: one large frame must not stay allocated for as long as its peer
// does.
constexpr std::size_t kKeptCapacity = 1U << 20U;

tl::unexpected<Error> malformed(std::string where, std::string what) {
  return fail("malformed_frame", std::move(where), std::move(what));
}

// The place within a frame, two steps deep ("/body/env"): below that the names are the caller's.
std::string short_place(const std::string& place) {
  const auto second = place.find('/', 1);
  if (second == std::string::npos) return place;
  return place.substr(0, place.find('/', second + 1));
}

Status check_version(const Value& envelope) {
  const Value* const version = envelope.find("v");
  if (version == nullptr) return malformed("/v", "missing key");
  const auto* number = version->get_if<std::uint64_t>();
  if (number == nullptr) {
    return malformed("/v", "wrong type: want a count, got " + std::string(version->type_name()));
  }
  if (*number != kEnvelopeVersion) {
    return malformed(
        "/v", "unsupported envelope version " + std::to_string(*number) + ": want " + std::to_string(kEnvelopeVersion));
  }
  return {};
}

// One member other than v into its place.
Status take_member(Member& member, Frame& frame) {
  auto& [key, value] = member;
  if (key == "id") {
    const auto* id = value.get_if<std::uint64_t>();
    if (id == nullptr) return malformed("/id", "wrong type: want a count, got " + std::string(value.type_name()));
    frame.id = *id;
  } else if (key == "kind") {
    auto* kind = value.get_if<std::string>();
    if (kind == nullptr) return malformed("/kind", "wrong type: want text, got " + std::string(value.type_name()));
    if (kind->empty()) return malformed("/kind", "empty");
    frame.kind = std::move(*kind);
  } else if (key == "body") {
    if (value.get_if<Map>() == nullptr) {
      return malformed("/body", "wrong type: want map, got " + std::string(value.type_name()));
    }
    frame.body = std::move(value);
  } else if (key != "v") {
    return malformed("/" + shown_key(key), "unknown key");
  }
  return {};
}

std::size_t read_length(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kFrameLengthBytes; ++i) length = length << 8U | static_cast<unsigned char>(bytes[i]);
  return length;
}

void write_length(std::string& frame) {
  const std::size_t length = frame.size() - kFrameLengthBytes;
  for (std::size_t i = 0; i < kFrameLengthBytes; ++i) {
    frame[i] = static_cast<char>(length >> (8 * (kFrameLengthBytes - 1 - i)) & 0xffU);
  }
}

}  // namespace

std::string encode_frame(std::uint64_t id, std::string_view kind, const Value& body, std::size_t body_bytes) {
  constexpr std::size_t kEnvelopeRoom = 128;
  std::string out;
  if (body_bytes != 0) out.reserve(kEnvelopeRoom + body_bytes);
  out.resize(kFrameLengthBytes);
  append_msgpack_map(out, 4);
  append_msgpack_text(out, "v");
  append_msgpack_count(out, kEnvelopeVersion);
  append_msgpack_text(out, "id");
  append_msgpack_count(out, id);
  append_msgpack_text(out, "kind");
  append_msgpack_text(out, kind);
  append_msgpack_text(out, "body");
  append_msgpack(out, body);
  write_length(out);
  return out;
}

Result<Frame> decode_payload(std::string_view payload) {
  if (payload.empty()) return malformed("", "empty payload");
  auto envelope = parse_msgpack(payload, {.max_bytes = kMaxFrameBytes});
  if (!envelope) {
    const Error& error = envelope.error();
    return malformed(short_place(error.where), error.what);
  }
  auto* members = envelope->get_if<Map>();
  if (members == nullptr) {
    return malformed("", "wrong type: the payload is no map but " + std::string(envelope->type_name()));
  }
  LOOM_CHECK(check_version(*envelope));
  for (const auto* key : {"id", "kind", "body"}) {
    if (envelope->find(key) == nullptr) return malformed("/" + std::string(key), "missing key");
  }
  Frame frame;
  for (auto& member : *members) LOOM_CHECK(take_member(member, frame));
  return frame;
}

void Deframer::feed(std::string_view bytes) {
  if (fault_) return;
  if (start_ == buffer_.size()) {
    buffer_.clear();
    start_ = 0;
  } else if (start_ > buffer_.size() / 2) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
  buffer_.append(bytes);
}

Result<std::optional<Frame>> Deframer::next() {
  if (fault_) return fail(*fault_);
  const std::string_view held = std::string_view(buffer_).substr(start_);
  if (held.size() < kFrameLengthBytes) return std::optional<Frame>();
  const std::size_t length = read_length(held);
  if (length > kMaxFrameBytes) {
    return give_up(
        {"malformed_frame", "", "length " + std::to_string(length) + " over " + std::to_string(kMaxFrameBytes), ""});
  }
  if (held.size() - kFrameLengthBytes < length) return std::optional<Frame>();
  auto frame = decode_payload(held.substr(kFrameLengthBytes, length));
  if (!frame) return give_up(std::move(frame).error());
  start_ += kFrameLengthBytes + length;
  if (start_ == buffer_.size() && buffer_.capacity() > kKeptCapacity) {
    buffer_ = std::string();
    start_ = 0;
  }
  return std::optional<Frame>(*std::move(frame));
}

tl::unexpected<Error> Deframer::give_up(Error error) {
  fault_ = std::move(error);
  buffer_ = std::string();
  start_ = 0;
  return fail(*fault_);
}

bool Deframer::mid_frame() const {
  return start_ < buffer_.size();
}
std::size_t Deframer::buffered() const {
  return buffer_.size() - start_;
}

}  // namespace loom
