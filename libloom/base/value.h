// The one value both encodings decode to: JSON for people and files, msgpack for the wire and digests.
// Purpose: a decoder of foreign bytes is written once, over Value, and gives the same error for either encoding.
// Ownership: a Value owns everything below it. Maps keep the order they arrived in; keys are unique (the adapters
// refuse duplicates before a Value exists). Carries out: spec/policy.md "Decoding", spec/wire.md "Frame".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace loom {

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;
using Map = std::vector<Member>;

// Bytes that travel as msgpack bin (and as {"bytes": base64} in JSON output).
struct Binary {
  std::string bytes;
  friend bool operator==(const Binary& a, const Binary& b) { return a.bytes == b.bytes; }
};

class Value {
 public:
  // A count is std::uint64_t; std::int64_t holds negative numbers only, so that each integer has one form.
  using Data = std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string, Binary, Array, Map>;

  Value() = default;
  Value(bool v) : data_(v) {}                           // NOLINT(google-explicit-constructor)
  Value(std::uint64_t v) : data_(v) {}                  // NOLINT(google-explicit-constructor)
  Value(std::uint32_t v) : data_(std::uint64_t{v}) {}   // NOLINT(google-explicit-constructor)
  Value(std::int64_t v) : data_(from_signed(v)) {}      // NOLINT(google-explicit-constructor)
  Value(int v) : data_(from_signed(v)) {}               // NOLINT(google-explicit-constructor)
  Value(double v) : data_(v) {}                         // NOLINT(google-explicit-constructor)
  Value(std::string v) : data_(std::move(v)) {}         // NOLINT(google-explicit-constructor)
  Value(std::string_view v) : data_(std::string(v)) {}  // NOLINT(google-explicit-constructor)
  Value(const char* v) : data_(std::string(v)) {}       // NOLINT(google-explicit-constructor)
  Value(Binary v) : data_(std::move(v)) {}              // NOLINT(google-explicit-constructor)
  Value(Array v) : data_(std::move(v)) {}               // NOLINT(google-explicit-constructor)
  Value(Map v) : data_(std::move(v)) {}                 // NOLINT(google-explicit-constructor)

  [[nodiscard]] const Data& data() const { return data_; }
  template <class T>
  [[nodiscard]] const T* get_if() const {
    return std::get_if<T>(&data_);
  }
  template <class T>
  [[nodiscard]] T* get_if() {
    return std::get_if<T>(&data_);
  }
  [[nodiscard]] bool is_nil() const { return std::holds_alternative<std::monostate>(data_); }

  // The member of a map, or nullptr (also when this is no map).
  [[nodiscard]] const Value* find(std::string_view key) const;
  // "map", "array", "text", "bytes", "integer", "number", "boolean", "nil": the words errors use.
  [[nodiscard]] std::string_view type_name() const;

  friend bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }
  friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }

 private:
  static Data from_signed(std::int64_t v) { return v >= 0 ? Data(static_cast<std::uint64_t>(v)) : Data(v); }
  Data data_;
};

// Text when the bytes are valid UTF-8, else Binary: how argv, env values, cwd and paths travel (spec/wire.md).
[[nodiscard]] Value text_or_bytes(std::string bytes);
[[nodiscard]] bool is_utf8(std::string_view bytes);

}  // namespace loom
