// The directory of a broker's sockets for jails: RUNTIME/jail-INCARNATION, 0700, made when the first is needed and gone
// with its broker (spec/broker.md "Sessions and capabilities", spec/egress.md "How the jail reaches it"). A lock on it
// tells the living from what a killed broker left, which the next one sweeps.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "os/unique_fd.h"

namespace loom {

class JailDir {
 public:
  // Where it will be; nothing is made yet.
  explicit JailDir(std::string path) : path_(std::move(path)) {}
  ~JailDir() { remove(); }
  JailDir(const JailDir&) = delete;
  JailDir& operator=(const JailDir&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Makes it (and the one directory above, where that is missing) and sweeps its dead siblings; again is nothing.
  // Errors: those of prepare_socket_dir, jail_dir_failed.
  [[nodiscard]] Status make();
  // With all in it, and the directory above when it was made here and is empty.
  void remove();

 private:
  [[nodiscard]] Status try_make();

  std::string path_;
  UniqueFd lock_;
  bool made_above_ = false;
};

}  // namespace loom
