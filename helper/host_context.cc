#include "helper/host_context.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "helper/bwrap_backend.h"
#include "helper/kernel.h"
#include "helper/probe_host.h"
#include "plan/fit.h"

namespace loom::helper {
namespace {

constexpr int kLandlockVersion = 1;

std::string own_directory() {
  std::array<char, PATH_MAX> own{};
  const ssize_t size = ::readlink("/proc/self/exe", own.data(), own.size());
  const std::string program(own.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return program.substr(0, program.rfind('/') + 1);
}

void choose_backend(HostContext& host) {
  const bool at_once = host.options.probe == ProbeWhen::kAtOnce;
  if (host.options.backend == Backend::kBwrap) {
    host.bwrap = true;
    host.no_native = "the bwrap backend was asked for";
    if (at_once) host.no_container = probe_bwrap(host);
  } else if (at_once) {
    host.no_container = probe_container(host);
    if (!host.no_container.empty() && host.options.backend == Backend::kAuto && probe_bwrap(host).empty()) {
      host.bwrap = true;
      host.no_native = std::move(host.no_container);
      host.no_container.clear();
    }
  }
  host.container = host.no_container.empty();
}

}  // namespace

Result<UniqueFd> open_own_program(const std::string& given, const std::string& name) {
  const std::string own = own_directory();
  if (own.empty() && given.empty()) {
    // A path that is relative to nothing would find what lies in the workspace.
    return fail("spawn_failed", "/proc/self/exe", "cannot read where loom-exec itself lies", "mount /proc");
  }
  const std::string in_tree = given.empty() ? own + "libexec/" + name : given;
  UniqueFd fd(::open(in_tree.c_str(), O_PATH | O_CLOEXEC));
  if (!fd && given.empty()) fd.reset(::open((own + "../libexec/loom/" + name).c_str(), O_PATH | O_CLOEXEC));
  if (fd) return fd;
  Error error = kernel_error(in_tree, "open " + name, errno);
  if (error.hint.empty()) error.hint = "install " + name + " beside loom-exec";
  return fail(std::move(error));
}

namespace {

// What helpers that were killed left in the base goes first.
Status find_cgroups(HostContext& host) {
  const std::string& path = host.options.cgroup_base;
  host.no_cgroup = kNoCgroupBase;
  if (path.empty()) return {};
  auto base = CgroupBase::find(path);
  const bool use = host.options.cgroup_use == CgroupUse::kUse;
  if (base && use) {
    LOOM_CHECK(base->prepare());
    sweep_cgroups(base->fd(), helper_lives);
  }
  if (base) {
    host.cgroups = std::move(*base);
  } else if (use) {
    return fail(std::move(base).error().context("--cgroup-base"));
  } else {
    host.no_cgroup = base.error().text();
  }
  return {};
}

}  // namespace

Result<HostContext> make_host_context(HostOptions options) {
  HostContext host;
  // A child's end must be ours to read, and a reader that goes away is an error value, not our end.
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_DUMPABLE, 0);
  if (options.platform == Platform::kNoJail) {
    if (!options.allow_unenforced) {
      return fail("unsupported_platform", "", "there is no jail for this platform",
                  "--allow-unenforced runs commands without one, and says so in every report");
    }
    host.no_container = kNoJailReason;
    host.features = {skip_entry(layer::kJail, kNoJailReason)};
    const char* own_path = std::getenv("PATH");
    host.path = own_path != nullptr ? own_path : "";
    host.options = std::move(options);
    return host;
  }
  LOOM_TRY(host.stage2, open_own_program(options.stage2, "loom-stage2"));
  Result<UniqueFd> bridge = open_own_program(options.bridge, "loom-bridge");
  if (bridge) {
    host.bridge = std::move(*bridge);
  } else {
    host.no_bridge = bridge.error().text();
  }
  host.options = std::move(options);
  host.uid = ::geteuid();
  host.gid = ::getegid();
  host.root_start = host.uid == 0;
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kLandlockVersion);
  host.landlock_abi = abi > 0 ? static_cast<int>(abi) : 0;
  LOOM_CHECK(find_cgroups(host));
  if (host.options.backend == Backend::kBwrap && host.root_start) {
    return fail("bad_argument", "--backend", "bwrap is for ordinary users, and this is root",
                "leave the flag out: the native backend never runs a command as root of the host");
  }
  choose_backend(host);
  const char* path = std::getenv("PATH");
  host.path = path != nullptr ? path : "";
  host.features = list_features(host);
  return host;
}

}  // namespace loom::helper
