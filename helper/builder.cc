#include "helper/builder.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <map>

#include "helper/bwrap_backend.h"
#include "helper/channel.h"
#include "helper/ids.h"
#include "helper/jail_orders.h"
#include "helper/kernel.h"
#include "helper/new_root.h"
#include "helper/placeholders.h"
#include "helper/sources.h"
#include "helper/way_out.h"
#include "os/host_facts.h"
#include "policy/covers.h"

namespace loom::helper {
namespace {

constexpr std::uint64_t kDefaultScratch = 512ULL << 20U;
constexpr char kHostName[] = "loom";

using TakenByOp = std::map<std::size_t, TakenSource>;

[[noreturn]] void refuse(int control, const Error& error) {
  std::string text;
  for (const std::string* part : {&error.code, &error.where, &error.what, &error.hint}) text.append(*part) += '\0';
  send_word(control, stage2::FromStage2::kRefused, text);
  ::_exit(1);
}

// What the host refuses to every jail, whatever the policy: the caller may go on without a container where that is
// allowed. What comes with a hint is a shortage of the caller's own, and no reason to go on with less.
Error no_container(Error error) {
  if (error.code == "spawn_failed" && error.hint.empty()) error.code = kNoContainer;
  return error;
}

// Many paths are many descriptors, for a moment: while the jail is built their limit is as high as it may be. The
// command gets the one that loom-exec was started with.
class DescriptorLimit {
 public:
  DescriptorLimit() {
    if (::getrlimit(RLIMIT_NOFILE, &given_) != 0) return;
    const rlimit most{kMost, kMost};
    if (given_.rlim_max < kMost && ::setrlimit(RLIMIT_NOFILE, &most) == 0) return;
    const rlimit allowed{given_.rlim_max, given_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &allowed);
  }
  void give_back() const { ::setrlimit(RLIMIT_NOFILE, &given_); }

 private:
  static constexpr rlim_t kMost = 1U << 20U;  // the kernel's own fs.nr_open, where nobody changed it
  rlimit given_{};
};

// A command that may replace what confines the next one is not stopped from it, and whoever reads the report is told.
void say_own_programs(const BuildJob& job, MountPlan& plan) {
  for (const std::string& link :
       {std::string("/proc/self/exe"), "/proc/self/fd/" + std::to_string(job.host.stage2.get())}) {
    std::array<char, PATH_MAX> text{};
    const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
    const Path program(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    if (program.empty() || program.front() != '/') continue;
    const PathVerdict verdict = judge_path(plan, program);
    const bool of_the_jail = verdict.entry == "scratch" && plan.scratch_is_tmpfs;
    if (verdict.access == PathAccess::kWrite && !of_the_jail) plan.events.push_back("own-program-writable=" + program);
  }
}

Result<PlannedJail> plan_jail(const BuildJob& job) {
  HostFacts facts;
  facts.look = look_at_host;
  facts.root_start = job.host.root_start;
  facts.workspace = job.host.options.workspace;
  const Policy& policy = job.request.policy;
  const auto endpoint = job.request.own_env.find("LOOM_EGRESS_SOCKET");
  if (endpoint != job.request.own_env.end()) facts.endpoint = endpoint->second;
  facts.scratch_bytes = policy.limits.mem_bytes != 0 ? policy.limits.mem_bytes / 2 : kDefaultScratch;
  PlannedJail planned;
  LOOM_TRY(planned.plan, mount_plan(policy, facts));
  say_own_programs(job, planned.plan);
  planned.environment =
      build_environment(policy, planned.plan, facts, {job.request.env, job.request.own_env, job.host.path});
  return planned;
}

// Whose trees they are: the disk owner of the workspace, else of the first writable root.
IdBlock block_for(const BuildJob& job) {
  IdBlock block;
  block.base = job.host.options.jail_uid;
  const Policy& policy = job.request.policy;
  Path workspace = job.host.options.workspace;
  if (workspace.empty() && !policy.writable_roots.empty()) workspace = policy.writable_roots.front();
  struct stat facts {};
  if (workspace.empty() || ::stat(workspace.c_str(), &facts) != 0) return block;
  block.swap = true;
  block.owner = {facts.st_uid, facts.st_gid};
  return block;
}

bool takes_host_source(const MountPlan& plan, const PlanOp& op) {
  switch (op.op) {
    case OpClass::kBase:
    case OpClass::kReadable:
    case OpClass::kWritable:
    case OpClass::kPin:
    case OpClass::kFrozen:
    case OpClass::kMount:
      return op.path != "/";
    case OpClass::kScratch:
      return !plan.scratch_is_tmpfs;
    case OpClass::kMaskDir:
    case OpClass::kMaskFile:
    case OpClass::kPlaceholder:
    case OpClass::kSymlink:
      return false;
  }
  return false;
}

std::vector<Path> mounts_inside(const MountPlan& plan, const PlanOp& mask) {
  std::vector<Path> inside;
  for (const PlanOp& op : plan.ops) {
    if (op.op == OpClass::kMount && covers_strictly(mask.path, op.path)) inside.push_back(op.path);
  }
  return inside;
}

Status carry_out(NewRoot& root, const MountPlan& plan, const PlanOp& op, TakenSource* taken) {
  switch (op.op) {
    case OpClass::kMaskDir:
    case OpClass::kMaskFile:
    case OpClass::kPlaceholder:
      return root.add_mask(op, mounts_inside(plan, op));
    case OpClass::kSymlink:
      return root.add_link(op);
    case OpClass::kScratch:
      if (plan.scratch_is_tmpfs) return root.add_scratch(op.path, plan.scratch_bytes);
      break;
    case OpClass::kBase:
    case OpClass::kReadable:
    case OpClass::kWritable:
    case OpClass::kPin:
    case OpClass::kFrozen:
    case OpClass::kMount:
      break;
  }
  if (!takes_host_source(plan, op)) return {};
  TakenSource here;
  if (taken == nullptr) {
    LOOM_TRY(here, take_source(op, -1, plan));
    taken = &here;
  }
  for (const Tree& tree : taken->trees) LOOM_CHECK(root.add_tree(tree));
  taken->trees.clear();
  return {};
}

std::uint64_t namespaces_of(const BuildJob& job) {
  const std::uint64_t all = namespaces_for(job.request.policy);
  return job.cgroup >= 0 ? all & ~static_cast<std::uint64_t>(CLONE_NEWCGROUP) : all;
}

// What is made on the host is written down first: whatever becomes of this process, the helper can have it taken away.
// The locks are the helper's from then on.
Status guard_absent(const BuildJob& job, MountPlan& plan) {
  take_stale_away(plan);
  if (plan.guards.empty()) return {};
  LOOM_CHECK(write_guards(job.facts, plan));
  LOOM_TRY(const std::vector<PlaceholderLock> locks, hold_placeholders(plan, job.host.root_start));
  std::vector<int> pass;
  for (const PlaceholderLock& lock : locks) pass.push_back(lock.fd());
  if (pass.empty()) return {};
  if (send_word(job.control, stage2::FromStage2::kHeld, std::to_string(pass.size()), pass)) return {};
  return fail(kernel_error("control socket", "pass the locks of the placeholders", errno));
}

// From inside the new namespaces: the file tree, the name, nothing left of the host's.
Result<JailFacts> build_tree(const MountPlan& plan, TakenByOp& taken) {
  Result<NewRoot> made = NewRoot::make(plan);
  if (!made) return fail(no_container(made.error()));
  NewRoot& root = *made;
  const std::uint64_t scratch = plan.scratch_bytes != 0 ? plan.scratch_bytes : kDefaultScratch;
  if (const Status proc = root.add_proc(); !proc) return fail(no_container(proc.error()));
  if (const Status dev = root.add_dev(scratch); !dev) return fail(no_container(dev.error()));
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const auto found = taken.find(i);
    LOOM_CHECK(carry_out(root, plan, plan.ops[i], found == taken.end() ? nullptr : &found->second));
  }
  const bool writable_root = std::any_of(plan.ops.begin(), plan.ops.end(), [](const PlanOp& op) {
    return op.path == "/" && op.access == Access::kReadWrite;
  });
  LOOM_CHECK(root.enter(writable_root));
  if (::sethostname(kHostName, sizeof kHostName - 1) != 0) return fail(kernel_error("host name", "set it", errno));
  JailFacts facts;
  facts.masks = root.masks();
  facts.witness = root.take_witness();
  facts.container = true;
  return facts;
}

// The two descriptors that cross the exec get their numbers; nothing else stays open past it.
[[noreturn]] void become_stage2(const BuildJob& job, JailFacts& facts, const DescriptorLimit& files) {
  constexpr int kPastThem = stage2::kWitnessFd + 1;
  const int control = ::fcntl(job.control, F_DUPFD_CLOEXEC, kPastThem);
  const int program = ::fcntl(job.host.stage2.get(), F_DUPFD_CLOEXEC, kPastThem);
  const int witness = facts.witness ? ::fcntl(facts.witness.get(), F_DUPFD_CLOEXEC, kPastThem) : -1;
  if (control < 0 || program < 0 || (facts.witness && witness < 0))
    refuse(job.control, kernel_error("stage 2", "give its descriptors their numbers", errno));
  files.give_back();
  ::dup2(control, stage2::kControlFd);
  if (witness >= 0) {
    ::dup2(witness, stage2::kWitnessFd);
  } else {
    ::close(stage2::kWitnessFd);
  }
  ::syscall(SYS_close_range, kPastThem, ~0U, CLOSE_RANGE_CLOEXEC);
  std::array<char, 12> name{"loom-stage2"};
  std::array<char*, 2> argv{name.data(), nullptr};
  std::array<char*, 1> env{nullptr};
  ::syscall(SYS_execveat, program, "", argv.data(), env.data(), AT_EMPTY_PATH);
  refuse(stage2::kControlFd, kernel_error("stage 2", "execute it", errno));
}

// The orders stand in the socket before the one who obeys them is there.
Status give_orders(const BuildJob& job, const PlannedJail& planned, const JailFacts& facts) {
  LOOM_CHECK(write_facts(job.facts, planned.plan, facts, job.request.why));
  LOOM_TRY(const UniqueFd policy, policy_orders(job, planned, facts));
  LOOM_TRY(const UniqueFd request, request_orders(job, planned, facts));
  std::vector<int> pass{policy.get(), request.get()};
  if (!job.request.tty) pass.insert(pass.end(), job.streams.begin(), job.streams.end());
  if (facts.way_out) pass.insert(pass.end(), {job.host.bridge.get(), facts.way_out.get()});
  if (!send_order(job.helper_end, stage2::ToStage2::kOrders, pass)) {
    return fail(kernel_error("control socket", "put the orders into it", errno));
  }
  return {};
}

// The jail's loopback and the bridge's listener, while there still are the capabilities for it.
Status open_way_out(const BuildJob& job, const MountPlan& plan, JailFacts& facts) {
  if (no_way_out(job.host, job.request.policy, stage2::Container::kNative) != nullptr) return {};
  const auto socket =
      std::find_if(plan.ops.begin(), plan.ops.end(), [](const PlanOp& op) { return op.entry == kProxyEntry; });
  facts.proxy = socket != plan.ops.end() ? socket->path : job.request.policy.network.proxy;
  LOOM_CHECK(bring_up_loopback());
  LOOM_TRY(facts.way_out, listen_on_loopback(stage2::kBridgePort));
  return {};
}

// In the process that will be the jail's init.
[[noreturn]] void finish_inside(const BuildJob& job, const PlannedJail& planned, TakenByOp& taken, const JailIds& ids,
                                const DescriptorLimit& files) {
  if (job.cgroup >= 0 && ::unshare(CLONE_NEWCGROUP) != 0) refuse(job.control, no_container(namespace_error(errno)));
  Result<JailFacts> facts = build_tree(planned.plan, taken);
  if (!facts) refuse(job.control, facts.error());
  facts->ids = ids;
  if (Status opened = open_way_out(job, planned.plan, *facts); !opened) refuse(job.control, opened.error());
  const bool switch_ids = job.host.root_start;
  if (Status dropped = drop_privileges(switch_ids, ids.inside, ids.inside_group); !dropped)
    refuse(job.control, dropped.error());
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (Status said = give_orders(job, planned, *facts); !said) refuse(job.control, said.error());
  become_stage2(job, *facts, files);
}

[[noreturn]] void run_for_user(const BuildJob& job, const DescriptorLimit& files) {
  // An undumpable process does not own its own /proc files, and the maps are written there.
  ::prctl(PR_SET_DUMPABLE, 1);
  if (Status mapped = map_own_id(job.host.uid, job.host.gid); !mapped)
    refuse(job.control, no_container(mapped.error()));
  Result<PlannedJail> planned = plan_jail(job);
  if (!planned) refuse(job.control, planned.error());
  if (Status guarded = guard_absent(job, planned->plan); !guarded) refuse(job.control, guarded.error());
  TakenByOp none;
  const std::uint32_t uid = job.host.uid;
  const std::uint32_t gid = job.host.gid;
  finish_inside(job, *planned, none, {uid, gid, {uid, uid, 1}, {gid, gid, 1}}, files);
}

// The trees of the policy, cloned and idmapped by the one process that still may.
Result<TakenByOp> take_mapped(const BuildJob& job, MountPlan& plan) {
  const IdBlock block = block_for(job);
  Result<UniqueFd> made = make_idmap(block);
  if (!made) return fail(no_container(made.error()));
  const UniqueFd& idmap = *made;
  TakenByOp taken;
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const PlanOp& op = plan.ops[i];
    if (op.op == OpClass::kBase || !takes_host_source(plan, op)) continue;
    // A socket is there to be talked to, whoever owns it; what it lies on (a tmpfs, often) may have no map to give.
    const int map = is_own_socket(op.entry) ? -1 : idmap.get();
    LOOM_TRY(TakenSource source, take_source(op, map, plan));
    for (const Path& left : source.left_out) plan.events.push_back("submount-left-out=" + left);
    taken.emplace(i, std::move(source));
  }
  return taken;
}

[[noreturn]] void run_for_root(const BuildJob& job, const DescriptorLimit& files) {
  Result<PlannedJail> planned = plan_jail(job);
  if (!planned) refuse(job.control, planned.error());
  if (Status guarded = guard_absent(job, planned->plan); !guarded) refuse(job.control, guarded.error());
  Result<TakenByOp> taken = take_mapped(job, planned->plan);
  if (!taken) refuse(job.control, taken.error());
  std::array<int, 2> mapped{};
  if (::pipe2(mapped.data(), O_CLOEXEC) != 0) refuse(job.control, kernel_error("jail", "make a pipe", errno));
  UniqueFd pidfd;
  const std::uint32_t base = job.host.options.jail_uid;
  const long pid = clone_process(namespaces_of(job) | CLONE_PARENT, pidfd, job.cgroup);
  if (pid < 0 && job.cgroup >= 0 && is_cgroup_error(static_cast<int>(-pid)))
    refuse(job.control, kernel_error("cgroup", "start the jail in it", static_cast<int>(-pid)));
  if (pid < 0) refuse(job.control, no_container(namespace_error(static_cast<int>(-pid))));
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Ended by whoever maps its ids, or by that one's end: it never waits for nobody.
    ::close(mapped[1]);
    char go = 0;
    if (::read(mapped[0], &go, 1) != 1) ::_exit(1);
    if (Status root = become_namespace_root(); !root) refuse(job.control, root.error());
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    finish_inside(job, *planned, *taken, {kJailUser, kJailUser, {0, base, kJailIdCount}, {0, base, kJailIdCount}},
                  files);
  }
  send_word(job.control, stage2::FromStage2::kJail, "", {pidfd.get()});
  const Status done = map_block(static_cast<pid_t>(pid), base);
  if (!done) refuse(job.control, no_container(done.error()));
  if (::write(mapped[1], "m", 1) != 1) refuse(job.control, kernel_error("jail", "let it go on", errno));
  ::_exit(0);
}

// Every layer but namespaces and mounts goes on in stage 2, as ever.
[[noreturn]] void run_bwrap(const BuildJob& job, const DescriptorLimit& files) {
  Result<PlannedJail> planned = plan_jail(job);
  if (!planned) refuse(job.control, planned.error());
  leave_all_unguarded(planned->plan);
  if (Status said = write_guards(job.facts, planned->plan); !said) refuse(job.control, said.error());
  Result<BwrapCommand> command = command_for(job, planned->plan);
  if (!command) refuse(job.control, command.error());
  for (const Path& path : command->unguarded) planned->plan.events.push_back("unguarded=" + path);
  JailFacts facts;
  facts.container = true;
  facts.bwrap = true;
  // It maps the user to 0 in a namespace of its own, for the sake of devpts, and from there to the jail's.
  facts.ids = {job.host.uid, job.host.gid, {job.host.uid, 0, 1}, {job.host.gid, 0, 1}};
  if (Status said = give_orders(job, *planned, facts); !said) refuse(job.control, said.error());
  files.give_back();
  refuse(job.control, become_bwrap(job, std::move(*command)));
}

[[noreturn]] void run_degraded(const BuildJob& job, const DescriptorLimit& files) {
  Result<PlannedJail> planned = plan_jail(job);
  if (!planned) refuse(job.control, planned.error());
  leave_all_unguarded(planned->plan);
  if (Status said = write_guards(job.facts, planned->plan); !said) refuse(job.control, said.error());
  JailFacts facts;
  facts.ids = {job.host.uid, job.host.gid, {}, {}};
  if (job.host.root_start) {
    // Never as the host's root: the command's place in the block, without the swap, which takes a mount namespace.
    facts.ids.inside = facts.ids.inside_group = job.host.options.jail_uid + kJailUser;
  }
  if (Status said = give_orders(job, *planned, facts); !said) refuse(job.control, said.error());
  if (job.host.root_start) {
    ::syscall(SYS_setgroups, 0, nullptr);
    if (Status dropped = drop_privileges(true, facts.ids.inside, facts.ids.inside_group); !dropped)
      refuse(job.control, dropped.error());
  }
  shed_capabilities();
  become_stage2(job, facts, files);
}

}  // namespace

std::uint64_t namespaces_for(const Policy& policy) {
  constexpr std::uint64_t kAlways =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  return policy.network.mode == NetworkMode::kFull ? kAlways : kAlways | CLONE_NEWNET;
}

std::uint64_t builder_flags(const BuildJob& job) {
  if (!job.container || job.bwrap) return 0;
  return job.host.root_start ? static_cast<std::uint64_t>(CLONE_NEWNS) : namespaces_of(job);
}

void run_builder(const BuildJob& job) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const DescriptorLimit files;
  if (!job.container) run_degraded(job, files);
  if (job.bwrap) run_bwrap(job, files);
  if (job.host.root_start) run_for_root(job, files);
  run_for_user(job, files);
}

}  // namespace loom::helper
