#include "plan/base_view.h"

#include <array>

namespace loom {
namespace {

// /usr and the rest of a system. The second half are links into /usr on a merged system and directories on others.
constexpr std::array<const char*, 10> kSystem = {"/usr",  "/etc", "/opt",   "/nix/store", "/bin",
                                                 "/sbin", "/lib", "/lib32", "/lib64",     "/libx32"};
constexpr const char* kCurrentSystem = "/run/current-system";

// Where /etc/resolv.conf leads to under /run. The directories of systemd-resolved and NetworkManager also hold their
// daemons' sockets, which a read-only bind would leave open to connect: of them only the files are shown.
constexpr std::array<const char*, 6> kResolver = {
    "/run/systemd/resolve/resolv.conf", "/run/systemd/resolve/stub-resolv.conf",
    "/run/NetworkManager/resolv.conf",  "/run/NetworkManager/no-stub-resolv.conf",
    "/run/connman/resolv.conf",         "/run/resolvconf"};

void add(std::vector<PlanOp>& ops, const Path& path, const NodeFacts& facts) {
  if (facts.kind == NodeKind::kMissing || facts.kind == NodeKind::kOther) return;
  PlanOp op;
  op.op = facts.kind == NodeKind::kSymlink ? OpClass::kSymlink : OpClass::kBase;
  op.path = path;
  op.entry = kBaseEntry;
  op.entry_path = path;
  op.kind = facts.kind;
  op.device = facts.device;
  op.inode = facts.inode;
  op.target = facts.target;
  op.optional = true;
  ops.push_back(std::move(op));
}

}  // namespace

std::vector<PlanOp> base_view(Walker& walker) {
  std::vector<PlanOp> ops;
  for (const char* path : kSystem) {
    const Walked walked = walker.walk(path);
    // A link is shown as a link only directly under the root; /nix/store behind a link is not a layout we know.
    if (walked.links.empty() || walked.links.front().at == path) add(ops, path, walker.look(path));
  }
  add(ops, kCurrentSystem, walker.look(kCurrentSystem));
  for (const char* path : kResolver) {
    const Walked walked = walker.walk(path);
    if (walked.links.empty()) add(ops, path, walked.facts);
  }
  return ops;
}

}  // namespace loom
