#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

namespace loom {

namespace {

using Json = nlohmann::ordered_json;

std::string pointer_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

// Builds the Value from events. SAX rather than the library's own tree, because only key() sees a key that is there
// twice.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, std::size_t max_depth) : text_(text), max_depth_(max_depth) {}

  bool null() override { return put(Value()); }
  bool boolean(bool v) override { return put(Value(v)); }
  bool number_integer(number_integer_t v) override { return put(Value(v)); }
  bool number_unsigned(number_unsigned_t v) override { return put(Value(v)); }
  bool number_float(number_float_t, const string_t& token) override {
    if (token.find_first_of(".eE") != string_t::npos)
      return refuse("wrong_type", "wrong type: want an integer without exponent or fraction");
    if (token.front() == '-') return refuse("integer_too_small", "integer is below -2^63");
    return refuse("integer_too_large", "integer is over 2^64-1");
  }
  bool string(string_t& v) override { return put(Value(std::move(v))); }
  bool binary(binary_t&) override { return refuse("wrong_type", "wrong type: JSON has no bytes"); }
  bool start_object(std::size_t) override { return open(Value(Map())); }
  bool start_array(std::size_t) override { return open(Value(Array())); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    const bool fresh = levels_.back().seen.insert(name).second;
    levels_.back().key = std::move(name);
    return fresh || refuse("duplicate_key", "the key is there twice");
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    const std::string_view before = text_.substr(0, std::min(position > 0 ? position - 1 : 0, text_.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;
    error_ = Error{"not_canonical_json", "",
                   std::string(complete_ ? "something follows the document" : "not JSON") + " at line " +
                       std::to_string(line) + ", column " + std::to_string(column),
                   ""};
    return false;
  }

  Result<Value> take() && {
    if (!error_.code.empty()) return fail(std::move(error_));
    return std::move(root_);
  }

 private:
  struct Level {
    Value container;
    std::string key;  // of the member that is being read, for maps
    std::unordered_set<std::string> seen;
  };

  bool refuse(std::string code, std::string what) {
    error_ = Error{std::move(code), here(), std::move(what), ""};
    return false;
  }
  [[nodiscard]] std::string here() const {
    std::string path;
    for (const auto& level : levels_) {
      const auto* array = level.container.get_if<Array>();
      path += '/' + (array != nullptr ? std::to_string(array->size()) : pointer_token(level.key));
    }
    return path;
  }
  bool put(Value v) {
    if (levels_.empty()) {
      root_ = std::move(v);
      complete_ = true;
    } else if (auto* array = levels_.back().container.get_if<Array>()) {
      array->push_back(std::move(v));
    } else {
      levels_.back().container.get_if<Map>()->emplace_back(std::move(levels_.back().key), std::move(v));
      levels_.back().key.clear();
    }
    return true;
  }
  bool open(Value container) {
    if (levels_.size() == max_depth_)
      return refuse("nesting", "nested deeper than " + std::to_string(max_depth_) + " levels");
    levels_.push_back(Level{std::move(container), {}, {}});
    return true;
  }
  bool close() {
    Value done = std::move(levels_.back().container);
    levels_.pop_back();
    return put(std::move(done));
  }

  std::string_view text_;
  std::size_t max_depth_;
  std::vector<Level> levels_;
  Value root_;
  bool complete_ = false;
  Error error_;
};

Json bytes_object(const std::string& bytes) {
  return Json{{"bytes", encode_base64(bytes)}};
}

Json to_json(const Value& value) {
  struct Convert {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(bool v) const { return v; }
    Json operator()(std::uint64_t v) const { return v; }
    Json operator()(std::int64_t v) const { return v; }
    Json operator()(double v) const { return v; }
    Json operator()(const std::string& v) const { return is_utf8(v) ? Json(v) : bytes_object(v); }
    Json operator()(const Binary& v) const { return bytes_object(v.bytes); }
    Json operator()(const Array& v) const {
      Json array = Json::array();
      for (const auto& element : v) array.push_back(to_json(element));
      return array;
    }
    Json operator()(const Map& v) const {
      Json object = Json::object();
      // dump() throws on a key that is not UTF-8; such a key is shown with its bytes as \xHH instead.
      // Appended below the library's own lookup, which is linear in the members: keys are unique already.
      std::vector<Json::object_t::value_type>& members = object.get_ref<Json::object_t&>();
      for (const auto& [name, member] : v) members.emplace_back(key_text(name), to_json(member));
      return object;
    }
    static std::string key_text(const std::string& name) {
      if (is_utf8(name)) return name;
      std::string text;
      for (const char c : name)
        text += (static_cast<unsigned char>(c) < 0x80) ? std::string(1, c) : "\\x" + to_hex({&c, 1});
      return text;
    }
  };
  return std::visit(Convert{}, value.data());
}

}  // namespace

Result<Value> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    return fail("document_too_large", "", "the document is over " + std::to_string(limits.max_bytes) + " bytes");
  if (text.substr(0, 3) == "\xef\xbb\xbf")
    return fail("not_canonical_json", "", "a byte-order mark begins the document");
  if (text.find('\0') != std::string_view::npos) return fail("not_canonical_json", "", "the document holds a NUL byte");
  Builder builder(text, limits.max_depth);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).take();
}

std::string render_json(const Value& value) {
  return to_json(value).dump();
}

std::string render_json_pretty(const Value& value) {
  return to_json(value).dump(2);
}

}  // namespace loom
