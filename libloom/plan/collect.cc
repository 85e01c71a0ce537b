// Walks every entry of the policy, and refuses what cannot or must not be bound.
#include <algorithm>

#include "plan/draft.h"
#include "policy/covers.h"

namespace loom {
namespace {

std::string numbered(std::string_view list, std::size_t index) {
  return std::string(list).append("[").append(std::to_string(index)).append("]");
}

tl::unexpected<Error> missing(const Asked& asked, std::string_view role) {
  return fail("missing_path", asked.entry, asked.path + ": " + asked.at.missing_why + " (" + std::string(role) + ")",
              "make it, or take it out of the policy");
}

tl::unexpected<Error> refuse(const Asked& asked, std::string_view reason, const std::string& what) {
  return fail("plan_refused", asked.entry, std::string(reason) + ": " + asked.path + ": " + what);
}

Status collect_roots(Draft& draft) {
  const Policy& policy = draft.policy;
  for (std::size_t i = 0; i < policy.writable_roots.size(); ++i) {
    const Path& path = policy.writable_roots[i];
    Asked asked{OpClass::kWritable, Access::kReadWrite, numbered("writable_roots", i), path, draft.walker.walk(path)};
    if (asked.at.missing()) return missing(asked, "writable root");
    draft.writable_index.add(asked.at.real, draft.grants.size());
    draft.grants.push_back(std::move(asked));
  }
  if (!policy.scratch.is_tmpfs()) {
    const Path& path = policy.scratch.host_path;
    Asked asked{OpClass::kScratch, Access::kReadWrite, "scratch", path, draft.walker.walk(path)};
    if (asked.at.missing()) return missing(asked, "scratch");
    draft.writable_index.add(asked.at.real, draft.grants.size());
    draft.grants.push_back(std::move(asked));
  }
  for (std::size_t i = 0; i < policy.readable_roots.size(); ++i) {
    const Path& path = policy.readable_roots[i];
    Asked asked{OpClass::kReadable, Access::kReadOnly, numbered("readable_roots", i), path, draft.walker.walk(path)};
    if (asked.at.missing()) {
      draft.plan.events.push_back("absent=" + path);
      draft.plan.skips.push_back(asked.entry + ": " + path + ": " + asked.at.missing_why);
      draft.idle(asked, "absent");
      continue;
    }
    draft.grants.push_back(std::move(asked));
  }
  return {};
}

Status collect_mounts(Draft& draft) {
  for (std::size_t i = 0; i < draft.policy.mounts.size(); ++i) {
    const Mount& mount = draft.policy.mounts[i];
    Asked asked{OpClass::kMount, mount.access, numbered("mounts", i), mount.path, draft.walker.walk(mount.path),
                mount.required};
    if (!asked.at.missing()) {
      draft.mounts.push_back(std::move(asked));
    } else if (mount.required) {
      return missing(asked, "required mount");
    } else {
      draft.plan.events.push_back("absent=" + mount.path);
      draft.plan.skips.push_back(asked.entry + ": " + mount.path + ": " + asked.at.missing_why);
      draft.idle(asked, "absent");
    }
  }
  return {};
}

Status collect_socket(Draft& draft, std::string_view entry, const Path& path, std::string_view role) {
  Asked asked{OpClass::kMount, Access::kReadOnly, std::string(entry), path, draft.walker.walk(path)};
  if (asked.at.missing()) return missing(asked, role);
  const bool mounted = std::any_of(draft.mounts.begin(), draft.mounts.end(),
                                   [&](const Asked& mount) { return mount.at.real == asked.at.real; });
  if (!mounted) draft.mounts.push_back(std::move(asked));
  return {};
}

// The socket of the proxy that a jail is led to. One that is not named yet is the broker's, which names it in the
// policy that it sends.
Status collect_proxy(Draft& draft) {
  const Network& network = draft.policy.network;
  if (network.mode != NetworkMode::kProxy) return {};
  if (network.proxy.empty()) {
    draft.plan.idle.push_back({std::string(kProxyEntry), "", "the broker's own socket is bound in when it starts one"});
    return {};
  }
  return collect_socket(draft, kProxyEntry, network.proxy, "the proxy's socket");
}

void collect_subtraction(Draft& draft, const std::vector<Path>& paths, std::string_view list, OpClass op,
                         std::vector<Asked>& into, PathIndex& index) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Asked asked{op, Access::kReadOnly, numbered(list, i), paths[i], draft.walker.walk(paths[i])};
    if (!asked.at.missing()) index.add(asked.at.real, into.size());
    into.push_back(std::move(asked));
  }
}

// A link that the command of an earlier execution may have planted: strictly below a writable root, whatever that
// root's fate in this plan.
Status judge_links(const Draft& draft, const Asked& asked, bool final_may_be_link) {
  for (const PassedLink& link : asked.at.links) {
    if (link.final && final_may_be_link) continue;
    const auto root = draft.writable_index.deepest_strict_cover(link.at);
    if (!root) continue;
    const Asked& grant = draft.grants[*root];
    return refuse(asked, "source_through_link",
                  link.at + " is a link below the writable root " + grant.path + " (" + grant.entry + ")");
  }
  return {};
}

// In a writable root the command could open the way that was closed to our look, and find what nothing guards.
Status judge_subtraction(const Draft& draft, const Asked& entry) {
  LOOM_CHECK(judge_links(draft, entry, true));
  if (!entry.at.unseen || !draft.writable_index.covers_any(entry.at.real)) return {};
  return refuse(entry, "entry_not_seen", entry.at.missing_why);
}

// The jail's own /proc and /dev stand there.
Status judge_own_trees(const Asked& asked) {
  if (covers("/proc", asked.at.real)) return refuse(asked, "mount_refused", "the jail has its own /proc");
  if (asked.at.real == "/dev") return refuse(asked, "mount_refused", "the jail has its own /dev");
  return {};
}

struct MountIndex {
  PathIndex all, read_write, read_only;
};

Status index_mounts(const Draft& draft, MountIndex& index) {
  for (std::size_t i = 0; i < draft.mounts.size(); ++i) {
    const Asked& mount = draft.mounts[i];
    if (mount.at.real == "/") return refuse(mount, "mount_of_root", "it leads to /");
    if (const auto twin = index.all.at(mount.at.real)) {
      return refuse(mount, "duplicate_mount", "it leads where " + draft.mounts[*twin].path + " leads");
    }
    index.all.add(mount.at.real, i);
    (mount.access == Access::kReadWrite ? index.read_write : index.read_only).add(mount.at.real, i);
  }
  return {};
}

// No mount of the index at or above one of the entries.
Status judge_above(const Draft& draft, const PathIndex& index, const std::vector<Asked>& entries,
                   std::string_view reason) {
  for (const Asked& entry : entries) {
    if (entry.op == OpClass::kReadable || entry.op == OpClass::kScratch) continue;
    auto above = index.deepest_cover(entry.at.real);
    for (const PassedLink& link : entry.at.links) {
      // The pin of an entry's own link would vanish under the mount.
      if (link.final && entry.op != OpClass::kWritable && !above) above = index.deepest_cover(link.at);
    }
    if (above) return refuse(draft.mounts[*above], reason, "it covers " + entry.path + " (" + entry.entry + ")");
  }
  return {};
}

// What validation refuses of paths as written, asked again of where they really lead.
Status judge_overlaps(const Draft& draft) {
  MountIndex index;
  LOOM_CHECK(index_mounts(draft, index));
  LOOM_CHECK(judge_above(draft, index.all, draft.protected_, "mount_overlaps_protected"));
  LOOM_CHECK(judge_above(draft, index.read_write, draft.frozen, "mount_overlaps_protected"));
  LOOM_CHECK(judge_above(draft, index.read_only, draft.grants, "mount_shadows_writable_root"));
  for (const Asked& mount : draft.mounts) {
    auto met = draft.protected_index.deepest_cover(mount.at.real);
    // A broker's sockets for jails lie below the directory that it hides from them: the mask has a place for this one.
    if (met && is_own_socket(mount.entry) && draft.protected_[*met].at.real != mount.at.real) continue;
    if (met) return refuse(mount, "mount_overlaps_protected", "it lies in " + draft.protected_[*met].path);
    if (mount.access == Access::kReadOnly) continue;
    met = draft.frozen_index.deepest_cover(mount.at.real);
    if (met) return refuse(mount, "mount_overlaps_protected", "it lies in " + draft.frozen[*met].path);
  }
  return {};
}

}  // namespace

Status collect_entries(Draft& draft) {
  LOOM_CHECK(collect_roots(draft));
  LOOM_CHECK(collect_mounts(draft));
  LOOM_CHECK(collect_proxy(draft));
  if (!draft.host.endpoint.empty()) {
    LOOM_CHECK(collect_socket(draft, kEndpointEntry, draft.host.endpoint, "the capability endpoint's socket"));
  }
  collect_subtraction(draft, draft.policy.frozen, "frozen", OpClass::kFrozen, draft.frozen, draft.frozen_index);
  collect_subtraction(draft, draft.policy.protected_paths, "protected", OpClass::kMaskDir, draft.protected_,
                      draft.protected_index);
  return {};
}

Status judge_sources(Draft& draft) {
  for (const Asked& grant : draft.grants) {
    LOOM_CHECK(judge_links(draft, grant, false));
    LOOM_CHECK(judge_own_trees(grant));
  }
  for (const Asked& mount : draft.mounts) {
    LOOM_CHECK(judge_links(draft, mount, false));
    LOOM_CHECK(judge_own_trees(mount));
  }
  for (const Asked& entry : draft.frozen) LOOM_CHECK(judge_subtraction(draft, entry));
  for (const Asked& entry : draft.protected_) {
    LOOM_CHECK(judge_subtraction(draft, entry));
    if (entry.at.real == "/") return refuse(entry, "protects_everything", "nothing would be left to run");
  }
  return judge_overlaps(draft);
}

}  // namespace loom
