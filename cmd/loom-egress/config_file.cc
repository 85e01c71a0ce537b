#include "config_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "os/fds.h"
#include "os/unique_fd.h"

namespace loom::egress_tool {
namespace {

constexpr std::size_t kMaxConfigBytes = 1U << 20U;

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}
// Whoever writes a file can set back the time of its contents, and not the time of its change.
bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size && same_time(a.st_mtim, b.st_mtim) &&
         same_time(a.st_ctim, b.st_ctim);
}

Result<egress::EgressConfig> read(int fd, const std::string& path) {
  LOOM_TRY(const std::string bytes, read_to_end(fd, kMaxConfigBytes, 0, path));
  auto config = egress::decode_egress_config_bytes(bytes);
  if (!config) return fail(std::move(config).error().context(path));
  const std::size_t slash = path.rfind('/');
  egress::anchor(*config, slash == std::string::npos ? "." : path.substr(0, slash + 1));
  return config;
}

}  // namespace

Result<const egress::EgressConfig*> ConfigFile::current() {
  struct stat facts {};
  if (::stat(path_.c_str(), &facts) != 0) return gone();
  if (!seen_ || !same_file(*seen_, facts)) {
    const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd || ::fstat(fd.get(), &facts) != 0) return gone();
    config_ = read(fd.get(), path_);
    seen_ = facts;
    ++generation_;
  }
  if (!config_) return fail(config_.error());
  return &*config_;
}

tl::unexpected<Error> ConfigFile::gone() {
  const int error = errno;
  seen_.reset();
  return fail("unreadable", path_, errno_text(error));
}

}  // namespace loom::egress_tool
