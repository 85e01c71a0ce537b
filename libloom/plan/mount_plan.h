// mount_plan(policy, host facts): what the jail's file tree will be, as ordered operations, decided before anything is
// built (spec/jail.md "The plan"). Pure: the facts are looked up by os/ or helper/ and passed in. explain, the builder,
// Landlock, the audit and the report all read this one value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/model.h"

namespace loom {

enum class NodeKind { kMissing, kDirectory, kFile, kSymlink, kOther };  // kOther: socket, fifo, device

// What lstat and readlink say about one path. The plan walks links itself, so look() is only asked for paths whose
// components above the last are known to be real directories (or absent: then kMissing).
struct NodeFacts {
  NodeKind kind = NodeKind::kMissing;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t links = 1;  // hard links of a file
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  Path target;              // kSymlink: the link's own text
  std::string missing_why;  // kMissing: why, in words, when it is not plain absence ("permission denied")
};

// Everything the plan needs to know about the host. look() is called with absolute canonical paths and must be a pure
// function of them for the life of the call. The plan asks each path once.
struct HostFacts {
  std::function<NodeFacts(const Path&)> look;
  bool root_start = false;  // real uid 0: idmap in force, a root of another owner than the workspace's is said
  Path workspace;           // root start: whose disk owner is swapped in; "": the first writable root
  std::uint64_t scratch_bytes = 512ULL << 20U;
  Path endpoint;  // the capability endpoint's socket; "": none
};

// The entry of the proxy's socket: of network mode "proxy", a required mount.
inline constexpr std::string_view kProxyEntry = "network.proxy";
// And that of the capability endpoint, of a caller who has a grant there.
inline constexpr std::string_view kEndpointEntry = "caller";

enum class OpClass {
  kBase,  // the minimal view: /usr /etc /opt, resolver files
  kReadable,
  kWritable,
  kScratch,  // kind kDirectory with entry "scratch": the tmpfs when MountPlan::scratch_is_tmpfs, else a bind of the
             // host path
  kSymlink,  // a link of the host above a grant, or a root link of the base view, made again in the jail's own root
  kPin,  // a bind of a path on itself, read-write as its root, so that it cannot be renamed; kind kSymlink: of the link
         // itself
  kFrozen,       // a read-only bind (recursive) of a path on itself
  kMaskDir,      // protected directory: the prepared empty directory
  kMaskFile,     // protected file: the prepared unreadable file
  kPlaceholder,  // of an absent entry: made on the host at its first missing component, and masked. kind kDirectory:
                 // empty; kFile: holds `target`. device and inode are those of the directory it is made in
  kMount,        // an explicit mount
};

struct PlanOp {
  OpClass op = OpClass::kBase;
  Path path;  // without links: the source on the host and the destination in the jail are the same path
  Access access = Access::kReadOnly;
  std::string entry;  // the policy entry that asked for it: "writable_roots[0]", "frozen[2]", "scratch", "base"
  Path entry_path;    // that entry's own path, as written in the policy
  NodeKind kind = NodeKind::kDirectory;
  std::uint64_t device = 0;  // what the builder must find at the source
  std::uint64_t inode = 0;
  Path target;            // kSymlink: the link's text
  bool optional = false;  // a source that vanished is left out, not refused (base view)
};

// A link of the host that the plan followed: a path through `from` means the path through `to` (which is without
// links).
struct FollowedLink {
  Path from;
  Path to;
};

// An entry that needed no operation, and why ("nothing shows it", "inside protected[0]").
struct IdleEntry {
  std::string entry;
  Path path;
  std::string why;
};

// An entry that is absent inside a writable root, and what keeps it so.
struct GuardedEntry {
  Path path;  // as written; "": no entry, but a repository's place, its config or its index: not kept, looked at again
  Path real;  // where it would be
  Path placeholder;  // its first missing component; "": nothing does, an "unguarded=" says so
};

// Of one execution; what is absent beyond that is unguarded.
inline constexpr std::size_t kMostPlaceholders = 120;

// A mount of loom's own, not of the policy's list: a socket that the jail is let to.
[[nodiscard]] inline bool is_own_socket(std::string_view entry) {
  return entry == kProxyEntry || entry == kEndpointEntry;
}

struct MountPlan {
  std::vector<PlanOp> ops;  // in the order they are carried out: base, grants, links, pins, frozen, masks,
                            // placeholders, mounts
  std::vector<std::string>
      events;  // without "event:": "unguarded=PATH", "hardlink-alias=PATH", "foreign-owner=PATH", "absent=PATH"
  std::vector<std::string> skips;  // optional mounts and absent readable roots left out, in words; not "skip:" entries
  std::vector<FollowedLink> links;
  std::vector<IdleEntry> idle;
  std::vector<GuardedEntry> guards;
  Path scratch;  // "/tmp" or the host path
  bool scratch_is_tmpfs = true;
  bool host_view = false;           // a root of "/"
  std::uint64_t scratch_bytes = 0;  // of the tmpfs
};

// Errors: missing_path (a writable root, host scratch or required mount is absent: path, list and reason), plan_refused
// with a message that begins with a reason (source_through_link, mount_refused, ...).
[[nodiscard]] Result<MountPlan> mount_plan(const Policy& policy, const HostFacts& host);
// Of what the plan does (not of inodes, nor of where the proxy's socket lies, which is another one in each broker): 16
// hex digits; explain and the report show the same one.
[[nodiscard]] std::string plan_digest(const MountPlan& plan);
// "mounts:ro=N,rw=M,frozen=F,mask=K,pin=J,bind_ro=P,bind_rw=Q,scratch=...,base=minimal|host-view,plan=DIGEST" with the
// counts given.
struct MountCounts {
  unsigned ro = 0, rw = 0, frozen = 0, mask = 0, pin = 0, bind_ro = 0, bind_rw = 0;
};
[[nodiscard]] MountCounts planned_counts(const MountPlan& plan);
[[nodiscard]] std::string mounts_tag(const MountPlan& plan, const MountCounts& seen);

// What the jailed command may do at a path, and which operation (so which policy entry) decides. For explain --path and
// --why.
enum class PathAccess { kNone, kHidden, kRead, kWrite };  // kNone: not in the view; kHidden: a protected entry hides it
struct PathVerdict {
  PathAccess access = PathAccess::kNone;
  std::string entry;   // "protected[0]", "frozen[1]", "scratch", "base", "" when no entry covers it
  std::string reason;  // one sentence fragment
};
// Links that the plan did not follow are taken as written: ask for the real path.
[[nodiscard]] PathVerdict judge_path(const MountPlan& plan, const Path& path);

}  // namespace loom
