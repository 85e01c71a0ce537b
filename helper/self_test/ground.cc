#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "helper/kernel.h"
#include "helper/self_test/trial.h"

namespace loom::helper {
namespace {

// What is made below it, a socket at the end, must fit a socket's address.
constexpr std::size_t kLongestPlace = 51;

bool takes_programs(const std::string& directory) {
  struct statvfs facts {};
  return !directory.empty() && directory.front() == '/' && ::statvfs(directory.c_str(), &facts) == 0 &&
         (facts.f_flag & ST_NOEXEC) == 0 && ::access(directory.c_str(), W_OK) == 0;
}

std::string place_for_programs() {
  const auto named = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  for (const std::string& candidate : {named("TMPDIR"), std::string("/tmp"), std::string("/var/tmp"), named("HOME")}) {
    if (!takes_programs(candidate)) continue;
    std::error_code failed;
    const auto real = std::filesystem::canonical(candidate, failed);
    if (!failed && real.native().size() <= kLongestPlace) return real.string();
  }
  return "";
}

Status copy_program(int from, const Path& to) {
  // What was opened to be executed is not open for reading.
  const UniqueFd source(::open(("/proc/self/fd/" + std::to_string(from)).c_str(), O_RDONLY | O_CLOEXEC));
  if (!source) return fail(kernel_error("loom-probes", "read it", errno));
  const UniqueFd copy(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
  if (!copy) return fail(kernel_error(to, "make it", errno));
  ssize_t moved = 0;
  do {
    moved = ::sendfile(copy.get(), source.get(), nullptr, 1U << 24U);
  } while (moved > 0 || (moved < 0 && errno == EINTR));
  if (moved < 0) return fail(kernel_error(to, "write it", errno));
  ::fchmod(copy.get(), 0755);
  return {};
}

}  // namespace

Result<std::unique_ptr<TrialGround>> TrialGround::make(const HostContext& host) {
  LOOM_TRY(const UniqueFd program, open_own_program(host.options.probes, "loom-probes"));
  const std::string place = place_for_programs();
  if (place.empty()) {
    return fail(
        "spawn_failed", "TMPDIR",
        "neither it nor /tmp, /var/tmp and HOME takes files that can be executed and has a short name",
        "set TMPDIR to a directory that does, with a name of at most " + std::to_string(kLongestPlace) + " bytes");
  }
  std::string name = place + "/loom-self-test.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return fail(kernel_error(place, "make a directory in it", errno));
  std::unique_ptr<TrialGround> ground(new TrialGround(host, name));
  ::mkdir(ground->programs().c_str(), 0755);
  LOOM_CHECK(copy_program(program.get(), ground->program()));
  return ground;
}

TrialGround::~TrialGround() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace loom::helper
