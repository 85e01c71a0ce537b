// A file that lines are appended to, each in one write (spec/egress.md "Three records"). A line that could not be
// written whole leaves nothing of itself.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "os/unique_fd.h"

namespace loom {

// kOnDisk: a line outlives this machine's fall once append() has returned; kWritten: it outlives ours.
enum class Durability { kOnDisk, kWritten };

class AppendFile {
 public:
  // Made 0600 when it is missing; only a regular file is taken, and no last link is followed. Error: record_failed.
  [[nodiscard]] static Result<AppendFile> open(const std::string& path);
  // Whether the path still names this file: one that was moved away or removed is to be opened anew.
  [[nodiscard]] bool in_place() const;
  // Error: record_failed (a full disk, say).
  [[nodiscard]] Status append(std::string_view line, Durability durability = Durability::kOnDisk) const;

 private:
  AppendFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

}  // namespace loom
