// The jail's file tree while it is being made: an own tmpfs (or the host view, read-only) laid over "/" in the jail's
// mount namespace, everything else attached beneath it, then pivoted to (spec/jail.md "The base view is an allowlist",
// "The plan"). Every destination is resolved beneath the new root without links, and only made where the parent is a
// tmpfs of this jail: nothing is ever created on the host.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "helper/sources.h"
#include "os/unique_fd.h"
#include "plan/mount_plan.h"

namespace loom::helper {

// What masks are clones of, and what stage 2 must find in their place.
struct MaskFacts {
  std::uint64_t device = 0;
  std::uint64_t directory = 0;  // inodes
  std::uint64_t file = 0;
  std::map<Path, std::uint64_t> opened;  // masks that hold the place of a mount, and the inode of each
  std::uint64_t absent = 0;  // what stands over placeholders: a directory that git ignores, readable files; 0: no need
  std::uint64_t dot = 0;
  std::uint64_t nothing = 0;
};

class NewRoot {
 public:
  // In the builder, alone in its new mount namespace: makes every mount private, lays the mask file system and the new
  // root over "/". The process's own root stays the host's until enter().
  [[nodiscard]] static Result<NewRoot> make(const MountPlan& plan);

  [[nodiscard]] Status add_proc();
  [[nodiscard]] Status add_dev(std::uint64_t scratch_bytes);
  [[nodiscard]] Status add_scratch(const Path& path, std::uint64_t bytes);
  [[nodiscard]] Status add_tree(const Tree& tree);
  // `inside`: files below it that are mounted later; the mask has an empty file at each.
  [[nodiscard]] Status add_mask(const PlanOp& op, const std::vector<Path>& inside);
  [[nodiscard]] Status add_link(const PlanOp& op);

  // Pivots, lets the host's tree go, closes the root and /dev for writing.
  [[nodiscard]] Status enter(bool writable_root);

  [[nodiscard]] MaskFacts masks() const { return mask_facts_; }
  // The masks' directory, which nothing in the jail's tree leads to: it holds the Landlock witness.
  [[nodiscard]] UniqueFd take_witness() { return std::move(masks_); }

 private:
  NewRoot() = default;
  [[nodiscard]] Status make_minimal();
  [[nodiscard]] Status make_from_host_view(const MountPlan& plan);
  [[nodiscard]] Status make_masks();
  [[nodiscard]] Result<std::string> make_opened_mask(const PlanOp& op, const std::vector<Path>& inside);
  [[nodiscard]] Status make_absent_mask();
  [[nodiscard]] Result<UniqueFd> mask_for(const PlanOp& op, const std::vector<Path>& inside);
  [[nodiscard]] Result<UniqueFd> destination(const Path& path, bool directory);
  [[nodiscard]] Status make_in(int parent, const std::string& name, bool directory, const Path& path);
  [[nodiscard]] bool is_ours(int fd) const;
  [[nodiscard]] Status bind_device(const std::string& name);
  [[nodiscard]] Status close_below_proc(const std::string& name);
  [[nodiscard]] Status hide_below_proc(const std::string& name);

  UniqueFd root_;
  UniqueFd old_root_;
  UniqueFd masks_;
  UniqueFd dev_;
  bool own_dev_ = false;  // /dev is a file system of its own, over the host's
  MaskFacts mask_facts_;
  std::vector<std::uint64_t> scratches_;  // those of them that the command may write
  std::vector<std::uint64_t> ours_;       // mount ids of the tmpfs in which mount points may be made
};

}  // namespace loom::helper
