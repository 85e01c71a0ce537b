// What this host can hold, found by doing it in a throwaway process (spec/jail.md "Layers and the report"; spec/wire.md
// hello).
#pragma once

#include <string>

#include "helper/host_context.h"
#include "plan/report.h"

namespace loom::helper {

// "" when a process in new namespaces came up, was mapped, and mounted what a jail needs; else the reason in words.
// About two milliseconds. `host` has uid, gid, root_start and options set.
[[nodiscard]] std::string probe_container(const HostContext& host);

// The hello list for what `host` knows: a tag for each layer held, "skip:TAG: reason" for the others. Pure.
[[nodiscard]] Report list_features(const HostContext& host);
// The same for jails that bubblewrap builds in the stead of the native backend, which cannot: `no_native` says why.
[[nodiscard]] Report features_of_bwrap(Report features, const std::string& no_native);

}  // namespace loom::helper
