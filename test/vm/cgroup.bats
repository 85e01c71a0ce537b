#!/usr/bin/env bats
# cgroup v2 for real: only run in the virtual machine (make test-vm), where test/vm/inside has delegated VM_CGROUPS/loom to the
# user and made places beside it that will not do. As root and as an ordinary user.
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load ../cli/helpers

setup() {
  W=$BATS_TEST_TMPDIR/work
  mkdir "$W"
  cd "$W" || return
  BASE=$VM_CGROUPS/loom
  R=$BATS_TEST_TMPDIR/report
  P=$BATS_TEST_TMPDIR/policy
}
teardown() {
  [ -z "$(made)" ] || { echo "left behind: $(made)" >&2; return 1; }
}

# What stands in the base.
made() { find "$BASE" -mindepth 1 -type d; }
# policy FILTER: the ready-made one of the workspace, changed.
policy() { "$BIN/loom-policy" default "$W" | jq "$1" >"$P"; }
run_in() { try "$BIN/loom-exec" run --cgroup-base "$BASE" --quiet --report "$R" "$@"; }
report() { jq -e "$1" "$R" >/dev/null || { tell; cat "$R" >&2; return 1; }; }
entry() { report '.enforcement | any(test("'"$1"'"))'; }
feature() { "$BIN/loom-exec" features --json --cgroup-base "$1" | jq -r '.features[] | select(.tag == "cgroup-v2") | .reason // "held"'; }

@test "looking at a base writes nothing; the first helper that uses it switches the controllers on" {
  local before
  before=$(cat "$VM_CGROUPS/fresh/cgroup.subtree_control")
  [ -z "$before" ]
  [ "$(feature "$VM_CGROUPS/fresh")" = held ]
  [ "$(cat "$VM_CGROUPS/fresh/cgroup.subtree_control")" = "$before" ]
  try "$BIN/loom-exec" run --cgroup-base "$VM_CGROUPS/fresh" --quiet -- true
  is 0
  [[ "$(cat "$VM_CGROUPS/fresh/cgroup.subtree_control")" = *memory*pids* ]]
  echo "-memory -pids" >"$VM_CGROUPS/fresh/cgroup.subtree_control"
}

@test "the ready-made policy keeps its ceilings, each read back before the go" {
  run_in -- sh -c 'cat /proc/self/cgroup'
  is 0
  silent
  [ "$out" = "0::/" ]
  entry '^cgroup-v2:memory.max=[0-9]+,(memory.swap.max=0,)?pids.max=[0-9]+$'
  entry '^verified:cgroup-v2$'
  report '.notes == []'
  report '.enforcement | any(startswith("skip:")) | not'
}

@test "LOOM_CGROUP_BASE is the default, through the broker's run as well, and explain knows of it" {
  export LOOM_CGROUP_BASE=$BASE
  policy '.limits.mem_bytes = 100000000'
  try "$BIN/loom-exec" run --policy "$P" --report "$R" -- true
  is 0
  entry '^cgroup-v2:memory.max=99999744'
  try "$BIN/loom-broker" run --workspace "$W" --report "$R" -- true
  is 0
  entry '^verified:cgroup-v2$'
  try "$BIN/loom-policy" explain --json "$P"
  json '.layers | any(.layer == "cgroup-v2" and .state == "enforced")'
  try "$BIN/loom-policy" default "$W" --fit
  silent
  try "$BIN/loom-census" --json
  json '.helper.features | index("cgroup-v2") != null'
}

@test "the doctor finds nothing lacking with this base, and says what is weaker on this kernel" {
  try "$BIN/loom-census" doctor --json --cgroup-base "$BASE"
  is 0
  json '.ok and (.checks | any(.check == "cgroup-v2" and .state == "held"))'
  json '.checks | any(.check == "landlock" and .state == "weaker" and (.found | startswith("ABI 2;")))'
  try "$BIN/loom-census" doctor --json
  is 1
  json '.errors == [.errors[] | select(.where == "cgroup-v2" and (.hint | contains("LOOM_CGROUP_BASE")))] and (.errors | length == 1)'
}

@test "memory past mem_bytes is not to be had: the command dies of it, and the report says of what" {
  policy '.limits.mem_bytes = 48000000'
  run_in --policy "$P" -- sh -c 'echo before; head -c 80000000 /dev/zero | tail >/dev/null; echo tail left $?'
  is 0
  answers "tail left 137"
  entry '^event:oom-kill=[1-9]'
  report '.notes[0] | startswith("memory ran out")'
}

@test "files on the scratch are memory too" {
  policy '.limits.mem_bytes = 48000000'
  run_in --policy "$P" -- sh -c 'head -c 60000000 /dev/zero >"$LOOM_SCRATCH_DIR/f" 2>/dev/null || echo refused'
  is 0
  answers refused
}

@test "a jail that does not fit into mem_bytes itself is refused with the limit's name" {
  policy '.limits.mem_bytes = 65536'
  run_in --policy "$P" -- true
  is 125
  says "/limits/mem_bytes"
}

@test "processes past pids are not to be had, and what was refused is counted" {
  policy '.limits.pids = 12'
  run_in --policy "$P" -- sh -c '(i=0; while [ $i -lt 30 ]; do sleep 60 & i=$((i+1)); done) 2>/dev/null; exit 3'
  is 3
  entry '^cgroup-v2:.*pids.max=13$'
  entry '^event:pids-max=[1-9]'
}

@test "exactly so many processes as were asked for run at once" {
  policy '.limits.pids = 3'
  run_in --policy "$P" -- sh -c 'sleep 60 & sleep 60 & echo three; sleep 60 & echo four'
  is 2
  [ "$out" = three ]
  says "Cannot fork"
}

@test "cpu_s is held for the tree together: two at half of it each are stopped" {
  policy '.limits.cpu_s = 2'
  run_in --policy "$P" -- sh -c '(while :; do :; done) & (while :; do :; done) & wait'
  is 124
  report '.stopped_by == "cpu"'
  report '[.enforcement[] | select(startswith("event:cpu-us="))][0] | ltrimstr("event:cpu-us=") | tonumber >= 2000000'
}

@test "a command that heeds the stop for processor time still leaves 124" {
  policy '.limits.cpu_s = 1'
  run_in --policy "$P" -- bash -c 'trap "exit 0" TERM; (while :; do :; done) & (while :; do :; done) & wait'
  is 124
}

@test "the broker names the processor time too" {
  policy '.limits.cpu_s = 1'
  try "$BIN/loom-broker" run --cgroup-base "$BASE" --policy "$P" --report "$R" -- sh -c '(while :; do :; done) & (while :; do :; done) & wait'
  is 124
  report '.stopped_by == "cpu"'
}

@test "a cgroup goes with its execution: after a cancel, a storm, and what the command left behind" {
  "$BIN/loom-exec" run --cgroup-base "$BASE" --quiet -- sh -c 'setsid sleep 900 & echo up >up; sleep 900' 3>&- &
  local pid=$!
  until [ -s up ]; do read -r -t 0.05 _ <> <(:) || true; done
  [ -n "$(made)" ]
  kill -TERM "$pid"
  wait "$pid" || true
  [ -z "$(made)" ]
  policy '.limits.pids = 40'
  run_in --policy "$P" -- sh -c '(f() { f | f & }; f) 2>/dev/null; exit 4'
  is 4
}

@test "what a killed helper left is swept when the next one starts, and nothing of the living or of others" {
  mkdir "$BASE/somebody" "$BASE/exec-0-1" "$BASE/exec-7-4194305"
  "$BIN/loom-exec" run --cgroup-base "$BASE" --quiet -- sh -c 'echo up >up; exec sleep 900' 3>&- &
  local alive=$!
  until [ -s up ]; do read -r -t 0.05 _ <> <(:) || true; done
  "$BIN/loom-exec" run --cgroup-base "$BASE" --quiet -- sh -c 'echo up >up2; exec sleep 900' 3>&- &
  local killed=$!
  until [ -s up2 ]; do read -r -t 0.05 _ <> <(:) || true; done
  [ -d "$BASE/exec-0-$killed" ]
  # All that lived in it has ended when the kernel says so, which is what the sweep asks.
  kill -KILL "$killed"
  wait "$killed" || true
  until grep -q 'populated 0' "$BASE/exec-0-$killed/cgroup.events"; do read -r -t 0.05 _ <> <(:) || true; done
  run_in -- true
  is 0
  [ ! -e "$BASE/exec-0-$killed" ]
  [ ! -e "$BASE/exec-7-4194305" ]
  [ -d "$BASE/exec-0-$alive" ]
  [ -d "$BASE/exec-0-1" ]
  [ -d "$BASE/somebody" ]
  kill -TERM "$alive"
  wait "$alive" || true
  rmdir "$BASE/somebody" "$BASE/exec-0-1"
}

@test "one cgroup an execution, and four at once do not meet" {
  local i pids=()
  for i in 1 2 3 4; do
    "$BIN/loom-exec" run --cgroup-base "$BASE" --quiet -- sh -c "echo up >up$i; until [ -e go ]; do sleep 0.05; done; exit $i" 3>&- &
    pids+=($!)
  done
  until [ -s up1 ] && [ -s up2 ] && [ -s up3 ] && [ -s up4 ]; do read -r -t 0.05 _ <> <(:) || true; done
  [ "$(made | wc -l)" = 4 ]
  : >go
  for i in 1 2 3 4; do
    status=0
    wait "${pids[i - 1]}" || status=$?
    is "$i"
  done
}

@test "under bubblewrap as well: the same ceilings, its own process not counted" {
  skip_if_root
  [ -x /usr/bin/bwrap ] || skip "bubblewrap is not installed"
  policy '.limits.pids = 3 | .limits.mem_bytes = 48000000'
  run_in --backend bwrap --policy "$P" -- sh -c 'sleep 60 & sleep 60 & echo three; sleep 60 & echo four'
  is 2
  [ "$out" = three ]
  entry '^verified:bwrap$'
  entry '^cgroup-v2:memory.max=[0-9]+,.*pids.max=5$'
  entry '^event:pids-max=[1-9]'
  run_in --backend bwrap --policy "$P" -- sh -c 'head -c 80000000 /dev/zero | tail >/dev/null; echo tail left $?'
  answers "tail left 137"
}

@test "a base that will not do is refused with the reason: not a cgroup, with processes, threaded, without controllers" {
  [[ "$(feature /tmp)" = *"not on a cgroup v2 file system"* ]]
  [[ "$(feature "$VM_CGROUPS/session")" = *"holds processes"* ]]
  [[ "$(feature "$VM_CGROUPS/bare/below")" = *"no memory and pids controller"* ]]
  [[ "$(feature "$VM_CGROUPS/threads/below")" = *"cgroup.type"* ]]
  try "$BIN/loom-exec" run --cgroup-base "$VM_CGROUPS/session" -- touch ran
  is 125
  says "holds processes"
  [ ! -e ran ]
}

@test "an ordinary user is told of a base that is not delegated, and of one that cannot be entered from here" {
  skip_if_root
  [[ "$(feature /sys/fs/cgroup/closed)" = *"not delegated"* ]]
  [[ "$(feature /sys/fs/cgroup/island)" = *"cannot be entered"* ]]
}

@test "without a container the cgroup still holds, and still ends everything" {
  skip_unless_root
  local most
  most=$(cat /proc/sys/user/max_user_namespaces)
  echo 0 >/proc/sys/user/max_user_namespaces
  # The jail's own id there owns nothing: it works where anybody may.
  W=$(mktemp -d /var/tmp/work.XXXXXX)
  chmod 777 "$W"
  policy '.limits.mem_bytes = 48000000'
  run_in --policy "$P" --cwd "$W" --demand best_effort -- sh -c 'setsid sh -c "trap \"\" TERM; echo up >up; sleep 900" & until [ -s up ]; do sleep 0.05; done; head -c 80000000 /dev/zero | tail >/dev/null; echo tail left $?'
  echo "$most" >/proc/sys/user/max_user_namespaces
  rm -r "$W"
  is 0
  answers "tail left 137"
  entry '^skip:namespaces'
  entry '^verified:cgroup-v2$'
  entry '^event:oom-kill=[1-9]'
}
