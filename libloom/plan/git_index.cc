#include "plan/git_index.h"

#include <cstdint>

namespace loom {
namespace {

constexpr std::size_t kModeAt = 24;
constexpr std::size_t kBeforeObject = 40;
constexpr std::uint32_t kTypeMask = 0170000;
constexpr std::uint32_t kGitlink = 0160000;
constexpr std::uint32_t kDirectory = 0040000;  // of a sparse index: what lies below is not in it
constexpr std::uint16_t kExtended = 0x4000;
constexpr std::size_t kMostName = 4096;

std::uint32_t number(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

class Reader {
 public:
  Reader(std::string_view index, std::size_t object_bytes) : bytes_(index), object_(object_bytes) {}

  std::optional<std::vector<std::string>> read() {
    if (bytes_.size() < 12 + object_ || bytes_.substr(0, 4) != "DIRC") return std::nullopt;
    version_ = number(bytes_, 4, 4);
    if (version_ < 2 || version_ > 4) return std::nullopt;
    const std::uint32_t count = number(bytes_, 8, 4);
    end_ = bytes_.size() - object_;  // its own checksum
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!entry()) return std::nullopt;
    }
    return extensions() ? std::optional(std::move(links_)) : std::nullopt;
  }

 private:
  bool entry() {
    const std::size_t first = at_;
    std::size_t fixed = kBeforeObject + object_ + 2;
    if (end_ - at_ < fixed) return false;
    const std::uint32_t type = number(bytes_, at_ + kModeAt, 4) & kTypeMask;
    const bool extended = (number(bytes_, at_ + fixed - 2, 2) & kExtended) != 0;
    if (extended && version_ < 3) return false;
    if (extended) fixed += 2;
    if (end_ - at_ < fixed) return false;
    at_ += fixed;
    if (version_ == 4 && !take_prefix()) return false;
    const std::size_t nul = bytes_.find('\0', at_);
    if (nul == std::string_view::npos || nul >= end_) return false;
    if (version_ != 4) name_.clear();
    name_.append(bytes_.substr(at_, nul - at_));
    if (name_.empty() || name_.size() > kMostName || type == kDirectory) return false;
    at_ = nul + 1;
    if (version_ != 4) at_ = first + (nul - first + 8) / 8 * 8;
    if (at_ > end_) return false;
    if (type == kGitlink) links_.push_back(name_);
    return true;
  }

  // How much of the name before is not part of this one.
  bool take_prefix() {
    std::size_t dropped = 0;
    for (unsigned i = 0;; ++i) {
      if (at_ >= end_ || i > 4) return false;
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      dropped = dropped << 7U | (byte & 0x7fU);
      if ((byte & 0x80U) == 0) break;
      ++dropped;
    }
    if (dropped > name_.size()) return false;
    name_.resize(name_.size() - dropped);
    return true;
  }

  // "link" says that entries lie in another file, "sdir" that directories stand for theirs.
  bool extensions() {
    while (at_ < end_) {
      if (end_ - at_ < 8) return false;
      const std::string_view name = bytes_.substr(at_, 4);
      const std::size_t size = number(bytes_, at_ + 4, 4);
      if (name == "link" || name == "sdir" || size > end_ - at_ - 8) return false;
      at_ += 8 + size;
    }
    return true;
  }

  std::string_view bytes_;
  std::size_t object_;
  std::uint32_t version_ = 0;
  std::size_t at_ = 12;
  std::size_t end_ = 0;
  std::string name_;
  std::vector<std::string> links_;
};

}  // namespace

std::optional<std::vector<std::string>> gitlinks_of(std::string_view index) {
  // Nothing in it names the object format; what is read as the wrong one does not come out even.
  constexpr std::size_t kSha1 = 20;
  constexpr std::size_t kSha256 = 32;
  if (auto links = Reader(index, kSha1).read()) return links;
  return Reader(index, kSha256).read();
}

}  // namespace loom
