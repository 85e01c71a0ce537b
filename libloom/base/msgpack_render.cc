// The other half of the msgpack-c adapter: values to bytes.
#include <algorithm>
#include <cstring>
#include <msgpack.hpp>
#include <vector>

#include "base/msgpack.h"

namespace loom {
namespace {

struct Appender {
  std::string* out;
  // NOLINTNEXTLINE(readability-make-member-function-const): msgpack-c takes its address as a non-const member
  void write(const char* data, std::size_t size) { out->append(data, size); }
};
using Packer = msgpack::packer<Appender>;

// By hand: msgpack-c writes a double without a fraction as an integer.
void write_double(Appender& appender, double number) {
  std::uint64_t bits = 0;
  static_assert(sizeof bits == sizeof number);
  std::memcpy(&bits, &number, sizeof bits);
  std::string form = "\xcb";
  for (int shift = 56; shift >= 0; shift -= 8) form.push_back(static_cast<char>(bits >> shift & 0xffU));
  appender.write(form.data(), form.size());
}

void pack_text(Packer& packer, std::string_view text) {
  packer.pack_str(static_cast<std::uint32_t>(text.size()));
  packer.pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
}

// One writer for both orders of map members.
class Writer {
 public:
  Writer(std::string& out, bool sorted) : appender_{&out}, packer_(appender_), sorted_(sorted) {}
  void write(const Value& value) { std::visit(*this, value.data()); }

  void operator()(std::monostate) { packer_.pack_nil(); }
  void operator()(bool v) { v ? packer_.pack_true() : packer_.pack_false(); }
  void operator()(std::uint64_t v) { packer_.pack_uint64(v); }
  void operator()(std::int64_t v) { packer_.pack_int64(v); }
  void operator()(double v) { write_double(appender_, v); }
  void operator()(const std::string& v) { pack_text(packer_, v); }
  void operator()(const Binary& v) {
    packer_.pack_bin(static_cast<std::uint32_t>(v.bytes.size()));
    packer_.pack_bin_body(v.bytes.data(), static_cast<std::uint32_t>(v.bytes.size()));
  }
  void operator()(const Array& v) {
    packer_.pack_array(static_cast<std::uint32_t>(v.size()));
    for (const auto& element : v) write(element);
  }
  void operator()(const Map& v) {
    packer_.pack_map(static_cast<std::uint32_t>(v.size()));
    if (!sorted_) {
      for (const auto& member : v) write_member(member);
      return;
    }
    std::vector<const Member*> members;
    members.reserve(v.size());
    for (const auto& member : v) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](const Member* a, const Member* b) { return a->first < b->first; });
    for (const auto* member : members) write_member(*member);
  }

 private:
  void write_member(const Member& member) {
    pack_text(packer_, member.first);
    write(member.second);
  }
  Appender appender_;
  Packer packer_;
  bool sorted_;
};

}  // namespace

std::string render_msgpack(const Value& value) {
  std::string out;
  Writer(out, false).write(value);
  return out;
}

std::string render_msgpack_sorted(const Value& value) {
  std::string out;
  Writer(out, true).write(value);
  return out;
}

void append_msgpack(std::string& out, const Value& value) {
  Writer(out, false).write(value);
}

void append_msgpack_map(std::string& out, std::uint32_t members) {
  Appender appender{&out};
  Packer(appender).pack_map(members);
}

void append_msgpack_count(std::string& out, std::uint64_t count) {
  Appender appender{&out};
  Packer(appender).pack_uint64(count);
}

void append_msgpack_bool(std::string& out, bool flag) {
  Appender appender{&out};
  Packer packer(appender);
  flag ? packer.pack_true() : packer.pack_false();
}

void append_msgpack_text(std::string& out, std::string_view text) {
  Appender appender{&out};
  Packer packer(appender);
  pack_text(packer, text);
}

void append_msgpack_bytes_header(std::string& out, std::size_t size) {
  Appender appender{&out};
  Packer(appender).pack_bin(static_cast<std::uint32_t>(size));
}

}  // namespace loom
