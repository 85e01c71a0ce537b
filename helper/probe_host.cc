#include "helper/probe_host.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "helper/builder.h"
#include "helper/channel.h"
#include "helper/ids.h"
#include "helper/kernel.h"
#include "helper/way_out.h"
#include "os/child.h"

namespace loom::helper {
namespace {

constexpr char kReady = 'r';

Status try_mounts() {
  const auto proc = new_mount("proc", {}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
  if (!proc) return fail(proc.error());
  const auto files = new_mount("tmpfs", {{"mode", "0755"}}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
  if (!files) return fail(files.error());
  return set_mount(files->get(), MOUNT_ATTR_RDONLY, "tmpfs");
}

[[noreturn]] void probe_inside(const HostContext& host, int control) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_DUMPABLE, 1);
  Status done;
  char go = 0;
  if (!host.root_start) {
    done = map_own_id(host.uid, host.gid);
  } else if (::read(control, &go, 1) != 1 || go != kReady) {
    ::_exit(1);
  } else {
    done = become_namespace_root();
  }
  if (done) done = try_mounts();
  const std::string answer = done ? std::string(1, kReady) : done.error().text();
  send_message(control, answer);
  ::_exit(0);
}

std::string hear_answer(int control) {
  ::fcntl(control, F_SETFL, 0);
  ControlMessage message;
  if (receive(control, message) != Received::kMessage) return "a process in new namespaces ended without a word";
  return message.bytes == std::string(1, kReady) ? std::string() : message.bytes;
}

}  // namespace

std::string probe_container(const HostContext& host) {
  Result<ControlPair> control = make_control();
  if (!control) return control.error().text();
  UniqueFd pidfd;
  const long pid = clone_process(namespaces_for(Policy{}), pidfd);
  if (pid == 0) probe_inside(host, control->jail.get());
  if (pid < 0) return namespace_error(static_cast<int>(-pid)).text();
  OwnedChild child(std::move(pidfd));
  control->jail.reset();
  if (host.root_start) {
    if (const Status mapped = map_block(static_cast<pid_t>(pid), host.options.jail_uid); !mapped)
      return mapped.error().text();
    send_message(control->helper.get(), std::string(1, kReady));
  }
  return hear_answer(control->helper.get());
}

std::string why_no_way_out(const HostContext& host) {
  if (!host.container) return host.no_container;
  return host.bwrap ? std::string(kNoBridgeInBwrap) : host.no_bridge;
}

Report list_features(const HostContext& host) {
  Report features;
  const auto held = [&features](std::string_view tag) { features.emplace_back(tag); };
  const auto skip = [&features](std::string_view tag, std::string_view why) {
    features.push_back(skip_entry(tag, why));
  };
  for (const std::string_view tag : {layer::kNamespaces, layer::kMounts}) {
    host.container ? held(tag) : skip(tag, host.no_container);
  }
  held(layer::kUnprivileged);
  held(layer::kNoNewPrivs);
  if (host.landlock_abi > 0) {
    held(std::string(layer::kLandlock) + ":abi=" + std::to_string(host.landlock_abi));
  } else {
    skip(layer::kLandlock, "this kernel has it not, or not switched on (lsm=)");
  }
  held(layer::kSeccompBase);
  held(layer::kSeccompNet);
  host.cgroups ? held(layer::kCgroupV2) : skip(layer::kCgroupV2, host.no_cgroup);
  host.container ? held(layer::kPidsUserns) : skip(layer::kPidsUserns, host.no_container);
  for (const std::string_view tag : {layer::kRlimitCpu, layer::kRlimitFsize, layer::kRlimitCore}) held(tag);
  const std::string no_way_out = why_no_way_out(host);
  no_way_out.empty() ? held(layer::kEgressProxy) : skip(layer::kEgressProxy, no_way_out);
  return host.bwrap && host.container ? features_of_bwrap(std::move(features), host.no_native) : features;
}

Report features_of_bwrap(Report features, const std::string& no_native) {
  for (std::string& entry : features) {
    if (entry == layer::kNamespaces) entry = skip_entry(layer::kNamespaces, no_native);
    if (entry == layer::kEgressProxy) entry = skip_entry(layer::kEgressProxy, kNoBridgeInBwrap);
  }
  features.insert(features.begin(), std::string(layer::kBwrap));
  return features;
}

}  // namespace loom::helper
