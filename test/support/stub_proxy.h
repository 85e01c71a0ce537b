// Stands in for a proxy behind a Unix socket: a process of its own that answers as it was told. For tests of what leads
// to a proxy, not of what one does.
#pragma once

#include <sys/types.h>

#include <string>

namespace loom::test {

class StubProxy {
 public:
  enum class Manner {
    kReady,    // GET .../ready is answered 204; anything else comes back as it was sent, to its end
    kRefuses,  // every request is answered 503
    kHangsUp,  // every connection is closed at once
  };
  StubProxy(std::string path, Manner manner);
  ~StubProxy();
  StubProxy(const StubProxy&) = delete;
  StubProxy& operator=(const StubProxy&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void end();  // KILL; the socket's file stays

 private:
  std::string path_;
  pid_t pid_ = -1;
};

}  // namespace loom::test
