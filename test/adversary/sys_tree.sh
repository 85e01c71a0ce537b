#!/bin/sh
# Misdeed: /sys, with its cgroups, tracers and firmware, is there
# Witness: /proc is
# shellcheck source=test/adversary/lib.sh disable=SC2016
. "${0%/*}/lib.sh"
allowed "see /proc" test -e /proc/self
for path in /sys/fs/cgroup /sys/kernel/debug /sys/kernel/tracing /sys/fs/bpf /sys/firmware /sys/class /sys/fs/selinux; do
  forbidden "$path" test -e "$path"
done
finish
