#include "base/msgpack.h"

#include <algorithm>
#include <exception>
#include <msgpack.hpp>
#include <optional>
#include <vector>

namespace loom {
namespace {

// Beyond this many members a map's keys are compared once, sorted, when it ends: quadratic work is for small maps only.
constexpr std::size_t kCompareEachKeyUpTo = 24;
// No claim of a peer allocates more than this ahead of the bytes that prove it.
constexpr std::uint32_t kReserveAtMost = 64;
constexpr std::size_t kKeyShownAtMost = 64;

std::string shown_key(std::string_view key) {
  std::string shown;
  for (const char c : key.substr(0, kKeyShownAtMost)) {
    if (c == '~') {
      shown += "~0";
    } else if (c == '/') {
      shown += "~1";
    } else {
      shown += c;
    }
  }
  while (!is_utf8(shown)) shown.pop_back();  // the cut may have split a character
  return shown;
}

// What a container's header takes beyond its first byte, in the smallest form that holds the count.
std::uint64_t header_tail(std::uint32_t count) {
  if (count < 16) return 0;
  return count <= 0xffff ? 2 : 4;
}

std::optional<std::string> find_duplicate(const Map& map) {
  std::vector<std::string_view> keys;
  keys.reserve(map.size());
  for (const auto& member : map) keys.emplace_back(member.first);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return std::nullopt;
  return std::string(*twice);
}

// Builds a Value from msgpack-c's events. Pointers in open_ stay good because a container is only appended to while
// every container above it waits.
class Builder : public msgpack::null_visitor {
 public:
  Builder(std::size_t size, const MsgpackLimits& limits)
      : size_(size), max_depth_(limits.max_depth), max_values_(limits.max_values) {
    open_.reserve(8);
  }

  bool visit_nil() { return place(Value()); }
  bool visit_boolean(bool v) { return place(Value(v)); }
  bool visit_positive_integer(std::uint64_t v) { return place(Value(v)); }
  bool visit_negative_integer(std::int64_t v) { return place(Value(v)); }
  bool visit_float32(float v) { return place(Value(static_cast<double>(v))); }
  bool visit_float64(double v) { return place(Value(v)); }
  bool visit_str(const char* v, std::uint32_t size) {
    const std::string_view text(v, size);
    if (!is_utf8(text)) return stop("malformed", "text that is not UTF-8");
    needed_ += size;
    if (in_key_) return begin_member(text);
    return place(Value(text));
  }
  bool visit_bin(const char* v, std::uint32_t size) {
    needed_ += size;
    return place(Value(Binary{std::string(v, size)}));
  }
  bool visit_ext(const char* /*v*/, std::uint32_t /*size*/) { return stop("wrong_type", "wrong type: an ext type"); }

  bool start_array(std::uint32_t count) { return open(Value(Array()), count, count); }
  bool end_array() { return close(); }
  bool start_map(std::uint32_t count) { return open(Value(Map()), count, std::uint64_t{count} * 2); }
  bool start_map_key() {
    in_key_ = true;
    return true;
  }
  bool end_map() {
    const auto& map = *open_.back()->get_if<Map>();
    if (map.size() > kCompareEachKeyUpTo) {
      in_key_ = true;  // the fault is the map's, not its last member's
      if (const auto key = find_duplicate(map)) return duplicate(*key);
      in_key_ = false;
    }
    return close();
  }

  void parse_error(std::size_t /*at*/, std::size_t /*end*/) {  // the only byte that begins nothing
    stop("malformed", "the never-used byte c1");
  }
  void insufficient_bytes(std::size_t /*at*/, std::size_t /*end*/) { stop("truncated", "ends inside a value"); }

  [[nodiscard]] Value take_root() { return std::move(root_); }
  [[nodiscard]] Error take_fault() { return fault_ ? std::move(*fault_) : Error{"malformed", "", "not msgpack", ""}; }

 private:
  bool stop(std::string code, std::string what) {
    if (!fault_) fault_ = Error{std::move(code), where(), std::move(what), ""};
    return false;
  }
  bool duplicate(std::string_view key) { return stop("duplicate_key", "duplicate key \"" + shown_key(key) + "\""); }

  // The place of the value being read, as a pointer.
  [[nodiscard]] std::string where() const {
    std::string path;
    for (const auto* container : open_) {
      if (const auto* map = container->get_if<Map>()) {
        if (in_key_ && container == open_.back()) break;
        path += "/" + shown_key(map->back().first);
      } else if (const auto* array = container->get_if<Array>()) {
        const bool waiting = container != open_.back();
        path += "/" + std::to_string(waiting ? array->size() - 1 : array->size());
      }
    }
    return path;
  }

  bool begin_member(std::string_view key) {
    auto& map = *open_.back()->get_if<Map>();
    if (map.size() < kCompareEachKeyUpTo) {
      for (const auto& member : map) {
        if (member.first == key) return duplicate(key);
      }
    }
    in_key_ = false;
    map.emplace_back(std::string(key), Value());
    return true;
  }

  // Where the next value goes; nullptr when a key was due.
  Value* slot() {
    if (in_key_) {
      stop("wrong_type", "wrong type: want a text key");
      return nullptr;
    }
    if (open_.empty()) return &root_;
    if (auto* map = open_.back()->get_if<Map>()) return &map->back().second;
    auto& array = *open_.back()->get_if<Array>();
    return &array.emplace_back();
  }
  bool place(Value&& value) {
    Value* const target = slot();
    if (target == nullptr) return false;
    *target = std::move(value);
    return true;
  }

  bool open(Value&& container, std::uint32_t count, std::uint64_t values) {
    if (open_.size() >= max_depth_) {
      return stop("nesting", "nested deeper than " + std::to_string(max_depth_) + " levels");
    }
    needed_ += values + header_tail(count);  // each value takes one byte or more
    if (needed_ > size_) return stop("malformed", "a container claims more elements than bytes remain");
    claimed_ += values;
    if (claimed_ > max_values_) return stop("too_many_values", "more than " + std::to_string(max_values_) + " values");
    Value* const target = slot();
    if (target == nullptr) return false;
    *target = std::move(container);
    const auto reserved = std::min(count, kReserveAtMost);
    if (auto* map = target->get_if<Map>()) {
      map->reserve(reserved);
    } else {
      target->get_if<Array>()->reserve(reserved);
    }
    open_.push_back(target);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::size_t size_;
  std::size_t max_depth_;
  std::size_t max_values_;
  std::uint64_t claimed_ = 1;  // values seen and claimed so far
  std::uint64_t needed_ = 1;   // bytes that the values seen and claimed so far take at the least
  bool in_key_ = false;
  Value root_;
  std::vector<Value*> open_;
  std::optional<Error> fault_;
};

}  // namespace

Result<Value> parse_msgpack(std::string_view bytes, const MsgpackLimits& limits) {
  if (bytes.size() > limits.max_bytes) {
    return fail("document_too_large", "",
                std::to_string(bytes.size()) + " bytes, over the limit of " + std::to_string(limits.max_bytes));
  }
  if (bytes.empty()) return fail("truncated", "", "empty: want one msgpack value");
  Builder builder(bytes.size(), limits);
  std::size_t consumed = 0;
  try {
    if (!msgpack::parse(bytes.data(), bytes.size(), consumed, builder)) return fail(builder.take_fault());
  } catch (const std::exception&) {  // msgpack-c throws on an ext length it cannot hold
    return fail("wrong_type", "", "wrong type: an ext type");
  }
  if (consumed != bytes.size()) {
    return fail("trailing_bytes", "", std::to_string(bytes.size() - consumed) + " bytes follow the value");
  }
  return builder.take_root();
}

}  // namespace loom
