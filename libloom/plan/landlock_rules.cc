#include "plan/landlock_rules.h"

#include <algorithm>

#include "plan/path_index.h"

namespace loom {
namespace {

using namespace landlock;

constexpr std::uint64_t kRead = kExecute | kReadFile | kReadDir;
constexpr std::uint64_t kMake =
    kMakeChar | kMakeDir | kMakeRegular | kMakeSocket | kMakeFifo | kMakeBlock | kMakeSymlink;
constexpr std::uint64_t kWrite = kRead | kWriteFile | kRemoveDir | kRemoveFile | kMake | kRefer | kTruncate;
constexpr std::uint64_t kOfFiles = kExecute | kReadFile | kWriteFile | kTruncate | kIoctlDevice | kResolveUnix;
constexpr std::uint64_t kTerminal = kReadFile | kWriteFile | kIoctlDevice;

std::uint64_t handled_fs(int abi) {
  std::uint64_t handled = kRead | kWriteFile | kRemoveDir | kRemoveFile | kMake;
  if (abi >= 2) handled |= kRefer;
  if (abi >= 3) handled |= kTruncate;
  if (abi >= 5) handled |= kIoctlDevice;
  if (abi >= 9) handled |= kResolveUnix;
  return handled;
}

unsigned attribute_bytes(int abi) {
  if (abi >= 6) return 24;
  return abi >= 4 ? 16 : 8;
}

// What one operation of the plan opens; 0 for those that open nothing.
std::uint64_t opened_by(const PlanOp& op) {
  const std::uint64_t bound = op.access == Access::kReadWrite ? kWrite : kRead;
  switch (op.op) {
    case OpClass::kBase:
    case OpClass::kReadable:
    case OpClass::kWritable:
    case OpClass::kScratch:
    case OpClass::kFrozen:
      return bound;
    case OpClass::kMount:
      return bound | kResolveUnix;  // a socket is mounted to be talked to
    case OpClass::kSymlink:
    case OpClass::kPin:
    case OpClass::kMaskDir:
    case OpClass::kMaskFile:
    case OpClass::kPlaceholder:
      return 0;
  }
  return 0;
}

class Rules {
 public:
  explicit Rules(LandlockPlan& plan) : plan_(plan) {}

  void open(const Path& path, std::uint64_t access, NodeKind kind, bool optional) {
    access &= plan_.handled_fs;
    if (kind != NodeKind::kDirectory) access &= kOfFiles;
    if (access == 0 || opened_already(path, access)) return;
    opened_.add(path, plan_.rules.size());
    plan_.rules.push_back({path, access, optional});
  }

 private:
  // Rules add up along a path: what one above opens needs no second rule, and ten thousand frozen entries none at all.
  [[nodiscard]] bool opened_already(const Path& path, std::uint64_t access) const {
    for (std::string_view at = path; !at.empty(); at = parent_of(at)) {
      if (const auto rule = opened_.at(at)) access &= ~plan_.rules[*rule].access;
    }
    return access == 0;
  }

  LandlockPlan& plan_;
  PathIndex opened_;
};

void open_own_trees(Rules& rules) {
  constexpr auto kDirectory = NodeKind::kDirectory;
  rules.open("/proc", kReadFile | kReadDir | kWriteFile | kTruncate, kDirectory, false);
  rules.open("/dev", kReadFile | kReadDir | kWriteFile | kTruncate, kDirectory, false);
  rules.open("/dev/shm", kWrite, kDirectory, true);
  rules.open("/dev/pts", kTerminal, kDirectory, true);
  rules.open("/dev/ptmx", kTerminal, NodeKind::kFile, true);
  rules.open("/dev/tty", kTerminal, NodeKind::kFile, true);
}

// What every program uses of the host's /proc and /dev, where they are not the jail's own.
void open_shared_trees(Rules& rules) {
  rules.open("/proc", kReadFile | kReadDir, NodeKind::kDirectory, false);
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}) {
    rules.open(device, kReadFile | kWriteFile | kTruncate, NodeKind::kFile, true);
  }
}

// All but the file rules.
LandlockPlan without_rules(NetworkMode network, int abi) {
  LandlockPlan made;
  made.abi = std::clamp(abi, 0, kNewestAbi);
  if (made.abi == 0) return made;
  made.handled_fs = handled_fs(made.abi);
  made.attribute_bytes = attribute_bytes(made.abi);
  made.confines_path_sockets = made.abi >= 9;
  if (made.abi >= 4 && network != NetworkMode::kFull) {
    made.handled_net = kBindTcp | kConnectTcp;
    if (network == NetworkMode::kProxy) made.ports.push_back({kProxyPort, kConnectTcp});
  }
  if (made.abi >= 6) made.scoped = kAbstractSockets | kSignals;
  return made;
}

}  // namespace

LandlockPlan landlock_plan(const MountPlan& plan, NetworkMode network, int abi) {
  LandlockPlan made = without_rules(network, abi);
  if (made.abi == 0) return made;
  Rules rules(made);
  for (const PlanOp& op : plan.ops) rules.open(op.path, opened_by(op), op.kind, op.optional);
  rules.open("/", kReadDir, NodeKind::kDirectory, false);
  open_own_trees(rules);
  return made;
}

LandlockPlan landlock_plan_of_host_tree(const MountPlan& plan, NetworkMode network, int abi) {
  LandlockPlan made = without_rules(network, abi);
  if (made.abi == 0) return made;
  Rules rules(made);
  for (const PlanOp& op : plan.ops) {
    if (op.op == OpClass::kScratch && plan.scratch_is_tmpfs) continue;
    rules.open(op.path, opened_by(op), op.kind, op.optional);
  }
  rules.open("/", kReadDir, NodeKind::kDirectory, false);
  open_shared_trees(rules);
  return made;
}

}  // namespace loom
