// TLS hellos made by hand, for tests of what reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loom::test {

inline std::string number(std::size_t value, unsigned width) {
  std::string bytes;
  for (unsigned i = width; i-- > 0;) bytes += static_cast<char>(value >> (8 * i) & 0xffU);
  return bytes;
}
inline std::string vector(std::string_view bytes, unsigned width) {
  return number(bytes.size(), width) + std::string(bytes);
}
inline std::string extension(std::size_t type, std::string_view bytes) {
  return number(type, 2) + vector(bytes, 2);
}
inline std::string server_name(std::string_view name) {
  return extension(0, vector(number(0, 1) + vector(name, 2), 2));
}
// A ClientHello message with these extensions; without any, the hello ends before their list.
inline std::string hello_message(std::optional<std::string> extensions) {
  std::string body =
      number(0x0303, 2) + std::string(32, 'r') + vector("", 1) + vector(number(0x1301, 2), 2) + vector(number(0, 1), 1);
  if (extensions) body += vector(*extensions, 2);
  return number(1, 1) + vector(body, 3);
}
inline std::string hello_for(std::string_view name) {
  return hello_message(extension(43, "\x02\x03\x04") + server_name(name));
}
// The message in TLS records of at most `piece` bytes.
inline std::string in_records(std::string_view message, std::size_t piece = 16384) {
  std::string bytes;
  for (; !message.empty(); message.remove_prefix(piece < message.size() ? piece : message.size()))
    bytes += number(22, 1) + number(0x0301, 2) + vector(message.substr(0, piece), 2);
  return bytes;
}

}  // namespace loom::test
