// The calls that take paths, for --why=paths: what each needs of its paths, and where they stand among its arguments.
// Pure data (spec/jail.md "--why").
#pragma once

#include <string_view>
#include <vector>

#include "plan/seccomp_table.h"

namespace loom {

// Of a path: that it is there; that it can be read; written; that the directory it lies in can be changed.
enum class PathNeed { kLook, kRead, kWrite, kChange };

inline constexpr int kNoArgument = -1;

struct FileCall {
  std::string_view name;
  int x86_64 = -1;  // -1: the machine has no such call
  int arm64 = -1;
  PathNeed need = PathNeed::kLook;
  int path = 0;                 // which argument
  int directory = kNoArgument;  // the descriptor it starts from; none: the current directory
  int second_path = kNoArgument;
  int second_directory = kNoArgument;
  int flags = kNoArgument;  // open flags, which then decide the need
};

[[nodiscard]] inline int number_on(const FileCall& call, Machine machine) {
  switch (machine) {
    case Machine::kX86_64:
      return call.x86_64;
    case Machine::kArm64:
      return call.arm64;
  }
  return -1;
}

[[nodiscard]] const std::vector<FileCall>& file_calls();

}  // namespace loom
