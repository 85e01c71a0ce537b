#include "os/append_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/fds.h"

namespace loom {

namespace {

tl::unexpected<Error> record_failed(const std::string& path, std::string what) {
  return fail("record_failed", path, std::move(what));
}

// Whoever else appends to this file waits: what a short write left over is cut off without harm to another's line.
class Locked {
 public:
  explicit Locked(int fd) : fd_(fd) {
    while (::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Locked() { ::flock(fd_, LOCK_UN); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  int fd_;
};

}  // namespace

Result<AppendFile> AppendFile::open(const std::string& path) {
  UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  if (!fd) return record_failed(path, "cannot open it: " + errno_text(errno));
  struct stat facts {};
  if (::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return record_failed(path, "not a regular file");
  return AppendFile(std::move(fd), path);
}

bool AppendFile::in_place() const {
  struct stat here {};
  struct stat there {};
  return ::fstat(fd_.get(), &here) == 0 && ::lstat(path_.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

Status AppendFile::append(std::string_view line, Durability durability) const {
  const Locked lock(fd_.get());
  ssize_t written = 0;
  do {
    written = ::write(fd_.get(), line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  const int error = written < 0 ? errno : ENOSPC;
  if (written == static_cast<ssize_t>(line.size())) {
    if (durability == Durability::kWritten || ::fdatasync(fd_.get()) == 0) return {};
    return record_failed(path_, "cannot write it out: " + errno_text(errno));
  }
  const off_t end = ::lseek(fd_.get(), 0, SEEK_END);
  if (written > 0 && end >= written && ::ftruncate(fd_.get(), end - written) != 0) {
    return record_failed(path_, "a line was written in part, and cannot be taken back: " + errno_text(errno));
  }
  return record_failed(path_, "cannot write it: " + errno_text(error));
}

}  // namespace loom
