#include "wire/data_frame.h"

#include <array>
#include <cstring>

#include "wire/frame.h"

namespace loom {
namespace {

// Everything of such a frame but its data and the kind's name is shorter than this.
constexpr std::size_t kAround = 128;

constexpr std::string_view kBeforeId = "\x84\xa1v\x01\xa2id";
constexpr std::string_view kBeforeKind = "\xa4kind";
constexpr std::string_view kBeforeBody =
    "\xa4"
    "body";
constexpr char kMapOf = '\x80';
constexpr char kTextOf = '\xa0';

std::string_view target_key(Kind kind) {
  const bool control = kind == Kind::kCallStdin || kind == Kind::kCallCredit;
  return control ? "\xa4"
                   "call"
                 : "\xa6target";
}

// Writes forms of msgpack that are known to be short, in place.
class Writer {
 public:
  Writer() = default;
  Writer(Kind kind, std::uint64_t id, char members) {
    literal(kBeforeId);
    count(id);
    literal(kBeforeKind);
    text(to_text(kind));
    literal(kBeforeBody);
    byte(static_cast<char>(kMapOf | members));
  }
  void literal(std::string_view bytes) {
    std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void byte(char c) { *at_++ = c; }
  void text(std::string_view text) {
    byte(static_cast<char>(kTextOf | static_cast<char>(text.size())));
    literal(text);
  }
  void flag(bool on) { byte(on ? '\xc3' : '\xc2'); }
  void count(std::uint64_t n) {
    if (n < 0x80) return byte(static_cast<char>(n));
    if (n <= 0xff) return wide('\xcc', n, 1);
    if (n <= 0xffff) return wide('\xcd', n, 2);
    if (n <= 0xffffffff) return wide('\xce', n, 4);
    wide('\xcf', n, 8);
  }
  void bytes_header(std::size_t n) {
    if (n <= 0xff) return wide('\xc4', n, 1);
    if (n <= 0xffff) return wide('\xc5', n, 2);
    wide('\xc6', n, 4);
  }
  [[nodiscard]] std::string_view written() const {
    return {buffer_.data(), static_cast<std::size_t>(at_ - buffer_.data())};
  }

 private:
  void wide(char lead, std::uint64_t n, int width) {
    byte(lead);
    for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) byte(static_cast<char>(n >> shift & 0xffU));
  }
  std::array<char, kAround> buffer_;  // not cleared: only what was written is read
  char* at_ = buffer_.data();
};

std::string joined(const Writer& front, std::string_view data, const Writer& tail) {
  const std::size_t length = front.written().size() + data.size() + tail.written().size();
  std::string out;
  out.reserve(kFrameLengthBytes + length);
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(length >> shift & 0xffU));
  out.append(front.written());
  out.append(data);
  out.append(tail.written());
  return out;
}

class Reader {
 public:
  Reader(std::string_view payload, Kind kind, char members) : rest_(payload) {
    literal(kBeforeId);
    id_ = count();
    literal(kBeforeKind);
    const auto name = to_text(kind);
    byte(static_cast<char>(kTextOf | static_cast<char>(name.size())));
    literal(name);
    literal(kBeforeBody);
    byte(static_cast<char>(kMapOf | members));
  }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  // Everything was as it had to be, and nothing is left.
  [[nodiscard]] bool whole() const { return sound_ && rest_.empty(); }

  void literal(std::string_view want) { accept(rest_.substr(0, want.size()) == want, want.size()); }
  void byte(char want) { accept(!rest_.empty() && rest_.front() == want, 1); }
  [[nodiscard]] bool flag() {
    const bool on = !rest_.empty() && rest_.front() == '\xc3';
    accept(on || (!rest_.empty() && rest_.front() == '\xc2'), 1);
    return on;
  }
  [[nodiscard]] std::uint64_t count() {
    const int lead = take_byte();
    if (lead < 0x80) return static_cast<std::uint64_t>(lead);
    switch (lead) {
      case 0xcc:
        return wide(1, 0x7f);
      case 0xcd:
        return wide(2, 0xff);
      case 0xce:
        return wide(4, 0xffff);
      case 0xcf:
        return wide(8, 0xffffffff);
    }
    sound_ = false;
    return 0;
  }
  [[nodiscard]] std::string_view bytes() {
    std::uint64_t size = 0;
    switch (take_byte()) {
      case 0xc4:
        size = wide(1, 0, true);
        break;
      case 0xc5:
        size = wide(2, 0xff);
        break;
      case 0xc6:
        size = wide(4, 0xffff);
        break;
      default:
        sound_ = false;
    }
    const std::string_view data = rest_.substr(0, size);
    accept(data.size() == size, size);
    return data;
  }
  [[nodiscard]] Stream stream(bool output_only) {
    Stream stream = Stream::kStdout;
    const auto size = static_cast<std::size_t>(take_byte()) - static_cast<unsigned char>(kTextOf);
    const std::string_view name = rest_.substr(0, size > 6 ? 0 : size);
    accept(parse_stream(name, stream) && !(output_only && stream == Stream::kStdin), name.size());
    return stream;
  }

 private:
  void accept(bool as_expected, std::size_t size) {
    if (as_expected && sound_) {
      rest_.remove_prefix(size);
    } else {
      sound_ = false;
      rest_ = {};
    }
  }
  int take_byte() {
    const int got = rest_.empty() ? 0 : static_cast<unsigned char>(rest_.front());
    accept(!rest_.empty(), 1);
    return got;
  }
  // A number of `width` bytes that would not have fitted the next shorter form.
  std::uint64_t wide(std::size_t width, std::uint64_t shorter_holds, bool any = false) {
    if (rest_.size() < width) {
      accept(false, 0);
      return 0;
    }
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < width; ++i) n = n << 8U | static_cast<unsigned char>(rest_[i]);
    accept(any || n > shorter_holds, width);
    return n;
  }

  std::string_view rest_;
  std::uint64_t id_ = 0;
  bool sound_ = true;
};

}  // namespace

std::string encode_output(Kind kind, const OutputFrame& frame) {
  Writer front(kind, frame.id, 4);
  front.literal("\xa6stream");
  front.text(to_text(frame.stream));
  front.literal(
      "\xa4"
      "data");
  front.bytes_header(frame.data.size());
  Writer tail;
  tail.literal(
      "\xa5"
      "bytes");
  tail.count(frame.bytes);
  tail.literal("\xa9truncated");
  tail.flag(frame.truncated);
  return joined(front, frame.data, tail);
}

std::string encode_input(Kind kind, const InputFrame& frame) {
  Writer front(kind, frame.id, 3);
  front.literal(target_key(kind));
  front.count(frame.target);
  front.literal(
      "\xa4"
      "data");
  front.bytes_header(frame.data.size());
  Writer tail;
  tail.literal(
      "\xa3"
      "eof");
  tail.flag(frame.eof);
  return joined(front, frame.data, tail);
}

std::string encode_credit(Kind kind, const CreditFrame& frame) {
  Writer front(kind, frame.id, 3);
  front.literal(target_key(kind));
  front.count(frame.target);
  front.literal("\xa6stream");
  front.text(to_text(frame.stream));
  front.literal("\xa4upto");
  front.count(frame.upto);
  return joined(front, {}, Writer());
}

std::optional<OutputFrame> view_output(Kind kind, std::string_view payload) {
  Reader reader(payload, kind, 4);
  OutputFrame frame;
  frame.id = reader.id();
  reader.literal("\xa6stream");
  frame.stream = reader.stream(true);
  reader.literal(
      "\xa4"
      "data");
  frame.data = reader.bytes();
  reader.literal(
      "\xa5"
      "bytes");
  frame.bytes = reader.count();
  reader.literal("\xa9truncated");
  frame.truncated = reader.flag();
  if (!reader.whole()) return std::nullopt;
  return frame;
}

std::optional<InputFrame> view_input(Kind kind, std::string_view payload) {
  Reader reader(payload, kind, 3);
  InputFrame frame;
  frame.id = reader.id();
  reader.literal(target_key(kind));
  frame.target = reader.count();
  reader.literal(
      "\xa4"
      "data");
  frame.data = reader.bytes();
  reader.literal(
      "\xa3"
      "eof");
  frame.eof = reader.flag();
  if (!reader.whole()) return std::nullopt;
  return frame;
}

std::optional<CreditFrame> view_credit(Kind kind, std::string_view payload) {
  Reader reader(payload, kind, 3);
  CreditFrame frame;
  frame.id = reader.id();
  reader.literal(target_key(kind));
  frame.target = reader.count();
  reader.literal("\xa6stream");
  frame.stream = reader.stream(false);
  reader.literal("\xa4upto");
  frame.upto = reader.count();
  if (!reader.whole()) return std::nullopt;
  return frame;
}

}  // namespace loom
