#include "helper/new_root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "helper/host_context.h"
#include "helper/kernel.h"
#include "helper/stage2/protocol.h"

namespace loom::helper {
namespace {

constexpr std::uint64_t kInert = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t kBytesPerInode = 4096;
constexpr std::array<const char*, 6> kDevices{"null", "zero", "full", "random", "urandom", "tty"};
constexpr std::array<const char*, 6> kProcClosed{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi"};
// Keys belong to a user, not to a namespace: their names would be read there.
constexpr std::array<const char*, 2> kProcHidden{"keys", "key-users"};

Status private_everywhere() {
  mount_attr attributes{};
  attributes.propagation = MS_PRIVATE;
  if (::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes) != 0) {
    return fail(kernel_error("/", "part the jail's mounts from the host's", errno));
  }
  return {};
}

// Lays a mount over "/": the process's root stays what is below it.
Status lay_over(int mount) {
  const UniqueFd top(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return fail(kernel_error("/", "open it", errno));
  return attach(mount, top.get(), "/");
}

// After the pivot the host's tree lies over the new root, and the masks over that; a name finds the topmost. Until
// nothing of them is left, ".." of the new root leads into the host's tree.
Status let_old_root_go(int new_root) {
  const std::uint64_t own = mount_id(new_root);
  for (int layer = 0; layer < 4; ++layer) {
    const UniqueFd above(::openat(new_root, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!above) return fail(kernel_error("/", "look above it", errno));
    if (own != 0 && mount_id(above.get()) == own) return {};
    if (::umount2(".", MNT_DETACH) != 0) return fail(kernel_error("/", "let the host's tree go", errno));
  }
  return fail("spawn_failed", "/", "the host's tree does not go");
}

Status made_file(int directory, const char* name, mode_t mode) {
  const UniqueFd file(::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) return fail(kernel_error(name, "make it", errno));
  return {};
}

Result<std::uint64_t> made_readable(int directory, const char* name, const std::string& content) {
  const UniqueFd file(::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  struct stat facts {};
  if (!file || ::write(file.get(), content.data(), content.size()) < 0 || ::fstat(file.get(), &facts) != 0)
    return fail(kernel_error(name, "make it", errno));
  return facts.st_ino;
}

tl::unexpected<Error> changed_under(const PlanOp& op) {
  return fail("plan_refused", op.path, "source_changed: " + op.entry + " is no longer the file that was looked at");
}

}  // namespace

Result<NewRoot> NewRoot::make(const MountPlan& plan) {
  NewRoot made;
  LOOM_CHECK(private_everywhere());
  made.old_root_ = UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!made.old_root_) return fail(kernel_error("/", "open it", errno));
  ::umask(0);
  if (plan.host_view) {
    LOOM_CHECK(made.make_from_host_view(plan));
  } else {
    LOOM_CHECK(made.make_minimal());
  }
  return made;
}

// One tmpfs is the root, /dev and the place of the masks: every file system costs as much as ten binds. The masks lie
// in the directory that /proc will cover.
Status NewRoot::make_minimal() {
  LOOM_TRY(root_, new_mount("tmpfs", {{"mode", "0755"}, {"size", "16m"}}, kInert));
  LOOM_CHECK(lay_over(root_.get()));
  ours_.push_back(mount_id(root_.get()));
  for (const char* name : {"proc", "dev"}) {
    if (::mkdirat(root_.get(), name, 0755) != 0) return fail(kernel_error(name, "make the directory", errno));
  }
  masks_ = UniqueFd(::openat(root_.get(), "proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  dev_ = UniqueFd(::openat(root_.get(), "dev", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return make_masks();
}

Status NewRoot::make_from_host_view(const MountPlan& plan) {
  // Before anything lies over "/": a clone takes along what does.
  LOOM_TRY(root_, clone_tree(old_root_.get(), "/"));
  const auto asked = std::find_if(plan.ops.begin(), plan.ops.end(), [](const PlanOp& op) { return op.path == "/"; });
  const bool writable = asked != plan.ops.end() && asked->access == Access::kReadWrite;
  LOOM_CHECK(set_mount(root_.get(), kInert | (writable ? 0 : MOUNT_ATTR_RDONLY), "/"));
  LOOM_TRY(masks_, new_mount("tmpfs", {{"mode", "0755"}, {"size", "64k"}}, kInert | MOUNT_ATTR_NOEXEC));
  LOOM_CHECK(lay_over(masks_.get()));
  LOOM_CHECK(make_masks());
  LOOM_CHECK(attach(root_.get(), masks_.get(), "/"));
  LOOM_TRY(dev_, new_mount("tmpfs", {{"mode", "0755"}, {"size", "64k"}}, kInert | MOUNT_ATTR_NOEXEC));
  LOOM_TRY(const UniqueFd at, destination("/dev", true));
  LOOM_CHECK(attach(dev_.get(), at.get(), "/dev"));
  ours_.push_back(mount_id(dev_.get()));
  own_dev_ = true;
  return {};
}

Status NewRoot::make_masks() {
  if (::mkdirat(masks_.get(), "directory", 0555) != 0) return fail(kernel_error("masks", "make them", errno));
  LOOM_CHECK(made_file(masks_.get(), "file", 0));
  LOOM_CHECK(made_file(masks_.get(), stage2::kWitnessFile, 0444));
  struct stat facts {};
  if (::fstatat(masks_.get(), "directory", &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(kernel_error("masks", "look at them", errno));
  mask_facts_.device = facts.st_dev;
  mask_facts_.directory = facts.st_ino;
  if (::fstatat(masks_.get(), "file", &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(kernel_error("masks", "look at them", errno));
  mask_facts_.file = facts.st_ino;
  return {};
}

bool NewRoot::is_ours(int fd) const {
  return std::find(ours_.begin(), ours_.end(), mount_id(fd)) != ours_.end();
}

Status NewRoot::make_in(int parent, const std::string& name, bool directory, const Path& path) {
  if (!is_ours(parent)) {
    return fail("plan_refused", path,
                "destination_missing: the view has no such path, and nothing is made on the host");
  }
  if (directory) {
    if (::mkdirat(parent, name.c_str(), 0755) != 0) return fail(kernel_error(path, "make the mount point", errno));
    // In the scratch what leads to a root is the command's, as it is when a user starts the jail.
    const bool given =
        ::geteuid() == 0 && std::find(scratches_.begin(), scratches_.end(), mount_id(parent)) != scratches_.end();
    if (given && ::fchownat(parent, name.c_str(), kJailUser, kJailUser, AT_SYMLINK_NOFOLLOW) != 0)
      return fail(kernel_error(path, "give it to the command", errno));
    return {};
  }
  return made_file(parent, name.c_str(), 0444);
}

Result<UniqueFd> NewRoot::destination(const Path& path, bool directory) {
  const std::string relative = path == "/" ? "." : path.substr(1);
  int fd = open_without_links(root_.get(), relative, true);
  if (fd == -ENOENT) {
    const std::size_t slash = path.rfind('/');
    LOOM_TRY(const UniqueFd parent, destination(slash == 0 ? "/" : path.substr(0, slash), true));
    LOOM_CHECK(make_in(parent.get(), path.substr(slash + 1), directory, path));
    fd = open_without_links(root_.get(), relative, true);
  }
  if (fd == -ELOOP) return fail("plan_refused", path, "destination_through_link: a link stands in its way in the jail");
  if (fd < 0) return fail(kernel_error(path, "reach it in the jail", -fd));
  return UniqueFd(fd);
}

Status NewRoot::add_tree(const Tree& tree) {
  if (tree.path == "/") return {};  // the host view is the root itself
  LOOM_TRY(const UniqueFd at, destination(tree.path, tree.kind == NodeKind::kDirectory));
  return attach(tree.mount.get(), at.get(), tree.path);
}

// A directory with nothing in it but the way to each place, under a name of its own among the masks.
Result<std::string> NewRoot::make_opened_mask(const PlanOp& op, const std::vector<Path>& inside) {
  const std::string name = "opened" + std::to_string(mask_facts_.opened.size());
  const auto make_directory = [&](const std::string& at) -> Status {
    if (::mkdirat(masks_.get(), at.c_str(), 0555) == 0 || errno == EEXIST) return {};
    return fail(kernel_error(op.path, "make its mask", errno));
  };
  LOOM_CHECK(make_directory(name));
  for (const Path& path : inside) {
    const std::string relative = path.substr(op.path.size());
    for (std::size_t slash = relative.find('/', 1); slash != std::string::npos; slash = relative.find('/', slash + 1)) {
      LOOM_CHECK(make_directory(name + relative.substr(0, slash)));
    }
    LOOM_CHECK(made_file(masks_.get(), (name + relative).c_str(), 0));
  }
  struct stat facts {};
  if (::fstatat(masks_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(kernel_error("masks", "look at them", errno));
  mask_facts_.opened.emplace(op.path, facts.st_ino);
  return name;
}

// The prepared file or directory. Those that stand over placeholders are made when the first one is.
Result<UniqueFd> NewRoot::mask_for(const PlanOp& op, const std::vector<Path>& inside) {
  std::string name = op.op == OpClass::kMaskDir ? "directory" : "file";
  if (!inside.empty()) {
    LOOM_TRY(name, make_opened_mask(op, inside));
  } else if (op.op == OpClass::kPlaceholder && op.kind == NodeKind::kFile) {
    name = op.target.empty() ? "nothing" : "dot";
    std::uint64_t& inode = op.target.empty() ? mask_facts_.nothing : mask_facts_.dot;
    if (inode == 0) {
      LOOM_TRY(inode, made_readable(masks_.get(), name.c_str(), op.target));
    }
  } else if (op.op == OpClass::kPlaceholder) {
    name = "absent";
    LOOM_CHECK(make_absent_mask());
  }
  UniqueFd source(::openat(masks_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!source) return fail(kernel_error(op.path, "open its mask", errno));
  return source;
}

// An empty directory that cannot be removed would stop "git clean -d" and "git stash -u" in the middle; one with
// nothing but ignored files in it they leave alone.
Status NewRoot::make_absent_mask() {
  if (mask_facts_.absent != 0) return {};
  struct stat facts {};
  if (::mkdirat(masks_.get(), "absent", 0555) != 0 ||
      ::fstatat(masks_.get(), "absent", &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(kernel_error("masks", "make them", errno));
  LOOM_TRY([[maybe_unused]] const std::uint64_t ignored, made_readable(masks_.get(), "absent/.gitignore", "*\n"));
  mask_facts_.absent = facts.st_ino;
  return {};
}

// What it covers must be what the plan, or whoever made the placeholder, has seen there.
Status NewRoot::add_mask(const PlanOp& op, const std::vector<Path>& inside) {
  LOOM_TRY(const UniqueFd source, mask_for(op, inside));
  LOOM_TRY(const UniqueFd tree, clone_tree(source.get(), op.path));
  LOOM_CHECK(set_mount(tree.get(), kInert | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, op.path, false));
  const int fd = open_without_links(root_.get(), op.path.substr(1), true);
  if (fd == -ELOOP || fd == -ENOENT || fd == -ENOTDIR) return changed_under(op);
  if (fd < 0) return fail(kernel_error(op.path, "reach it in the jail to mask it", -fd));
  const UniqueFd at(fd);
  struct stat seen {};
  if (::fstat(at.get(), &seen) != 0 || seen.st_dev != op.device || seen.st_ino != op.inode) return changed_under(op);
  return attach(tree.get(), at.get(), op.path);
}

Status NewRoot::add_link(const PlanOp& op) {
  const std::size_t slash = op.path.rfind('/');
  LOOM_TRY(const UniqueFd parent, destination(slash == 0 ? "/" : op.path.substr(0, slash), true));
  if (!is_ours(parent.get())) return {};  // the host's own link is in the view already
  if (::symlinkat(op.target.c_str(), parent.get(), op.path.c_str() + slash + 1) != 0 && errno != EEXIST) {
    return fail(kernel_error(op.path, "make the link", errno));
  }
  return {};
}

Status NewRoot::add_scratch(const Path& path, std::uint64_t bytes) {
  LOOM_TRY(const UniqueFd mount,
           new_mount("tmpfs",
                     {{"mode", "1777"},
                      {"size", std::to_string(bytes)},
                      {"nr_inodes", std::to_string(std::max<std::uint64_t>(bytes / kBytesPerInode, 1024))}},
                     kInert));
  LOOM_TRY(const UniqueFd at, destination(path, true));
  LOOM_CHECK(attach(mount.get(), at.get(), path));
  ours_.push_back(mount_id(mount.get()));
  scratches_.push_back(ours_.back());
  return {};
}

Status NewRoot::close_below_proc(const std::string& name) {
  const int fd = open_without_links(root_.get(), "proc/" + name, true);
  if (fd == -ENOENT) return {};  // not on this kernel
  if (fd < 0) return fail(kernel_error("/proc/" + name, "close it for writing", -fd));
  const UniqueFd at(fd);
  LOOM_TRY(const UniqueFd tree, clone_tree(fd, "/proc/" + name));
  LOOM_CHECK(set_mount(tree.get(), kInert | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, "/proc/" + name));
  return attach(tree.get(), fd, "/proc/" + name);
}

Status NewRoot::hide_below_proc(const std::string& name) {
  const int fd = open_without_links(root_.get(), "proc/" + name, true);
  if (fd == -ENOENT) return {};  // not on this kernel
  if (fd < 0) return fail(kernel_error("/proc/" + name, "hide it", -fd));
  const UniqueFd at(fd);
  const UniqueFd source(::openat(masks_.get(), "file", O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!source) return fail(kernel_error("/proc/" + name, "open its mask", errno));
  LOOM_TRY(const UniqueFd tree, clone_tree(source.get(), "/proc/" + name));
  LOOM_CHECK(set_mount(tree.get(), kInert | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, "/proc/" + name, false));
  return attach(tree.get(), fd, "/proc/" + name);
}

Status NewRoot::add_proc() {
  LOOM_TRY(const UniqueFd mount, new_mount("proc", {}, kInert | MOUNT_ATTR_NOEXEC));
  LOOM_TRY(const UniqueFd at, destination("/proc", true));
  LOOM_CHECK(attach(mount.get(), at.get(), "/proc"));
  for (const char* name : kProcClosed) LOOM_CHECK(close_below_proc(name));
  for (const char* name : kProcHidden) LOOM_CHECK(hide_below_proc(name));
  return {};
}

Status NewRoot::bind_device(const std::string& name) {
  const UniqueFd source(::open(("/dev/" + name).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!source && errno == ENOENT) return {};  // what this host has not, the jail has not either
  if (!source) return fail(kernel_error("/dev/" + name, "open it", errno));
  struct stat facts {};
  if (::fstat(source.get(), &facts) == 0 && !S_ISCHR(facts.st_mode)) return {};  // a file that took its name
  LOOM_TRY(const UniqueFd tree, clone_tree(source.get(), "/dev/" + name));
  // Read-only keeps its mode and times as they are; writing to a device does not ask the mount.
  LOOM_CHECK(set_mount(tree.get(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, "/dev/" + name));
  LOOM_TRY(const UniqueFd at, destination("/dev/" + name, false));
  return attach(tree.get(), at.get(), "/dev/" + name);
}

Status NewRoot::add_dev(std::uint64_t scratch_bytes) {
  for (const char* name : kDevices) LOOM_CHECK(bind_device(name));
  LOOM_TRY(const UniqueFd terminals, new_mount("devpts", {{"newinstance", ""}, {"mode", "0620"}, {"ptmxmode", "0666"}},
                                               MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  LOOM_TRY(const UniqueFd pts, destination("/dev/pts", true));
  LOOM_CHECK(attach(terminals.get(), pts.get(), "/dev/pts"));
  LOOM_CHECK(add_scratch("/dev/shm", scratch_bytes));
  constexpr std::array<std::array<const char*, 2>, 5> kLinks{{{"pts/ptmx", "ptmx"},
                                                              {"/proc/self/fd", "fd"},
                                                              {"/proc/self/fd/0", "stdin"},
                                                              {"/proc/self/fd/1", "stdout"},
                                                              {"/proc/self/fd/2", "stderr"}}};
  for (const auto& link : kLinks) {
    if (::symlinkat(link[0], dev_.get(), link[1]) != 0) return fail(kernel_error(link[1], "make the link", errno));
  }
  return {};
}

Status NewRoot::enter(bool writable_root) {
  if (::fchdir(root_.get()) != 0) return fail(kernel_error("/", "go to the new root", errno));
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return fail(kernel_error("/", "make it the root", errno));
  if (::fchdir(old_root_.get()) != 0) return fail(kernel_error("/", "go to the old root", errno));
  LOOM_CHECK(let_old_root_go(root_.get()));
  if (::chdir("/") != 0) return fail(kernel_error("/", "go to it", errno));
  old_root_.reset();
  if (!writable_root) LOOM_CHECK(set_mount(root_.get(), kInert | MOUNT_ATTR_RDONLY, "/", false));
  if (own_dev_) LOOM_CHECK(set_mount(dev_.get(), kInert | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, "/dev", false));
  root_.reset();
  dev_.reset();
  return {};
}

}  // namespace loom::helper
