// The file system as four questions, so that pure code can judge what lies there and a test can hand in a tree of its
// own. The real one is host_file_view() (os/file_view.h). No answer is ever an error: what cannot be seen is missing,
// empty or "".
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace loom {

enum class FileKind { kMissing, kFile, kDirectory, kLink, kOther };  // kOther: socket, fifo, device

struct FileView {
  std::function<FileKind(const std::string& path)> kind;  // the last component is not followed
  std::function<std::string(const std::string& path)>
      read;  // a regular file's bytes, at most 1 MiB; never through a last link
  std::function<std::vector<std::string>(const std::string& path)>
      list;                                                     // a directory's names, sorted, without . and ..
  std::function<std::string(const std::string& path)> resolve;  // every link followed; "" when it leads nowhere
};

}  // namespace loom
