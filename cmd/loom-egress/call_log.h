// The records of an endpoint: written before the caller hears (spec/egress.md "Three records").
#pragma once

#include <optional>
#include <string>

#include "egress/records.h"
#include "os/append_file.h"

namespace loom::egress_tool {

class CallLog {
 public:
  // The file named by a flag wins over that of the configuration; without either nothing is recorded. Error:
  // record_failed.
  explicit CallLog(std::optional<std::string> flag) : flag_(std::move(flag)) {}
  Status use(const std::optional<std::string>& configured);

  // Error: record_failed. One line on stderr an episode.
  Status call(const egress::CallRecord& record);
  // Most refusals are counted alone.
  Status refusal(egress::Refusal refusal);
  // The counts that were not written yet.
  void close();

 private:
  Status write(const std::string& line);

  std::optional<std::string> flag_;
  std::string path_;
  std::optional<AppendFile> file_;
  egress::Refusals refusals_;
  bool said_ = false;
};

}  // namespace loom::egress_tool
