#include "helper/out_frame.h"

#include <string_view>

#include "base/msgpack.h"
#include "base/value.h"
#include "base/version.h"

namespace loom::helper {
namespace {

void put_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xffU);
}

void put(std::string& out, const Value& value) {
  out += render_msgpack(value);
}

void put_binary_head(std::string& out, std::size_t size) {
  if (size <= 0xff) {
    out += '\xc4';
    put_big_endian(out, size, 1);
  } else if (size <= 0xffff) {
    out += '\xc5';
    put_big_endian(out, size, 2);
  } else {
    out += '\xc6';
    put_big_endian(out, size, 4);
  }
}

constexpr char kMapOfFour = '\x84';

}  // namespace

OutFrame frame_around(std::uint64_t id, Stream stream, std::size_t data_size, std::uint64_t bytes, bool truncated) {
  std::string head;
  head += kMapOfFour;
  put(head, "v");
  put(head, kEnvelopeVersion);
  put(head, "id");
  put(head, id);
  put(head, "kind");
  put(head, "exec_out");
  put(head, "body");
  head += kMapOfFour;
  put(head, "stream");
  put(head, to_text(stream));
  put(head, "data");
  put_binary_head(head, data_size);
  OutFrame frame;
  put(frame.after, "bytes");
  put(frame.after, bytes);
  put(frame.after, "truncated");
  put(frame.after, truncated);
  put_big_endian(frame.before, head.size() + data_size + frame.after.size(), 4);
  frame.before += head;
  return frame;
}

}  // namespace loom::helper
