// mount_plan(policy, host facts): what the jail's file tree will be, as ordered operations, decided before anything is
// built (spec/jail.md "The plan"). Pure: the facts are looked up by os/ or helper/ and passed in. explain, the builder,
// Landlock, the audit and the report all read this one value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/model.h"

namespace loom {

enum class NodeKind { kMissing, kDirectory, kFile, kSymlink, kOther };  // kOther: socket, fifo, device

// What the host says about one path, links not followed in the last component and reported on the way.
struct NodeFacts {
  NodeKind kind = NodeKind::kMissing;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t links = 1;       // hard links of a file
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  Path resolved;                 // with every link above (and, for kSymlink, the last too) followed; "" when dangling or looping
  bool through_link = false;     // some component above the last is a link
  Path link_at;                  // the first component that is a link, when through_link or kSymlink
  Path first_missing;            // for kMissing: the first component that is absent
};

// Everything the plan needs to know about the host. look() is called with absolute canonical paths and must be a pure
// function of them for the life of the call.
struct HostFacts {
  std::function<NodeFacts(const Path&)> look;
  bool root_start = false;       // real uid 0: idmap in force
  std::uint64_t scratch_bytes = 512ULL << 20U;
};

enum class OpClass {
  kBase,         // the minimal view: /usr /etc /opt, root links, resolver directories
  kReadable,
  kWritable,
  kScratch,
  kPin,          // an ancestor of a frozen or protected entry, bound on itself
  kFrozen,
  kMaskDir,      // protected directory: the prepared empty directory
  kMaskFile,     // protected file: the prepared unreadable file
  kMount,        // an explicit mount
  kSymlink,      // a root link of the base view reproduced (source is its text)
};

struct PlanOp {
  OpClass op = OpClass::kBase;
  Path path;             // the destination, in the jail; also the source on the host, but for kSymlink
  Access access = Access::kReadOnly;
  std::string entry;     // the policy entry that asked for it: "writable_roots[0]", "frozen[2]", "base"
  Path entry_path;       // that entry's own path
  NodeKind kind = NodeKind::kDirectory;
  std::uint64_t device = 0;  // what the builder must find at the source
  std::uint64_t inode = 0;
  Path target;           // kSymlink: the link's text
  bool optional = false; // an absent source is skipped, not refused (base view)
};

struct MountPlan {
  std::vector<PlanOp> ops;               // in the order they are carried out
  std::vector<std::string> events;       // "unguarded=PATH", "hardlink-alias=PATH", "foreign-owner=PATH"
  std::vector<std::string> skips;        // optional mounts and absent readable roots left out, in words
  Path scratch;                          // "/tmp" or the host path
  bool host_view = false;                // a readable root of "/"
  std::uint64_t scratch_bytes = 0;       // of the tmpfs
};

// Errors: missing_path (a writable root, host scratch or required mount is absent: path, list and reason), plan_refused with a
// message that begins with a reason (source_through_link, mount_refused, ...).
[[nodiscard]] Result<MountPlan> mount_plan(const Policy& policy, const HostFacts& host);
[[nodiscard]] std::string plan_digest(const MountPlan& plan);
// "mounts:ro=N,rw=M,frozen=F,mask=K,pin=J,bind_ro=P,bind_rw=Q,scratch=...,base=minimal|host-view,plan=DIGEST" with the counts given.
struct MountCounts {
  unsigned ro = 0, rw = 0, frozen = 0, mask = 0, pin = 0, bind_ro = 0, bind_rw = 0;
};
[[nodiscard]] MountCounts planned_counts(const MountPlan& plan);
[[nodiscard]] std::string mounts_tag(const MountPlan& plan, const MountCounts& seen);

// What the jailed command may do at a path, and which operation (so which policy entry) decides. For explain --path and --why.
enum class PathAccess { kNone, kHidden, kRead, kWrite };  // kHidden: masked or not in the view
struct PathVerdict {
  PathAccess access = PathAccess::kNone;
  std::string entry;      // "protected[0]", "frozen[1]", "base", "" when no entry covers it
  std::string reason;     // one sentence fragment
};
[[nodiscard]] PathVerdict judge_path(const MountPlan& plan, const Path& path);

}  // namespace loom
