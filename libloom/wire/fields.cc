#include "wire/fields.h"

#include <algorithm>
#include <utility>

namespace loom {
namespace {

constexpr std::size_t kBits = 64;  // of Fields::asked_

std::string wrong_type(std::string_view want, const Value& got) {
  return "wrong type: want " + std::string(want) + ", got " + std::string(got.type_name());
}

bool holds_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

const std::string* text_or_bytes_of(const Value& value) {
  if (const auto* text = value.get_if<std::string>()) return text;
  if (const auto* binary = value.get_if<Binary>()) return &binary->bytes;
  return nullptr;
}

}  // namespace

std::string shown_key(std::string_view key) {
  constexpr std::size_t kShownAtMost = 64;
  std::string text(key.substr(0, kShownAtMost));
  while (!is_utf8(text)) text.pop_back();
  return text;
}

Fields::Fields(std::string_view place, const Value& body, std::string_view code)
    : place_(place), code_(code), map_(body.get_if<Map>()) {
  if (map_ == nullptr) fault_ = Error{std::string(code_), place_, wrong_type("map", body), ""};
}

Fields::Fields(std::string_view place, Value&& body, std::string_view code)
    : Fields(place, static_cast<const Value&>(body), code) {
  movable_ = body.get_if<Map>();
}

bool Fields::has(std::string_view key) const {
  return map_ != nullptr &&
         std::any_of(map_->begin(), map_->end(), [key](const Member& member) { return member.first == key; });
}

std::string Fields::place_of(std::string_view key) const {
  const auto* const joint = place_.find('/') == std::string::npos ? ": /" : "/";
  return place_ + joint + shown_key(key);
}

void Fields::fault(std::string_view key, std::string what) {
  if (!fault_) fault_ = Error{std::string(code_), place_of(key), std::move(what), ""};
}

void Fields::absorb(const Status& inner) {
  if (!inner && !fault_) fault_ = inner.error();
}

const Value* Fields::value(std::string_view key) {
  if (map_ == nullptr) return nullptr;
  for (std::size_t i = 0; i < map_->size(); ++i) {
    if ((*map_)[i].first != key) continue;
    if (i < kBits) asked_ |= std::uint64_t{1} << i;
    return &(*map_)[i].second;
  }
  fault(key, "missing key");
  return nullptr;
}

template <class T>
const T* Fields::want(std::string_view key, std::string_view type) {
  const Value* const found = value(key);
  if (found == nullptr) return nullptr;
  const T* const typed = found->get_if<T>();
  if (typed == nullptr) fault(key, wrong_type(type, *found));
  return typed;
}

void Fields::count(std::string_view key, std::uint64_t& out, CountRange range) {
  const Value* const found = value(key);
  if (found == nullptr) return;
  const auto* number = found->get_if<std::uint64_t>();
  if (number == nullptr) {
    fault(key, found->get_if<std::int64_t>() != nullptr ? "negative: want a count" : wrong_type("integer", *found));
  } else if (*number < range.least || *number > range.most) {
    fault(key, "out of range: want " + std::to_string(range.least) + ".." + std::to_string(range.most));
  } else {
    out = *number;
  }
}

void Fields::window(std::string_view key, std::uint32_t& out) {
  std::uint64_t number = 0;
  count(key, number, {0, kMaxWindow});
  out = static_cast<std::uint32_t>(number);
}

void Fields::integer(std::string_view key, std::int64_t& out) {
  const Value* const found = value(key);
  if (found == nullptr) return;
  if (const auto* negative = found->get_if<std::int64_t>()) {
    out = *negative;
    return;
  }
  const auto* number = found->get_if<std::uint64_t>();
  if (number == nullptr) {
    fault(key, wrong_type("integer", *found));
  } else if (*number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fault(key, "out of range: want less than 2^63");
  } else {
    out = static_cast<std::int64_t>(*number);
  }
}

void Fields::flag(std::string_view key, bool& out) {
  if (const auto* found = want<bool>(key, "boolean")) out = *found;
}

void Fields::text(std::string_view key, std::string& out) {
  if (const auto* found = want<std::string>(key, "text")) out = *found;
}

void Fields::sized_text(std::string_view key, std::string& out, std::size_t least, std::size_t most) {
  const auto* found = want<std::string>(key, "text");
  if (found == nullptr) return;
  if (found->size() < least || found->size() > most) {
    fault(key, "out of range: want " + std::to_string(least) + ".." + std::to_string(most) + " bytes");
  } else {
    out = *found;
  }
}

void Fields::one_of(std::string_view key, std::string& out, std::initializer_list<std::string_view> words) {
  const auto* found = want<std::string>(key, "text");
  if (found == nullptr) return;
  if (std::find(words.begin(), words.end(), *found) != words.end()) {
    out = *found;
    return;
  }
  std::string known;
  for (const auto word : words) known += (known.empty() ? "" : ", ") + std::string(word);
  fault(key, "unknown value: want one of " + known);
}

void Fields::bytes(std::string_view key, std::string& out) {
  const auto* found = want<Binary>(key, "bytes");
  if (found == nullptr) return;
  if (movable_ == nullptr) {
    out = found->bytes;
    return;
  }
  for (auto& member : *movable_) {
    if (member.first == key) out = std::move(member.second.get_if<Binary>()->bytes);
  }
}

void Fields::secret(std::string_view key, std::string& out) {
  bytes(key, out);
  if (out.empty()) fault(key, "empty: want bytes");
}

void Fields::path(std::string_view key, std::string& out) {
  const Value* const found = value(key);
  if (found == nullptr) return;
  const auto* text = text_or_bytes_of(*found);
  if (text == nullptr) {
    fault(key, wrong_type("text or bytes", *found));
  } else if (holds_nul(*text)) {
    fault(key, "holds a NUL");
  } else {
    out = *text;
  }
}

void Fields::stream(std::string_view key, Stream& out) {
  const auto* found = want<std::string>(key, "text");
  if (found != nullptr && !parse_stream(*found, out)) fault(key, "unknown value: want one of stdin, stdout, stderr");
}

void Fields::output_stream(std::string_view key, Stream& out) {
  const auto* found = want<std::string>(key, "text");
  if (found == nullptr) return;
  Stream stream = Stream::kStdin;
  if (!parse_stream(*found, stream) || stream == Stream::kStdin) {
    fault(key, "unknown value: want one of stdout, stderr");
  } else {
    out = stream;
  }
}

void Fields::map(std::string_view key, Value& out) {
  if (want<Map>(key, "map") != nullptr) out = *value(key);
}

void Fields::any(std::string_view key, Value& out) {
  if (const Value* found = value(key)) out = *found;
}

void Fields::text_list(std::string_view key, std::vector<std::string>& out, bool bytes_too) {
  const auto* list = want<Array>(key, "array");
  if (list == nullptr) return;
  out.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Value& element = (*list)[i];
    const auto* text = bytes_too ? text_or_bytes_of(element) : element.get_if<std::string>();
    const auto at = [&] { return std::string(key) + "/" + std::to_string(i); };
    if (text == nullptr) return fault(at(), wrong_type(bytes_too ? "text or bytes" : "text", element));
    if (bytes_too && holds_nul(*text)) return fault(at(), "holds a NUL");
    out.push_back(*text);
  }
}

void Fields::texts(std::string_view key, std::vector<std::string>& out) {
  text_list(key, out, false);
}

void Fields::argv(std::string_view key, std::vector<std::string>& out) {
  text_list(key, out, true);
  if (out.empty()) fault(key, "empty: want at least one element");
}

void Fields::maps(std::string_view key, std::vector<Value>& out) {
  const auto* list = want<Array>(key, "array");
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    if ((*list)[i].get_if<Map>() == nullptr) {
      return fault(std::string(key) + "/" + std::to_string(i), wrong_type("map", (*list)[i]));
    }
  }
  out = *list;
}

// A name of the environment is part of what a request must keep to itself: its faults name the entry by its number.
void Fields::environment(std::string_view key, std::map<std::string, std::string>& out) {
  const auto* map = want<Map>(key, "map");
  if (map == nullptr) return;
  for (std::size_t i = 0; i < map->size(); ++i) {
    const auto& [name, held] = (*map)[i];
    const auto entry = [&] { return "entry " + std::to_string(i) + ": "; };
    const auto* text = text_or_bytes_of(held);
    if (name.empty()) return fault(key, entry() + "an empty name");
    if (name.find('=') != std::string::npos) return fault(key, entry() + "a name that holds '='");
    if (holds_nul(name)) return fault(key, entry() + "a name that holds a NUL");
    if (text == nullptr) return fault(key, entry() + wrong_type("text or bytes", held));
    if (holds_nul(*text)) return fault(key, entry() + "a value that holds a NUL");
    out.emplace(name, *text);
  }
}

Status Fields::finish() {
  if (fault_) return fail(*std::move(fault_));
  for (std::size_t i = 0; i < map_->size(); ++i) {
    const bool asked = i < kBits && (asked_ >> i & 1U) != 0;
    if (!asked) return fail(std::string(code_), place_of((*map_)[i].first), "unknown key");
  }
  return {};
}

Value encode_texts(const std::vector<std::string>& texts) {
  return Value(Array(texts.begin(), texts.end()));
}

Value encode_paths(const std::vector<std::string>& paths) {
  Array array;
  array.reserve(paths.size());
  for (const auto& path : paths) array.push_back(text_or_bytes(path));
  return Value(std::move(array));
}

Value encode_environment(const std::map<std::string, std::string>& env) {
  Map map;
  map.reserve(env.size());
  for (const auto& [name, value] : env) map.emplace_back(name, text_or_bytes(value));
  return Value(std::move(map));
}

}  // namespace loom
