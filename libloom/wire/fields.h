// Reading and writing the body of one message: every decoder of this folder is a list of these calls.
// Purpose: strictness in one place. Each key is asked for once; what was not asked for is unknown; the first fault wins
// and names the kind, the key and what is wrong, never a value. Ownership: a Fields borrows the body it reads. Carries
// out: spec/wire.md "Frame" (decoding refuses), "Faults".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "wire/stream.h"

namespace loom {

// What a duration on the wire may be, in milliseconds (31 years): sums of them stay inside a Duration.
inline constexpr std::uint64_t kMaxMilliseconds = 1'000'000'000'000;
inline constexpr std::size_t kMaxIdBytes = 128;                                       // op_id, step_id
inline constexpr std::uint64_t kMaxLimit = std::numeric_limits<std::int64_t>::max();  // as in a policy
inline constexpr std::uint32_t kMaxWindow = 65535;  // rows and columns: what a terminal can hold

// A key as a message may show it: whole characters, 64 bytes at most.
[[nodiscard]] std::string shown_key(std::string_view key);

struct CountRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

class Fields {
 public:
  // `place` leads the errors' place ("exec_start", "exec_start: /tty"). The second form may move long bytes out of the
  // body.
  Fields(std::string_view place, const Value& body, std::string_view code = "malformed_frame");
  Fields(std::string_view place, Value&& body, std::string_view code = "malformed_frame");

  [[nodiscard]] bool has(
      std::string_view key) const;  // for optional keys: if (fields.has("why")) fields.text("why", ...)

  void count(std::string_view key, std::uint64_t& out, CountRange range = {});
  void window(std::string_view key, std::uint32_t& out);  // rows, cols
  void integer(std::string_view key, std::int64_t& out);
  void flag(std::string_view key, bool& out);
  void text(std::string_view key, std::string& out);
  void sized_text(std::string_view key, std::string& out, std::size_t least, std::size_t most);  // in bytes
  void one_of(std::string_view key, std::string& out, std::initializer_list<std::string_view> words);
  void bytes(std::string_view key, std::string& out);
  void secret(std::string_view key, std::string& out);    // bytes, not empty
  void path(std::string_view key, std::string& out);      // text or bytes, no NUL
  void stream(std::string_view key, Stream& out);         // any of the three
  void output_stream(std::string_view key, Stream& out);  // stdout or stderr
  void map(std::string_view key, Value& out);
  void any(std::string_view key, Value& out);
  void texts(std::string_view key, std::vector<std::string>& out);
  void maps(std::string_view key, std::vector<Value>& out);
  void argv(std::string_view key, std::vector<std::string>& out);  // not empty; each as path
  void environment(std::string_view key, std::map<std::string, std::string>& out);
  // The value of a required key, or nullptr (the fault is noted).
  const Value* value(std::string_view key);

  void fault(std::string_view key, std::string what);  // noted unless there is one already
  void absorb(const Status& inner);                    // the fault of a part that was read by its own Fields
  [[nodiscard]] std::string place_of(std::string_view key) const;
  [[nodiscard]] std::string_view code() const { return code_; }
  [[nodiscard]] bool sound() const { return !fault_; }  // no fault so far
  // The first fault, or the first key nobody asked for.
  [[nodiscard]] Status finish();

 private:
  template <class T>
  const T* want(std::string_view key, std::string_view type);
  void text_list(std::string_view key, std::vector<std::string>& out, bool bytes_too);

  std::string place_;
  std::string_view code_;
  const Map* map_ = nullptr;
  Map* movable_ = nullptr;
  std::uint64_t asked_ = 0;  // a bit per member, of the first 64: no message has as many
  std::optional<Error> fault_;
};

// A body in the order of the tables.
class BodyWriter {
 public:
  explicit BodyWriter(std::size_t members) { map_.reserve(members); }
  BodyWriter& add(std::string_view key, Value value) {
    map_.emplace_back(key, std::move(value));
    return *this;
  }
  [[nodiscard]] Value done() { return Value(std::move(map_)); }

 private:
  Map map_;
};

[[nodiscard]] Value encode_texts(const std::vector<std::string>& texts);
[[nodiscard]] Value encode_paths(const std::vector<std::string>& paths);  // text, or bytes where they are not UTF-8
[[nodiscard]] Value encode_environment(const std::map<std::string, std::string>& env);

// A decoder's last line: `return finish(fields, std::move(message));`
template <class T>
[[nodiscard]] Result<T> finish(Fields& fields, T message) {
  LOOM_CHECK(fields.finish());
  return message;
}

}  // namespace loom
