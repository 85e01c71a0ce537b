#include "helper/jail_report.h"

#include <string_view>

#include "helper/cgroup_rules.h"
#include "os/fds.h"

namespace loom::helper {
namespace {

constexpr std::size_t kNetwork = 6;  // in NamespaceIds

class Writer {
 public:
  explicit Writer(const WhatIsKnown& known) : known_(known) {}

  // The tag and its witness, or the skip with the kernel's reason.
  void layer(std::string_view name, stage2::Witness witness, const std::string& tag) {
    if ((known_.seen.seen & (1U << witness)) == 0) return skip(name, reason(witness));
    hold(name, tag);
  }
  void hold(std::string_view name, const std::string& tag) {
    report_.push_back(tag);
    report_.push_back("verified:" + std::string(name));
  }
  void skip(std::string_view name, std::string_view why) { report_.push_back(skip_entry(name, why)); }
  void event(const std::string& text) { report_.push_back("event:" + text); }
  [[nodiscard]] bool saw(stage2::Witness witness) const { return (known_.seen.seen & (1U << witness)) != 0; }
  [[nodiscard]] std::string reason(stage2::Witness witness) const {
    const int error = known_.seen.error[witness];
    return "not seen from inside" + (error != 0 ? " (" + errno_text(error) + ")" : std::string());
  }
  loom::Report take() { return std::move(report_); }

 private:
  const WhatIsKnown& known_;
  loom::Report report_;
};

// Fresh means: another namespace than the helper's own. The network's alone may be the host's.
bool all_fresh(const WhatIsKnown& known) {
  for (std::size_t i = 0; i < known.own_namespaces.size(); ++i) {
    const bool wanted = i != kNetwork || known.policy.network.mode != NetworkMode::kFull;
    if (wanted && (known.seen.namespaces[i] == 0 || known.seen.namespaces[i] == known.own_namespaces[i])) return false;
  }
  return true;
}

void container_layers(const WhatIsKnown& known, Writer& writer) {
  if (!known.container) {
    writer.skip(layer::kNamespaces, known.no_container);
    writer.skip(layer::kMounts, "there is no mount namespace to make them in");
    return;
  }
  const bool host = known.policy.network.mode == NetworkMode::kFull;
  const std::string_view name = known.bwrap ? layer::kBwrap : layer::kNamespaces;
  if (writer.saw(stage2::kSawNamespaces) && !all_fresh(known)) {
    writer.skip(name, "a namespace inside is the helper's own");
  } else {
    writer.layer(name, stage2::kSawNamespaces, std::string(name) + ":net=" + (host ? "host" : "fresh"));
  }
}

// "mounts:ro=2,..." with the counts that were seen in the place of the planned ones.
std::string with_counts(std::string tag, const std::uint32_t (&seen)[stage2::kMountClasses]) {
  constexpr std::array<std::string_view, 7> kKeys{"ro=", "rw=", "frozen=", "mask=", "pin=", "bind_ro=", "bind_rw="};
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    std::size_t at = tag.find((i == 0 ? ":" : ",") + std::string(kKeys[i]));
    if (at == std::string::npos) continue;
    at += 1 + kKeys[i].size();
    tag.replace(at, tag.find_first_not_of("0123456789", at) - at, std::to_string(seen[i]));
  }
  return tag;
}

void mounts_layer(const WhatIsKnown& known, Writer& writer) {
  if (!known.container) return;
  const std::string tag = with_counts(known.mounts_tag, known.seen.mounts);
  if (known.seen.failures == 0) return writer.layer(layer::kMounts, stage2::kSawMounts, tag);
  for (const Path& path : known.failed_mounts)
    writer.skip(layer::kMounts, path + ": not as planned when seen from inside");
  if (known.seen.failures > known.failed_mounts.size()) {
    writer.skip(layer::kMounts,
                std::to_string(known.seen.failures - known.failed_mounts.size()) + " more paths not as planned");
  }
}

// Memory has no other layer; processes have one as long as no cgroup was to count them.
void cgroup_layer(const WhatIsKnown& known, Writer& writer) {
  if (known.in_cgroup && known.no_cgroup.empty()) {
    const std::string holds = known.cgroup_holds.empty() ? "" : ":" + known.cgroup_holds;
    return writer.hold(layer::kCgroupV2, std::string(layer::kCgroupV2) + holds);
  }
  Limits asked = known.policy.limits;
  if (!known.in_cgroup) asked.pids = 0;
  std::string names;
  for (const std::string& name : cgroup_ceilings(asked)) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) writer.skip(layer::kCgroupV2, names + " not held: " + known.no_cgroup);
}

void ceilings(const WhatIsKnown& known, Writer& writer) {
  const Limits& limits = known.policy.limits;
  cgroup_layer(known, writer);
  if (limits.pids != 0 && !known.in_cgroup) {
    if (known.container) {
      writer.layer(layer::kPidsUserns, stage2::kSawPids, "pids-userns");
    } else {
      writer.skip(layer::kPidsUserns, "there is no user namespace of the jail's own to count in");
    }
  }
  if (limits.cpu_s != 0) writer.layer(layer::kRlimitCpu, stage2::kSawCpu, "rlimit-cpu");
  if (limits.fsize_bytes != 0) writer.layer(layer::kRlimitFsize, stage2::kSawFsize, "rlimit-fsize");
  writer.layer(layer::kRlimitCore, stage2::kSawCore, "rlimit-core");
}

// The whole path was asked, or it does not count.
void way_out(const WhatIsKnown& known, Writer& writer) {
  if (known.policy.network.mode != NetworkMode::kProxy) return;
  if (known.no_way_out != nullptr) return writer.skip(layer::kEgressProxy, known.no_way_out);
  std::string tag(layer::kEgressProxy);
  if (known.bridge > 0) tag += ":bridge=" + std::to_string(known.bridge);
  if (writer.saw(stage2::kSawEgress)) return writer.layer(layer::kEgressProxy, stage2::kSawEgress, tag);
  const int error = known.seen.error[stage2::kSawEgress];
  writer.skip(layer::kEgressProxy, "the proxy did not answer 204 through the bridge" +
                                       (error != 0 ? " (" + errno_text(error) + ")" : std::string()));
}

}  // namespace

loom::Report compose_report(const WhatIsKnown& known) {
  Writer writer(known);
  container_layers(known, writer);
  mounts_layer(known, writer);
  writer.layer(layer::kUnprivileged, stage2::kSawUnprivileged, "unprivileged");
  writer.layer(layer::kNoNewPrivs, stage2::kSawNoNewPrivs, "no-new-privs");
  writer.layer(layer::kLandlock, stage2::kSawLandlock, "landlock:abi=" + std::to_string(known.seen.landlock_abi));
  writer.layer(layer::kSeccompBase, stage2::kSawSeccompBase, "seccomp-base");
  writer.layer(layer::kSeccompNet, stage2::kSawSeccompNet, "seccomp-net");
  ceilings(known, writer);
  way_out(known, writer);
  if (known.bwrap && !known.no_native.empty()) writer.event("native=unavailable: " + known.no_native);
  for (const std::string& event : known.events) writer.event(event);
  if (known.seen.why_error != 0) writer.event("why=unavailable: " + errno_text(known.seen.why_error));
  if (known.seen.landlock_abi < 9) writer.event("path-sockets=unconfined");
  return writer.take();
}

}  // namespace loom::helper
