// LogLine to text: logfmt for people, JSON for machines.
#include <utility>

#include "base/json.h"
#include "broker/broker_core.h"

namespace loom::broker {

namespace {

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
  }
  return "warning";
}

bool plain(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == '=' || c == '\\') return false;
  }
  return true;
}

// Text that is not a plain word is quoted as JSON quotes it, so that no byte of it can end the line.
std::string shown(const Value& value) {
  const auto* text = value.get_if<std::string>();
  return text != nullptr && plain(*text) ? *text : render_json(value);
}

}  // namespace

std::string render_logfmt(const LogLine& line) {
  std::string out = "level=" + std::string(level_name(line.level)) + " event=" + line.event;
  for (const auto& [key, value] : line.fields) out += " " + key + "=" + shown(value);
  return out;
}

std::string render_log_json(const LogLine& line) {
  Map out{{"level", level_name(line.level)}, {"event", line.event}};
  out.insert(out.end(), line.fields.begin(), line.fields.end());
  return render_json(out);
}

}  // namespace loom::broker
