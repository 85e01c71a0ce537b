#include "helper/jail_orders.h"

#include <sys/resource.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <map>

#include "helper/kernel.h"
#include "helper/orders.h"
#include "helper/placeholders.h"
#include "helper/why.h"
#include "plan/file_calls.h"
#include "plan/landlock_rules.h"
#include "plan/seccomp_filter.h"
#include "plan/seccomp_table.h"

namespace loom::helper {
namespace {

std::uint64_t device_number(std::uint64_t device) {
  return (std::uint64_t{::gnu_dev_major(device)} << 32U) | ::gnu_dev_minor(device);
}

stage2::MountClass class_of(const MountPlan& plan, const PlanOp& op) {
  switch (op.op) {
    case OpClass::kReadable:
      return stage2::kClassRo;
    case OpClass::kWritable:
      return stage2::kClassRw;
    case OpClass::kScratch:
      return plan.scratch_is_tmpfs ? stage2::kClassOther : stage2::kClassRw;
    case OpClass::kPin:
      return stage2::kClassPin;
    case OpClass::kFrozen:
      return stage2::kClassFrozen;
    case OpClass::kMaskDir:
    case OpClass::kMaskFile:
    case OpClass::kPlaceholder:
      return stage2::kClassMask;
    case OpClass::kMount:
      if (is_own_socket(op.entry)) break;  // of the layer egress-proxy, not of the policy's mounts
      return op.access == Access::kReadOnly ? stage2::kClassBindRo : stage2::kClassBindRw;
    case OpClass::kBase:
    case OpClass::kSymlink:
      break;
  }
  return stage2::kClassOther;
}

// Whether stage 2 is to look at what an operation did. What may have been left out (an optional source that vanished)
// is not asked for, and links are no mounts.
bool is_checked(const PlanOp& op) {
  return op.op != OpClass::kSymlink && !(op.op == OpClass::kBase && op.optional);
}

stage2::MountCheck check_for(const MountPlan& plan, const PlanOp& op, const JailFacts& facts) {
  stage2::MountCheck check{};
  check.mount_class = class_of(plan, op);
  check.expect = op.access == Access::kReadWrite ? stage2::Expect::kReadWrite : stage2::Expect::kReadOnly;
  check.device = device_number(op.device);
  check.inode = op.inode;
  if (op.op == OpClass::kMaskDir || op.op == OpClass::kMaskFile) {
    const bool directory = op.op == OpClass::kMaskDir;
    check.expect = directory ? stage2::Expect::kMaskDir : stage2::Expect::kMaskFile;
    check.device = facts.bwrap ? 0 : device_number(facts.masks.device);
    check.inode = directory ? facts.masks.directory : facts.masks.file;
    if (const auto opened = facts.masks.opened.find(op.path); opened != facts.masks.opened.end()) {
      check.expect = stage2::Expect::kReadOnly;
      check.inode = opened->second;
    }
  } else if (op.op == OpClass::kPlaceholder) {
    check.expect = stage2::Expect::kReadOnly;
    check.device = device_number(facts.masks.device);
    check.inode = op.kind == NodeKind::kDirectory ? facts.masks.absent
                                                  : (op.target.empty() ? facts.masks.nothing : facts.masks.dot);
  }
  return check;
}

void add_own_checks(OrdersWriter& orders, const MountPlan& plan, const JailFacts& facts) {
  const auto asked = std::find_if(plan.ops.begin(), plan.ops.end(), [](const PlanOp& op) { return op.path == "/"; });
  if (asked == plan.ops.end()) {
    orders.add(stage2::Tag::kMountCheck, stage2::MountCheck{stage2::kClassOther, stage2::Expect::kReadOnly, 0, 0}, "/");
  }
  // In the minimal view /dev is a directory of the root's own file system.
  for (const char* path : {"/proc/sys", "/dev"}) {
    // Where bubblewrap builds, /dev is a file system of its own, and /proc/sys belongs to an id that nobody has.
    if (facts.bwrap ? path == std::string_view("/proc/sys") : path == std::string_view("/dev") && !plan.host_view)
      continue;
    orders.add(stage2::Tag::kMountCheck, stage2::MountCheck{stage2::kClassOther, stage2::Expect::kReadOnly, 0, 0},
               path);
  }
}

void add_rlimit(OrdersWriter& orders, unsigned resource, stage2::Witness witness, std::uint64_t value) {
  orders.add(stage2::Tag::kRlimit, stage2::Rlimit{resource, witness, value});
}

void add_rlimits(OrdersWriter& orders, const Limits& limits, bool counts_processes, bool bridge) {
  add_rlimit(orders, RLIMIT_CORE, stage2::kSawCore, 0);
  if (limits.cpu_s != 0) add_rlimit(orders, RLIMIT_CPU, stage2::kSawCpu, limits.cpu_s);
  if (limits.fsize_bytes != 0) add_rlimit(orders, RLIMIT_FSIZE, stage2::kSawFsize, limits.fsize_bytes);
  // One more than asked, for init, and one for the bridge.
  const std::uint64_t ours = bridge ? 2 : 1;
  if (limits.pids != 0 && counts_processes) add_rlimit(orders, RLIMIT_NPROC, stage2::kSawPids, limits.pids + ours);
}

void add_seccomp(OrdersWriter& orders, const SeccompScope& scope) {
  orders.add_bytes(stage2::Tag::kSeccomp, compile_seccomp(seccomp_table(scope), kThisMachine));
  for (const SeccompProbe& probe : seccomp_probes(scope, kThisMachine)) {
    orders.add(stage2::Tag::kSeccompProbe, stage2::SeccompProbe{probe.net ? 1U : 0U,
                                                                static_cast<std::uint32_t>(probe.number),
                                                                probe.error,
                                                                0,
                                                                {probe.args[0], probe.args[1], probe.args[2]}});
  }
}

stage2::Container container_of(const JailFacts& facts) {
  if (!facts.container) return stage2::Container::kNone;
  return facts.bwrap ? stage2::Container::kBwrap : stage2::Container::kNative;
}

stage2::Watch watch_of(Why why) {
  switch (why) {
    case Why::kNothing:
      return stage2::Watch::kNothing;
    case Why::kCalls:
      return stage2::Watch::kCalls;
    case Why::kPaths:
      return stage2::Watch::kPaths;
  }
  return stage2::Watch::kNothing;
}

stage2::PathUse use_of(PathNeed need) {
  switch (need) {
    case PathNeed::kLook:
      return stage2::PathUse::kLook;
    case PathNeed::kRead:
      return stage2::PathUse::kRead;
    case PathNeed::kWrite:
      return stage2::PathUse::kWrite;
    case PathNeed::kChange:
      return stage2::PathUse::kChange;
  }
  return stage2::PathUse::kLook;
}

std::uint32_t place(int argument) {
  return argument == kNoArgument ? stage2::kNoArgument : static_cast<std::uint32_t>(argument);
}

// What init answers: file calls go on, every other call that the rows refuse is refused with their error.
void add_watched(OrdersWriter& orders, const std::vector<SeccompRow>& rows, const std::vector<FileCall>& told) {
  std::map<int, stage2::Watched> answers;
  for (const SeccompRow& row : rows) {
    const int number = number_on(row, kThisMachine);
    if (number < 0 || row.error == kEnosys) continue;
    stage2::Watched& answer = answers[number];
    answer.number = static_cast<std::uint32_t>(number);
    answer.error = row.error;
    for (const ArgTest& test : row.tests) answer.looked_at |= 1U << test.index;
  }
  for (const FileCall& call : told) {
    const int number = number_on(call, kThisMachine);
    if (number < 0) continue;
    answers[number] = stage2::Watched{static_cast<std::uint32_t>(number),
                                      0,
                                      0,
                                      use_of(call.need),
                                      {place(call.path), place(call.second_path)},
                                      {place(call.directory), place(call.second_directory)},
                                      place(call.flags),
                                      0};
  }
  for (const auto& [number, answer] : answers) orders.add(stage2::Tag::kWatched, answer);
}

void add_watch(OrdersWriter& orders, const SeccompScope& scope, Why why) {
  if (why == Why::kNothing) return;
  const std::vector<SeccompRow> rows = seccomp_table(scope);
  const std::vector<FileCall> told = why == Why::kPaths ? file_calls() : std::vector<FileCall>();
  orders.add_bytes(stage2::Tag::kSeccompWatch, compile_watching_seccomp(rows, told, kThisMachine));
  add_watched(orders, rows, told);
}

void add_landlock(OrdersWriter& orders, const LandlockPlan& plan) {
  if (plan.abi == 0) return;
  orders.add(stage2::Tag::kLandlock, stage2::Landlock{plan.handled_fs, plan.handled_net, plan.scoped,
                                                      plan.attribute_bytes, static_cast<std::uint32_t>(plan.abi)});
  for (const LandlockRule& rule : plan.rules) {
    orders.add(stage2::Tag::kLandlockRule, stage2::LandlockRule{rule.access}, rule.path);
  }
  for (const LandlockPort& port : plan.ports) {
    orders.add(stage2::Tag::kLandlockPort, stage2::LandlockPort{port.access, port.port});
  }
}

std::string block_of(const std::vector<std::string>& strings) {
  std::string block;
  for (const std::string& text : strings) block.append(text) += '\0';
  return block;
}

void add_fact(std::string& said, FactKind kind, const std::string& text) {
  said += static_cast<char>(kind);
  said.append(text) += '\0';
}

// Enough of the plan for judge_path, in the process that only hears of attempts.
void add_plan(std::string& said, const MountPlan& plan) {
  for (const PlanOp& op : plan.ops) add_fact(said, FactKind::kPlanOp, plan_op_text(op));
  for (const FollowedLink& link : plan.links) add_fact(said, FactKind::kPlanLink, plan_link_text(link));
}

}  // namespace

Result<UniqueFd> policy_orders(const BuildJob& job, const PlannedJail& planned, const JailFacts& facts) {
  const MountPlan& plan = planned.plan;
  OrdersWriter orders;
  orders.add(stage2::Tag::kSetup, stage2::Setup{container_of(facts), facts.ids.inside, facts.ids.inside_group,
                                                facts.ids.users, facts.ids.groups, job.host.root_start ? 1U : 0U,
                                                watch_of(job.request.why), plan.host_view || !facts.container ? 1U : 0U,
                                                facts.container ? device_number(facts.masks.device) : 0});
  const Network& network = job.request.policy.network;
  // What would lead to the bridge leads to the host's own loopback where the jail has none.
  const bool no_loopback = network.mode == NetworkMode::kProxy && !facts.container;
  const NetworkMode mode = no_loopback ? NetworkMode::kOff : network.mode;
  const SeccompScope scope{mode, facts.container};
  add_seccomp(orders, scope);
  add_watch(orders, scope, job.request.why);
  const auto rules_of = facts.container ? &landlock_plan : &landlock_plan_of_host_tree;
  add_landlock(orders, rules_of(plan, mode, job.host.landlock_abi));
  if (facts.way_out) orders.add_bytes(stage2::Tag::kBridge, facts.proxy + '\0');
  if (facts.container) {
    for (const PlanOp& op : plan.ops) {
      if (is_checked(op)) orders.add(stage2::Tag::kMountCheck, check_for(plan, op, facts), op.path);
    }
    add_own_checks(orders, plan, facts);
  }
  return orders.finish();
}

Result<UniqueFd> request_orders(const BuildJob& job, const PlannedJail& planned, const JailFacts& facts) {
  const ExecRequest& request = job.request;
  OrdersWriter orders;
  orders.add_bytes(stage2::Tag::kArgv, block_of(request.argv));
  std::vector<std::string> env;
  for (const auto& [name, value] : planned.environment.variables) env.push_back(name + "=" + value);
  orders.add_bytes(stage2::Tag::kEnv, block_of(env));
  orders.add_bytes(stage2::Tag::kCwd, request.cwd + '\0');
  // Only where it is counted in a user namespace of the jail's own; a cgroup counts better, and says when it refused.
  add_rlimits(orders, request.policy.limits, facts.container && job.cgroup < 0, facts.way_out.valid());
  if (request.tty) {
    orders.add(stage2::Tag::kTty, stage2::Tty{static_cast<std::uint16_t>(request.tty->rows),
                                              static_cast<std::uint16_t>(request.tty->cols)});
  }
  return orders.finish();
}

// What is written later goes behind it.
Status write_guards(int fd, const MountPlan& plan) {
  std::string said;
  for (const GuardRecord& record : guard_records(plan)) add_fact(said, FactKind::kGuard, encode_guard(record));
  return fill_memory_file(fd, said);
}

Status write_facts(int fd, const MountPlan& plan, const JailFacts& facts, Why why) {
  std::string said;
  if (facts.container) add_fact(said, FactKind::kMountsTag, mounts_tag(plan, planned_counts(plan)));
  for (const std::string& event : plan.events) add_fact(said, FactKind::kEvent, event);
  for (const std::string& skip : plan.skips) add_fact(said, FactKind::kSkip, skip);
  if (why == Why::kPaths) add_plan(said, plan);
  return fill_memory_file(fd, said);
}

}  // namespace loom::helper
