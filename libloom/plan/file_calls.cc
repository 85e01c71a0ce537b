#include "plan/file_calls.h"

namespace loom {
namespace {

constexpr int kNone = kNoArgument;

// A call on one path: alone, or after the directory it starts from.
FileCall plain(std::string_view name, int x86_64, PathNeed need) {
  return {name, x86_64, -1, need, 0, kNone, kNone, kNone, kNone};
}
FileCall both(std::string_view name, int x86_64, int arm64, PathNeed need) {
  return {name, x86_64, arm64, need, 0, kNone, kNone, kNone, kNone};
}
FileCall at(std::string_view name, int x86_64, int arm64, PathNeed need) {
  return {name, x86_64, arm64, need, 1, 0, kNone, kNone, kNone};
}

std::vector<FileCall> make_calls() {
  using enum PathNeed;
  return {
      {"openat", 257, 56, kRead, 1, 0, kNone, kNone, 2},
      {"open", 2, -1, kRead, 0, kNone, kNone, kNone, 1},
      plain("creat", 85, kChange),
      at("newfstatat", 262, 79, kLook),
      at("statx", 332, 291, kLook),
      plain("stat", 4, kLook),
      plain("lstat", 6, kLook),
      plain("access", 21, kLook),
      at("faccessat", 269, 48, kLook),
      at("faccessat2", 439, 439, kLook),
      plain("readlink", 89, kLook),
      at("readlinkat", 267, 78, kLook),
      both("chdir", 80, 49, kLook),
      both("execve", 59, 221, kRead),
      at("execveat", 322, 281, kRead),
      both("truncate", 76, 45, kWrite),
      plain("mkdir", 83, kChange),
      at("mkdirat", 258, 34, kChange),
      plain("rmdir", 84, kChange),
      plain("unlink", 87, kChange),
      at("unlinkat", 263, 35, kChange),
      plain("mknod", 133, kChange),
      at("mknodat", 259, 33, kChange),
      {"rename", 82, -1, kChange, 0, kNone, 1, kNone, kNone},
      {"renameat", 264, 38, kChange, 1, 0, 3, 2, kNone},
      {"renameat2", 316, 276, kChange, 1, 0, 3, 2, kNone},
      // Of a link only the new name needs a directory that can be changed.
      {"link", 86, -1, kChange, 1, kNone, kNone, kNone, kNone},
      {"linkat", 265, 37, kChange, 3, 2, kNone, kNone, kNone},
      {"symlink", 88, -1, kChange, 1, kNone, kNone, kNone, kNone},
      {"symlinkat", 266, 36, kChange, 2, 1, kNone, kNone, kNone},
      plain("chmod", 90, kWrite),
      at("fchmodat", 268, 53, kWrite),
      at("fchmodat2", 452, 452, kWrite),
      plain("chown", 92, kWrite),
      plain("lchown", 94, kWrite),
      at("fchownat", 260, 54, kWrite),
      at("utimensat", 280, 88, kWrite),
      both("setxattr", 188, 5, kWrite),
      both("lsetxattr", 189, 6, kWrite),
      both("removexattr", 197, 14, kWrite),
      both("lremovexattr", 198, 15, kWrite),
  };
}

}  // namespace

const std::vector<FileCall>& file_calls() {
  static const std::vector<FileCall> kCalls = make_calls();
  return kCalls;
}

}  // namespace loom
