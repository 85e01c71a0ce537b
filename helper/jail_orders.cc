#include "helper/jail_orders.h"

#include <sys/resource.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "helper/kernel.h"
#include "helper/orders.h"
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
      return stage2::kClassMask;
    case OpClass::kMount:
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
    check.device = device_number(facts.masks.device);
    check.inode = directory ? facts.masks.directory : facts.masks.file;
  }
  return check;
}

void add_own_checks(OrdersWriter& orders, const MountPlan& plan) {
  const auto asked = std::find_if(plan.ops.begin(), plan.ops.end(), [](const PlanOp& op) { return op.path == "/"; });
  if (asked == plan.ops.end()) {
    orders.add(stage2::Tag::kMountCheck, stage2::MountCheck{stage2::kClassOther, stage2::Expect::kReadOnly, 0, 0}, "/");
  }
  // In the minimal view /dev is a directory of the root's own file system.
  for (const char* path : {"/proc/sys", "/dev"}) {
    if (path == std::string_view("/dev") && !plan.host_view) continue;
    orders.add(stage2::Tag::kMountCheck, stage2::MountCheck{stage2::kClassOther, stage2::Expect::kReadOnly, 0, 0},
               path);
  }
}

void add_rlimit(OrdersWriter& orders, unsigned resource, stage2::Witness witness, std::uint64_t value) {
  orders.add(stage2::Tag::kRlimit, stage2::Rlimit{resource, witness, value});
}

void add_rlimits(OrdersWriter& orders, const Limits& limits, bool container) {
  add_rlimit(orders, RLIMIT_CORE, stage2::kSawCore, 0);
  if (limits.cpu_s != 0) add_rlimit(orders, RLIMIT_CPU, stage2::kSawCpu, limits.cpu_s);
  if (limits.fsize_bytes != 0) add_rlimit(orders, RLIMIT_FSIZE, stage2::kSawFsize, limits.fsize_bytes);
  // One more than asked, for init. Only where it is counted in a user namespace of the jail's own.
  if (limits.pids != 0 && container) add_rlimit(orders, RLIMIT_NPROC, stage2::kSawPids, limits.pids + 1);
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

}  // namespace

Result<UniqueFd> policy_orders(const BuildJob& job, const PlannedJail& planned, const JailFacts& facts) {
  const MountPlan& plan = planned.plan;
  OrdersWriter orders;
  orders.add(stage2::Tag::kSetup, stage2::Setup{facts.container ? 1U : 0U, facts.ids.inside, facts.ids.map_inside,
                                                facts.ids.map_outside, facts.ids.map_count});
  add_seccomp(orders, {job.request.policy.network.mode, facts.container});
  const auto rules_of = facts.container ? &landlock_plan : &landlock_plan_of_host_tree;
  add_landlock(orders, rules_of(plan, job.request.policy.network.mode, job.host.landlock_abi));
  if (facts.container) {
    for (const PlanOp& op : plan.ops) {
      if (is_checked(op)) orders.add(stage2::Tag::kMountCheck, check_for(plan, op, facts), op.path);
    }
    add_own_checks(orders, plan);
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
  add_rlimits(orders, request.policy.limits, facts.container);
  if (request.tty) {
    orders.add(stage2::Tag::kTty, stage2::Tty{static_cast<std::uint16_t>(request.tty->rows),
                                              static_cast<std::uint16_t>(request.tty->cols)});
  }
  return orders.finish();
}

Status write_facts(int fd, const MountPlan& plan, const JailFacts& facts) {
  std::string said;
  if (facts.container) add_fact(said, FactKind::kMountsTag, mounts_tag(plan, planned_counts(plan)));
  for (const std::string& event : plan.events) add_fact(said, FactKind::kEvent, event);
  for (const std::string& skip : plan.skips) add_fact(said, FactKind::kSkip, skip);
  return fill_memory_file(fd, said);
}

}  // namespace loom::helper
