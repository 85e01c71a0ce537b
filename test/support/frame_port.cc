#include "test/support/frame_port.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/json.h"
#include "test/support/vectors.h"

namespace loom::test {
namespace {

int left_of(std::chrono::steady_clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

Value bytes_from_hex(const Value& value) {
  if (const auto* array = value.get_if<Array>()) {
    Array out;
    for (const auto& element : *array) out.push_back(bytes_from_hex(element));
    return Value(std::move(out));
  }
  const auto* map = value.get_if<Map>();
  if (map == nullptr) return value;
  if (map->size() == 1 && map->front().first == "hex") {
    if (const auto* hex = map->front().second.get_if<std::string>()) return Value(Binary{from_hex(*hex)});
  }
  Map out;
  for (const auto& member : *map) out.emplace_back(member.first, bytes_from_hex(member.second));
  return Value(std::move(out));
}

}  // namespace

Arrival FramePort::next(Frame& frame, int timeout_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    auto held = deframer_.next();
    if (!held) return Arrival::kMalformed;
    if (held->has_value()) {
      frame = **std::move(held);
      return Arrival::kFrame;
    }
    pollfd ready{in_, POLLIN, 0};
    const int polled = ::poll(&ready, 1, timeout_ms < 0 ? -1 : left_of(end));
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return Arrival::kTimeout;
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(in_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return deframer_.mid_frame() ? Arrival::kMalformed : Arrival::kEnd;
    deframer_.feed({buffer.data(), static_cast<std::size_t>(got)});
  }
}

bool FramePort::send_bytes(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(out_, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string frame_line(const Frame& frame) {
  Map body;
  if (const auto* members = frame.body.get_if<Map>()) body = *members;
  for (auto& [key, value] : body) {
    const auto* bytes = value.get_if<Binary>();
    if (key == "data" && bytes != nullptr && is_utf8(bytes->bytes)) value = Value(std::string(bytes->bytes));
  }
  return render_json(Value(Map{{"id", frame.id}, {"kind", frame.kind}, {"body", std::move(body)}}));
}

Value body_of_json(std::string_view json) {
  const auto value = parse_json(json);
  if (!value || value->get_if<Map>() == nullptr) {
    std::fprintf(stderr, "script: not a body: %.*s\n", static_cast<int>(json.size()), json.data());
    std::exit(2);
  }
  return bytes_from_hex(*value);
}

}  // namespace loom::test
