#include "call_log.h"

#include <utility>

#include "cli/output.h"
#include "daemon_parts.h"
#include "options.h"

namespace loom::egress_tool {

Status CallLog::use(const std::optional<std::string>& configured) {
  const std::string path = flag_ ? *flag_ : configured.value_or("");
  if (path == path_ && (!file_ || file_->in_place())) return {};
  file_.reset();
  path_.clear();
  if (path.empty()) return {};
  LOOM_TRY(file_, AppendFile::open(path));
  path_ = path;
  return {};
}

Status CallLog::call(const egress::CallRecord& record) {
  return write(egress::render_record(record));
}

Status CallLog::refusal(egress::Refusal refusal) {
  const auto row = refusals_.note(std::move(refusal));
  if (!row) return {};
  return write(egress::render_record(*row, wall_clock_ms()));
}

void CallLog::close() {
  for (const egress::Refusal& row : refusals_.unwritten()) {
    if (!write(egress::render_record(row, wall_clock_ms()))) return;
  }
}

Status CallLog::write(const std::string& line) {
  if (!file_) return {};
  auto written = file_->append(line);
  if (written) {
    said_ = false;
  } else if (!std::exchange(said_, true)) {
    cli::say_error(kTool, written.error());
  }
  return written;
}

}  // namespace loom::egress_tool
