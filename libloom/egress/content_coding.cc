#include "egress/content_coding.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "egress/headers.h"

namespace loom::egress {
namespace {

constexpr int kEither = 15 + 32;  // zlib's way to say: a gzip or a zlib header, whichever is there
constexpr int kRaw = -15;         // deflate without any, as some servers send it

class Inflater {
 public:
  explicit Inflater(int window) { ready_ = ::inflateInit2(&stream_, window) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready_) ::inflateEnd(&stream_);
  }

  // All of it, one member after the other.
  std::optional<std::string> run(std::string_view bytes, std::size_t max_bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    std::string all;
    while (ready_) {
      stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
      stream_.avail_out = static_cast<uInt>(piece_.size());
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      all.append(piece_.data(), piece_.size() - stream_.avail_out);
      if (all.size() > max_bytes) return std::nullopt;
      if (status == Z_STREAM_END && stream_.avail_in == 0) return all;
      if (status == Z_STREAM_END) ready_ = ::inflateReset(&stream_) == Z_OK;
      if (status != Z_STREAM_END && status != Z_OK) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
  std::array<char, 65536> piece_{};
};

}  // namespace

std::optional<std::string> undo_coding(const std::vector<std::string>& encodings, std::string_view body,
                                       std::size_t max_bytes) {
  if (encodings.empty() || body.empty()) return std::string(body);
  if (encodings.size() > 1) return std::nullopt;
  const std::string coding = lower_ascii(encodings.front());
  if (coding.empty() || coding == "identity") return std::string(body);
  if (coding != "gzip" && coding != "x-gzip" && coding != "deflate") return std::nullopt;
  if (auto whole = Inflater(kEither).run(body, max_bytes)) return whole;
  return coding == "deflate" ? Inflater(kRaw).run(body, max_bytes) : std::nullopt;
}

}  // namespace loom::egress
