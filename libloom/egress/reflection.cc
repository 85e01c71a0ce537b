#include "egress/reflection.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace loom::egress {

namespace {

constexpr std::size_t kShortest = 8;
constexpr std::string_view kMark = "[secret]";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The lengths of what means the byte `want` at the beginning of `text`: as it is, percent-escaped, JSON-escaped.
std::vector<std::size_t> spellings(std::string_view text, char want) {
  std::vector<std::size_t> lengths;
  if (text.empty()) return lengths;
  if (text[0] == want || (text[0] == '+' && want == ' ')) lengths.push_back(1);
  const auto is_hex_pair = [&](std::size_t at) {
    if (text.size() < at + 2) return false;
    const int high = hex_value(text[at]);
    const int low = hex_value(text[at + 1]);
    return high >= 0 && low >= 0 && static_cast<char>(high * 16 + low) == want;
  };
  if (text[0] == '%' && is_hex_pair(1)) lengths.push_back(3);
  if (text[0] != '\\' || text.size() < 2) return lengths;
  if (text[1] == want || (text[1] == 't' && want == '\t')) lengths.push_back(2);
  if (text.substr(1, 3) == "u00" && is_hex_pair(4)) lengths.push_back(6);
  return lengths;
}

// How long the secret is at the beginning of `text`, in whatever mixture of spellings (0: it is not there). All places
// where a spelling of its first bytes may end are followed at once: a '%' may be itself or begin an escape.
std::size_t escaped_at(std::string_view text, std::string_view secret) {
  std::vector<std::size_t> ends = {0};
  for (const char want : secret) {
    std::vector<std::size_t> next;
    for (const std::size_t end : ends) {
      for (const std::size_t length : spellings(text.substr(end), want)) next.push_back(end + length);
    }
    if (next.empty()) return 0;
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    ends = std::move(next);
  }
  return ends.back();
}

// The characters of base64 that depend on the secret alone when it begins `offset` bytes into a group of three.
std::string stable_base64(std::string_view secret, std::size_t offset) {
  const std::string encoded = encode_base64(std::string(offset, '\0') + std::string(secret));
  const std::size_t first = (offset * 8 + 5) / 6;
  const std::size_t last = (offset + secret.size()) * 8 / 6;
  return encoded.substr(first, last - first);
}

char standard_alphabet(char c) {
  if (c == '-') return '+';
  return c == '_' ? '/' : c;
}

std::size_t base64_at(std::string_view text, std::string_view want) {
  if (text.size() < want.size()) return 0;
  const bool same =
      std::equal(want.begin(), want.end(), text.begin(), [](char a, char b) { return a == standard_alphabet(b); });
  return same ? want.size() : 0;
}

}  // namespace

Reflection::Reflection(std::string_view secret) {
  if (secret.size() < kShortest) return;
  secret_ = std::string(secret);
  for (std::size_t offset = 0; offset < 3; ++offset) base64_.push_back(stable_base64(secret, offset));
  const auto begins = [this](char c) { begins_[static_cast<unsigned char>(c)] = true; };
  for (const char c : {secret.front(), '%', '\\'}) begins(c);
  if (secret.front() == ' ') begins('+');
  for (const std::string& form : base64_) {
    begins(form.front());
    if (form.front() == '+') begins('-');
    if (form.front() == '/') begins('_');
  }
}

Reflection::Reflection(Reflection&& other) noexcept {
  *this = std::move(other);
}

Reflection& Reflection::operator=(Reflection&& other) noexcept {
  if (this == &other) return *this;
  forget();
  secret_ = other.secret_;
  begins_ = other.begins_;
  base64_ = std::move(other.base64_);
  other.forget();
  return *this;
}

Reflection::~Reflection() {
  forget();
}

void Reflection::forget() {
  wipe(secret_);
  for (std::string& form : base64_) wipe(form);
  base64_.clear();
  begins_ = {};
}

Reflection::Match Reflection::find(std::string_view text, std::size_t from) const {
  for (std::size_t at = from; at < text.size() && !secret_.empty(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])]) continue;
    if (const std::size_t length = escaped_at(text.substr(at), secret_); length > 0) return {at, length};
    for (const std::string& form : base64_) {
      if (const std::size_t length = base64_at(text.substr(at), form); length > 0) return {at, length};
    }
  }
  return {};
}

bool Reflection::found_in(std::string_view bytes) const {
  return find(bytes, 0).length > 0;
}

std::string Reflection::scrub(std::string_view text) const {
  std::string clean;
  std::size_t from = 0;
  for (Match match = find(text, 0); match.length > 0; match = find(text, from)) {
    clean += text.substr(from, match.at - from);
    clean += kMark;
    from = match.at + match.length;
  }
  return clean + std::string(text.substr(from));
}

}  // namespace loom::egress
