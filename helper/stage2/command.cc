#include "helper/stage2/command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "helper/stage2/filter.h"
#include "helper/stage2/sys.h"
#include "helper/stage2/talk.h"
#include "helper/stage2/way_out.h"
#include "helper/stage2/witness.h"

namespace loom::stage2 {
namespace {

constexpr std::uint64_t kFileAccess =
    (1U << 0) | (1U << 1) | (1U << 2) | (1U << 14) | (1U << 15);  // what a plain file takes
constexpr int kRuleBeneath = 1;
constexpr int kRulePort = 2;
constexpr char kUngrantedFile[] = "/sys/devices/system/cpu/online";  // readable by all, and granted by nothing
constexpr int kExecutable = 1;                                       // X_OK

struct KernelSigaction {
  void* handler;
  unsigned long flags;
  void* restorer;
  std::uint64_t mask;
};

struct __attribute__((packed)) PathBeneath {
  std::uint64_t access;
  std::int32_t parent;
};

struct KernelRlimit {
  std::uint64_t soft;
  std::uint64_t hard;
};

[[noreturn]] void give_up(Start& start, ExecFault fault, int error, const char* path) {
  ExecFailed failed;
  failed.type = static_cast<std::uint32_t>(FromStage2::kExecFailed);
  failed.fault = fault;
  failed.error = error;
  const std::size_t text = copy_text(failed.path, sizeof failed.path, path);
  start.execed = false;
  say(&failed, sizeof failed - sizeof failed.path + text + 1);
  leave(1);
}

void must(Start& start, long answer, const char* what) {
  if (answer < 0) give_up(start, ExecFault::kSetup, static_cast<int>(-answer), what);
}

void take_streams(Start& start) {
  if (start.terminal >= 0) must(start, call(__NR_ioctl, start.terminal, TIOCSCTTY, 0), "controlling terminal");
  for (int i = 0; i < 3; ++i) must(start, call(__NR_dup3, start.streams[i], i, 0), "streams");
  must(start, call(__NR_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC), "descriptors");
}

void limit(Start& start) {
  const Region& request = start.orders->request;
  for (const Record* r = next_record(request, nullptr); r != nullptr; r = next_record(request, r)) {
    if (r->tag != Tag::kRlimit) continue;
    const auto* wanted = body<Rlimit>(r);
    // At the hard limit the kernel says KILL, which anything may have sent. A second before it, it says XCPU: the
    // command ends there, and its signal names the limit.
    const std::uint64_t beyond = wanted->resource == RLIMIT_CPU ? 1 : 0;
    KernelRlimit value{wanted->value, wanted->value + beyond};
    KernelRlimit given{};
    long answer = call(__NR_prlimit64, 0, wanted->resource, nullptr, &given);
    // A lower one that the caller was started with cannot be raised again, and holds all the better.
    if (answer == 0 && given.hard < value.hard) {
      const std::uint64_t most = given.hard > beyond ? given.hard - beyond : given.hard;
      value = {value.soft < most ? value.soft : most, given.hard};
    }
    if (answer == 0) answer = call(__NR_prlimit64, 0, wanted->resource, &value, nullptr);
    KernelRlimit seen{};
    if (answer == 0) answer = call(__NR_prlimit64, 0, wanted->resource, nullptr, &seen);
    const bool held = answer == 0 && seen.soft == value.soft && seen.hard == value.hard;
    note(start.report, static_cast<Witness>(wanted->witness),
         held ? 0 : (answer < 0 ? static_cast<int>(-answer) : EPERM));
  }
}

// A path that is not in the view gets no rule: that only narrows.
void allow_beneath(int ruleset, const LandlockRule& rule, const char* path) {
  const long at = call(__NR_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
  if (at < 0) return;
  PathBeneath beneath{rule.access, static_cast<std::int32_t>(at)};
  if (call(__NR_landlock_add_rule, ruleset, kRuleBeneath, &beneath, 0) == -EINVAL) {
    beneath.access &= kFileAccess;
    call(__NR_landlock_add_rule, ruleset, kRuleBeneath, &beneath, 0);
  }
  call(__NR_close, at);
}

// Opens what only Landlock refuses: 0 open, else the errno.
int open_witness(const Start& start) {
  const char* path = kUngrantedFile;
  int directory = AT_FDCWD;
  switch (start.orders->setup->container) {
    case Container::kNone:
      break;
    case Container::kNative:
      path = kWitnessFile;
      directory = kWitnessFd;
      break;
    case Container::kBwrap:
      path = kBwrapWitness;
      break;
  }
  const long fd = call(__NR_openat, directory, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd >= 0) call(__NR_close, fd);
  return fd < 0 ? static_cast<int>(-fd) : 0;
}

int restrict_files(const Start& start, std::uint32_t& abi) {
  const Region& policy = start.orders->policy;
  const Landlock* ruleset = nullptr;
  long fd = -ENOSYS;
  for (const Record* r = next_record(policy, nullptr); r != nullptr; r = next_record(policy, r)) {
    if (r->tag == Tag::kLandlock) {
      ruleset = body<Landlock>(r);
      fd = call(__NR_landlock_create_ruleset, ruleset, ruleset->size, 0);
    } else if (r->tag == Tag::kLandlockPort && fd >= 0) {
      call(__NR_landlock_add_rule, fd, kRulePort, body<LandlockPort>(r), 0);
    } else if (r->tag == Tag::kLandlockRule && fd >= 0) {
      allow_beneath(static_cast<int>(fd), *body<LandlockRule>(r), text_after<LandlockRule>(r));
    }
  }
  if (fd < 0) return static_cast<int>(-fd);
  const int before = open_witness(start);
  const long answer = call(__NR_landlock_restrict_self, fd, 0);
  call(__NR_close, fd);
  if (answer != 0) return static_cast<int>(-answer);
  abi = ruleset->abi;
  if (before != 0) return before;  // no witness to tell by
  return open_witness(start) == EACCES ? 0 : EXDEV;
}

// The filter that tells init, and its listener to init; where there can be none, the one that refuses by itself.
void be_watched(Start& start) {
  if (start.handoff < 0) return;
  // Once init has a call, a signal with a handler waits for the answer: else a refused call, or one that goes on, would
  // end with an EINTR that it cannot end with unwatched. Only a signal before that still does.
  const long listener = load_filter(*start.orders, Tag::kSeccompWatch,
                                    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
  if (listener >= 0) {
    const Plain plain{0};
    say_on(start.handoff, &plain, sizeof plain, static_cast<int>(listener));
    call(__NR_close, listener);
  } else {
    start.report.why_error = static_cast<std::int32_t>(-listener);
    load_filter(*start.orders, Tag::kSeccomp, 0);
  }
  look_at_filter(*start.orders, start.report);
}

void reset_signals() {
  const KernelSigaction plain{};
  for (int signal = 1; signal <= 64; ++signal) call(__NR_rt_sigaction, signal, &plain, nullptr, sizeof plain.mask);
  const std::uint64_t none = 0;
  call(__NR_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
}

void wait_for_go(Start& start) {
  const Heard heard = hear();
  if (!heard.gone && heard.what == ToStage2::kGo) return;
  start.execed = false;
  leave(1);
}

const char* value_of(char** env, const char* name) {
  const std::size_t size = length(name);
  for (; *env != nullptr; ++env) {
    if (same(*env, name, size)) return *env + size;
  }
  return "";
}

ExecFault fault_of(int error, const char* path) {
  const bool there = call(__NR_faccessat, AT_FDCWD, path, kExecutable, 0) == 0;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return there ? ExecFault::kInterpreter : ExecFault::kNotFound;
    case EACCES:
    case EPERM:
    case ETXTBSY:
      return ExecFault::kPermission;
    case ENOEXEC:
    case ELIBBAD:
    case EINVAL:
      return ExecFault::kFormat;
    case E2BIG:
      return ExecFault::kTooBig;
    default:
      return ExecFault::kOther;
  }
}

// The kernel calls a directory "permission denied"; whoever reads the error wants to know which of the two it is.
int reason_of(int error, const char* path) {
  if (error != EACCES) return error;
  const long directory = call(__NR_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (directory < 0) return error;
  call(__NR_close, directory);
  return EISDIR;
}

bool worth_remembering(ExecFault fault) {
  return fault != ExecFault::kNotFound;
}

// As execvp, but for the shell it falls back to: the first directory of PATH that has it; a refusal is remembered.
[[noreturn]] void exec_by_search(Start& start, const char* name) {
  char** argv = start.orders->argv;
  char** env = start.orders->env;
  char path[4096];
  ExecFault fault = ExecFault::kNotFound;
  int error = ENOENT;
  char refused[4096];
  copy_text(refused, sizeof refused, name);
  for (const char* at = value_of(env, "PATH="); *at != '\0';) {
    std::size_t size = 0;
    while (at[size] != '\0' && at[size] != ':') ++size;
    if (size > 0 && size + length(name) + 2 <= sizeof path) {
      for (std::size_t i = 0; i < size; ++i) path[i] = at[i];
      path[size] = '/';
      copy_text(path + size + 1, sizeof path - size - 1, name);
      const int answer = static_cast<int>(-call(__NR_execve, path, argv, env));
      const ExecFault found = fault_of(answer, path);
      if (worth_remembering(found) && !worth_remembering(fault)) {
        fault = found;
        error = reason_of(answer, path);
        copy_text(refused, sizeof refused, path);
      }
      if (worth_remembering(found) && found != ExecFault::kPermission) break;
    }
    at += size + (at[size] == ':' ? 1 : 0);
  }
  give_up(start, fault, error, refused);
}

[[noreturn]] void exec_command(Start& start) {
  const char* name = start.orders->argv[0];
  bool slash = false;
  for (const char* at = name; *at != '\0'; ++at) slash = slash || *at == '/';
  if (!slash && *name != '\0') exec_by_search(start, name);
  const int error = static_cast<int>(-call(__NR_execve, name, start.orders->argv, start.orders->env));
  give_up(start, fault_of(error, name), reason_of(error, name), name);
}

}  // namespace

[[noreturn]] void become_command(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  if (start.orders->setup->container == Container::kNone) call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  must(start, call(__NR_setsid), "session");
  take_streams(start);
  limit(start);
  note(start.report, kSawLandlock, restrict_files(start, start.report.landlock_abi));
  // As the command will meet it: after all that could stand in its way was put on.
  if (start.asks_way_out) note(start.report, kSawEgress, ask_way_out());
  call(__NR_umask, 022);
  if (const long answer = call(__NR_chdir, start.orders->cwd); answer < 0) {
    give_up(start, ExecFault::kCwd, static_cast<int>(-answer), start.orders->cwd);
  }
  be_watched(start);
  start.report.type = static_cast<std::uint32_t>(FromStage2::kReport);
  say(&start.report, sizeof start.report, start.report.failures > 0 ? start.policy : -1);
  wait_for_go(start);
  reset_signals();
  exec_command(start);
}

}  // namespace loom::stage2
