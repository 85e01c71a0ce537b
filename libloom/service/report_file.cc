#include "service/report_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "os/fds.h"
#include "os/file_view.h"
#include "os/host_facts.h"
#include "plan/path_index.h"
#include "plan/walk.h"
#include "policy/covers.h"
#include "service/ready_policy.h"

namespace loom::service {
namespace {

constexpr char kFollowed[] = "cannot write the report: ";

Path from_here(const std::string& path) {
  if (!path.empty() && path.front() == '/') return path;
  const std::unique_ptr<char, decltype(&std::free)> here(::getcwd(nullptr, 0), &std::free);
  return here ? std::string(here.get()) + "/" + path : path;
}

tl::unexpected<Error> refused(const std::string& path, const std::string& why, std::string hint = "") {
  return fail("unwritable", path, kFollowed + why, std::move(hint));
}

// The directory that the walk has found, and no other, whatever was put in its way since.
Result<UniqueFd> open_directory(const std::string& path, const Path& real) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const Path directory(parent_of(real));
  const long fd = ::syscall(SYS_openat2, AT_FDCWD, directory.c_str(), &how, sizeof how);
  if (fd < 0) return refused(path, errno_text(errno));
  return UniqueFd(static_cast<int>(fd));
}

// Devices and descriptors of the caller's own, which are links by nature and share what they lead to.
bool is_of_the_system(const std::string& path) {
  return path.rfind("/dev/", 0) == 0 || path.rfind("/proc/", 0) == 0;
}

}  // namespace

std::vector<Path> where_commands_write(const CallFlags& flags, const CallerFacts& facts) {
  std::vector<Path> places;
  const FileView view = host_file_view();
  const auto add = [&](const Path& path) {
    if (Path real = view.resolve(path); !real.empty()) places.push_back(std::move(real));
  };
  add(flags.workspace.value_or(facts.cwd));
  for (const Grant& grant : flags.grants) {
    const auto* path = grant.value.get_if<std::string>();
    if (path != nullptr && (grant.kind == "writable_root" || grant.kind == "scratch")) add(*path);
  }
  if (!flags.policy_file || *flags.policy_file == "-") return places;
  if (const auto policy = read_policy_file(*flags.policy_file)) {
    for (const Path& root : policy->writable_roots) add(root);
    if (!policy->scratch.is_tmpfs()) add(policy->scratch.host_path);
  }
  return places;
}

Result<UniqueFd> open_report(const std::string& path, const std::vector<Path>& planted) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  UniqueFd report;
  if (is_of_the_system(path)) {
    report.reset(::open(path.c_str(), kFlags, 0666));
  } else {
    HostFacts facts;
    facts.look = look_at_host;
    const Walked walked = Walker(facts).walk(from_here(path));
    for (const PassedLink& link : walked.links) {
      if (link.final) return refused(path, "it is a link, and a link is not followed", "name the file it leads to");
      for (const Path& place : planted) {
        if (!covers_strictly(place, link.at)) continue;
        return refused(path, link.at + " is a link in a directory that commands may write", "name where it leads to");
      }
    }
    if (walked.real == "/") return refused(path, errno_text(EISDIR));
    LOOM_TRY(const UniqueFd directory, open_directory(path, walked.real));
    const std::string name = walked.real.substr(walked.real.rfind('/') + 1);
    report.reset(::openat(directory.get(), name.c_str(), kFlags | O_NOFOLLOW, 0666));
  }
  if (!report) return refused(path, errno_text(errno));
  ::fcntl(report.get(), F_SETFL, ::fcntl(report.get(), F_GETFL) & ~O_NONBLOCK);
  return report;
}

Status take_report_back(int report, const std::string& path) {
  struct stat ours {};
  if (is_of_the_system(path) || ::fstat(report, &ours) != 0 || !S_ISREG(ours.st_mode)) return {};
  struct stat there {};
  const bool found = ::fstatat(AT_FDCWD, path.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (!found || there.st_dev != ours.st_dev || there.st_ino != ours.st_ino) {
    return refused(path,
                   found ? "while the command ran something else was put in its place, which is no report"
                         : "it was removed while the command ran",
                   "name a file that the command may not write");
  }
  if (::ftruncate(report, 0) != 0 || ::lseek(report, 0, SEEK_SET) != 0) return refused(path, errno_text(errno));
  return {};
}

}  // namespace loom::service
