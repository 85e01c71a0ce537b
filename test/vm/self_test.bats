#!/usr/bin/env bats
# In the virtual machine: the self-test where memory and processes can be held by a cgroup, on an older kernel. $VM_CGROUPS is the
# caller's own part of the hierarchy, with a base "loom" in it.
# shellcheck disable=SC2154

load ../cli/helpers

@test "self-test: the ceilings are enforced, and only what this kernel lacks is skipped" {
  try "$BIN/loom-exec" self-test --json --cgroup-base "$VM_CGROUPS/loom"
  is 0
  json '.result == "ENFORCED" and ([.probes[] | select(.verdict == "FAILED")] == [])'
  json '[.probes[] | select(.name == "memory" or .name == "fork-bomb") | .verdict] == ["ENFORCED", "ENFORCED"]'
  # With the host's network abstract sockets are Landlock's to hold, from ABI 6 on.
  if [ "$("$BIN/loom-exec" features --json | jq -r '.features[] | select(.tag == "landlock") | .detail')" = abi=2 ]; then
    json '[.probes[] | select(.verdict == "SKIPPED") | .name] == ["host-sockets-net-full"]'
    json '[.probes[] | select(.verdict == "SKIPPED") | .reason] | all(test("ABI 6"))'
  fi
}
