// Who the jail's processes are on the host (spec/jail.md "Started by root"): the maps of the jail's user namespace, the
// idmap of its trees with the one swap, and the way down from builder to command.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/unique_fd.h"

namespace loom::helper {

struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

// A block of 65536 host ids, and who in the trees appears as the command's user. swap false: the ids of a tree appear
// as they are.
struct IdBlock {
  std::uint32_t base = 0;
  bool swap = false;
  Owner owner;
};

// The lines of an idmap: disk id -> base + id, with `owner` and kJailUser exchanged. An owner past the block takes
// kJailUser's place, and disk id kJailUser has none. Pure.
[[nodiscard]] std::string idmap_lines(std::uint32_t base, bool swap, std::uint32_t owner);

// A user namespace that holds such a map and no process. Needs the host's root. Error: spawn_failed.
[[nodiscard]] Result<UniqueFd> make_idmap(const IdBlock& block);

// Gives the process `pid`, fresh in its user namespace, the block 0..65535 -> base. Needs the host's root.
[[nodiscard]] Status map_block(pid_t pid, std::uint32_t base);
// Gives the calling process, fresh in its user namespace, its one id under its own number.
[[nodiscard]] Status map_own_id(std::uint32_t uid, std::uint32_t gid);

// In the builder: becomes root of the namespace, to own what it makes.
[[nodiscard]] Status become_namespace_root();
// Gives up every capability for good: bounding, ambient, securebits, no_new_privs, and the ids. `switch_ids` false: the
// ids are the caller's already. Nothing that needs a privilege works afterwards.
[[nodiscard]] Status drop_privileges(bool switch_ids, std::uint32_t uid, std::uint32_t gid);

// Without a namespace of its own the process gives up what it may; what stays shows in stage 2's look.
void shed_capabilities();

}  // namespace loom::helper
