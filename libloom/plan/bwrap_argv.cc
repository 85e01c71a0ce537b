#include "plan/bwrap_argv.h"

#include <utility>

namespace loom {
namespace {

class Writer {
 public:
  explicit Writer(int first_empty) : next_(first_empty) {}

  void add(std::initializer_list<std::string> words) { command.argv.insert(command.argv.end(), words); }
  void tmpfs(const Path& path, const char* mode, std::uint64_t bytes) {
    add({"--perms", mode});
    if (bytes != 0) add({"--size", std::to_string(bytes)});
    add({"--tmpfs", path});
  }
  void empty_file(const Path& path, const char* mode) {
    add({"--perms", mode, "--ro-bind-data", std::to_string(next_++), path});
    ++command.empty_files;
  }

  BwrapCommand command;

 private:
  int next_;
};

void bind(Writer& out, const PlanOp& op) {
  std::string option = op.access == Access::kReadWrite ? "--bind" : "--ro-bind";
  if (op.optional) option += "-try";
  out.add({std::move(option), op.path, op.path});
}

void carry_out(Writer& out, const MountPlan& plan, const PlanOp& op) {
  switch (op.op) {
    case OpClass::kSymlink:
      return out.add({"--symlink", op.target, op.path});
    case OpClass::kScratch:
      if (plan.scratch_is_tmpfs) return out.tmpfs(op.path, "1777", plan.scratch_bytes);
      return bind(out, op);
    case OpClass::kMaskDir:
      out.tmpfs(op.path, "0555", 0);
      return out.add({"--remount-ro", op.path});
    case OpClass::kMaskFile:
      return out.empty_file(op.path, "0000");
    case OpClass::kPlaceholder:
      return out.command.unguarded.push_back(op.path);
    case OpClass::kPin:
      // It binds what a link leads to, over what the link leads to.
      if (op.kind == NodeKind::kSymlink) return out.command.unguarded.push_back(op.path);
      return out.add({"--bind", op.path, op.path});
    case OpClass::kBase:
    case OpClass::kReadable:
    case OpClass::kWritable:
    case OpClass::kFrozen:
    case OpClass::kMount:
      return bind(out, op);
  }
}

}  // namespace

Result<BwrapCommand> bwrap_command(const MountPlan& plan, bool host_network, const std::string& program,
                                   int first_empty) {
  if (plan.host_view) {
    return fail("plan_refused", "/", "host_view: the bwrap backend gives no view of the whole host",
                "name the directories that are needed");
  }
  Writer out(first_empty);
  out.add({"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"});
  if (!host_network) out.add({"--unshare-net"});
  out.add({"--as-pid-1", "--hostname", "loom", "--proc", "/proc", "--dev", "/dev"});
  out.tmpfs("/dev/shm", "1777", plan.scratch_bytes);
  out.empty_file(kBwrapWitness, "0444");
  for (const PlanOp& op : plan.ops) carry_out(out, plan, op);
  out.add({"--remount-ro", "/dev", "--remount-ro", "/", "--", program});
  if (out.command.argv.size() > kBwrapMostArguments) {
    return fail("plan_refused", "bwrap",
                "too_many_arguments: the plan needs " + std::to_string(out.command.argv.size()) +
                    ", and it takes at most " + std::to_string(kBwrapMostArguments));
  }
  return std::move(out.command);
}

}  // namespace loom
