#include "log_writer.h"

#include <poll.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "broker/broker_core.h"

namespace loom::broker {

bool LogWriter::put(const LogLine& line) {
  pollfd writable{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&writable, 1, 0) != 1 || (writable.revents & POLLOUT) == 0) return false;
  const std::string text = (format_ == LogFormat::kJson ? render_log_json(line) : render_logfmt(line)) + "\n";
  return ::write(STDERR_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void LogWriter::write(const LogLine& line) {
  if (dropped_ != 0 && put(LogLine{LogLevel::kWarning, "log.dropped", Map{{"lines", Value(dropped_)}}})) dropped_ = 0;
  if (dropped_ != 0 || !put(line)) ++dropped_;
}

}  // namespace loom::broker
