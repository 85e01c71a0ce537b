#!/usr/bin/env bats
# loom-census: local, broker, skew.

load helpers

# A census as JSON, changed by the jq filter $1.
census() {
  jq -nc '{service: "loom-census/0.1.0", exec_proto: 4, control_proto: 1, cap_proto: 1, policy_v: 3,
    tools: {"loom-policy": "0.1.0", "loom-exec": "0.1.0", "loom-egress": null}, helper: {peer: "loom-exec/0.1.0", features: ["mounts"]}} | '"${1:-.}"
}

# A stand-in for a helper that does $1 in place of serving.
stand_in() {
  printf '#!/bin/sh\n%s\n' "$1" >"$BATS_TEST_TMPDIR/helper"
  chmod 755 "$BATS_TEST_TMPDIR/helper"
  echo "$BATS_TEST_TMPDIR/helper"
}

@test "the local census names five tools and the versions of wire and policy" {
  try "$BIN/loom-census" --json
  is 0
  silent
  json '.tools | keys == ["loom-broker", "loom-census", "loom-egress", "loom-exec", "loom-policy"]'
  json '.exec_proto == 4 and .control_proto == 1 and .cap_proto == 1 and .policy_v == 3'
}

@test "a tool that is not installed is null, and one that is has its version" {
  try "$BIN/loom-census" --json
  json '.tools["loom-census"] == "'"$("$BIN/loom-census" --version | cut -d' ' -f2)"'"'
  mkdir "$BATS_TEST_TMPDIR/alone"
  cp "$BIN/loom-census" "$BATS_TEST_TMPDIR/alone/"
  try "$BATS_TEST_TMPDIR/alone/loom-census" --json --helper "$BIN/loom-exec"
  is 0
  json '.tools["loom-exec"] == null and .tools["loom-census"] != null'
}

@test "the local census tells what the helper here says in its hello" {
  try "$BIN/loom-census" --json
  json '.helper.peer | startswith("loom-exec/")'
  json '.helper.features | length > 3'
}

@test "without --json it answers in rows, tab-separated when piped" {
  try "$BIN/loom-census"
  is 0
  answers $'loom-exec\t0.'
  answers $'exec protocol\t4'
}

@test "asking the helper leaves no process behind" {
  try "$BIN/loom-census" --json --helper "$(stand_in "echo \$\$ > $BATS_TEST_TMPDIR/pid; exec $BIN/loom-exec \"\$@\"")"
  is 0
  [ ! -e "/proc/$(cat "$BATS_TEST_TMPDIR/pid")" ]
}

@test "a missing helper is said, and the rest is answered" {
  LOOM_EXEC_HELPER=$BATS_TEST_TMPDIR/none try "$BIN/loom-census" --json
  is 1
  says "loom-census: "
  says "$BATS_TEST_TMPDIR/none"
  json '.helper == {peer: "", features: []} and .policy_v == 3'
}

@test "a helper that ends without a word, or speaks no frames, is said" {
  try "$BIN/loom-census" --json --helper "$(stand_in 'exit 0')"
  is 1
  says "ended without an answer"
  try "$BIN/loom-census" --json --helper "$(stand_in 'echo this is no frame at all')"
  is 1
  says "loom-census: $BATS_TEST_TMPDIR/helper: "
}

@test "a flag wins over LOOM_EXEC_HELPER" {
  LOOM_EXEC_HELPER=$BATS_TEST_TMPDIR/none try "$BIN/loom-census" --json --helper "$BIN/loom-exec"
  is 0
}

@test "a running broker is asked for its own census" {
  mkdir "$BATS_TEST_TMPDIR/w"
  "$BIN/loom-policy" default "$BATS_TEST_TMPDIR/w" --fit >"$BATS_TEST_TMPDIR/policy"
  mkfifo "$BATS_TEST_TMPDIR/ready"
  export LOOM_SOCKET=$BATS_TEST_TMPDIR/b/s
  "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/policy" --ready-fd 4 4>"$BATS_TEST_TMPDIR/ready" 3>&- 2>/dev/null &
  local broker=$!
  line_of "$BATS_TEST_TMPDIR/ready"
  try "$BIN/loom-census" broker --json
  local got=$out
  try "$BIN/loom-broker" stop
  is 0
  wait "$broker"
  out=$got
  json '.service | startswith("loom-broker/")'
  json '.exec_proto == 4 and .control_proto == 1'
  printf '%s\n' "$got" >"$BATS_TEST_TMPDIR/there.json"
  "$BIN/loom-census" --json >"$BATS_TEST_TMPDIR/here.json"
  try "$BIN/loom-census" skew "$BATS_TEST_TMPDIR/here.json" "$BATS_TEST_TMPDIR/there.json"
  is 0
}

@test "no broker at the socket is status 2 and names the socket" {
  try "$BIN/loom-census" broker --socket "$BATS_TEST_TMPDIR/none"
  is 2
  says "$BATS_TEST_TMPDIR/none"
  [ -z "$out" ]
  says "see no_broker in loom-runbook(7)"
}

@test "two censuses that agree have no skew" {
  census >"$BATS_TEST_TMPDIR/a"
  census '.helper.features = []' >"$BATS_TEST_TMPDIR/b"
  try "$BIN/loom-census" skew "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
  is 0
  [ -z "$out" ]
  try "$BIN/loom-census" skew --json "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
  is 0
  json '. == {ok: true, skew: []}'
}

@test "each version that differs is one line, and the status is 1" {
  census >"$BATS_TEST_TMPDIR/a"
  census '.exec_proto = 5 | .tools["loom-egress"] = "0.2.0"' >"$BATS_TEST_TMPDIR/b"
  try "$BIN/loom-census" skew "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
  is 1
  [ "$out" = $'exec_proto\t4\t5\nloom-egress\tnot there\t0.2.0' ]
  try "$BIN/loom-census" skew --json "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
  is 1
  json '.ok == false and (.errors | length == 2) and .errors[0].code == "skew"'
  json '.skew[1] == {name: "loom-egress", ours: null, theirs: "0.2.0"}'
}

@test "a census may come from standard input" {
  census >"$BATS_TEST_TMPDIR/a"
  census '.policy_v = 4' >"$BATS_TEST_TMPDIR/b"
  try "$BIN/loom-census" skew - "$BATS_TEST_TMPDIR/a" <"$BATS_TEST_TMPDIR/b"
  is 1
  [ "$out" = $'policy_v\t4\t3' ]
}

@test "a file that is no census is status 2, with file and key" {
  census 'del(.policy_v)' >"$BATS_TEST_TMPDIR/a"
  try "$BIN/loom-census" skew "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/a"
  is 2
  says "loom-census: $BATS_TEST_TMPDIR/a: /policy_v: missing key"
  echo '{"a": ' >"$BATS_TEST_TMPDIR/a"
  try "$BIN/loom-census" skew "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/a"
  is 2
  try "$BIN/loom-census" skew "$BATS_TEST_TMPDIR/none" "$BATS_TEST_TMPDIR/a"
  is 2
  says "$BATS_TEST_TMPDIR/none: cannot open: No such file or directory"
}

# --- doctor

@test "the doctor says of each thing whether it is held, and what to do about what is not" {
  try "$BIN/loom-census" doctor --json
  json '[.checks[].check] == ["kernel", "user-namespaces", "mount-api", "proc", "idmapped-mounts", "landlock", "seccomp", "cgroup-v2", "bwrap", "jail"]'
  json '.checks | all(.state | IN("held", "weaker", "lacking", "not needed"))'
  json '.ok == ([.checks[] | select(.state == "lacking")] == [])'
  json '[.checks[] | select(.state == "lacking")] | all(.remedy != "")'
  is "$(jq 'if .ok then 0 else 1 end' <<<"$out")"
  json '(.errors // []) | all(.code == "lacking" and .where != "" and .hint != "")'
  local left
  left=$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'loom-doctor.*' -user "$(id -u)")
  [ -z "$left" ]
}

@test "without --json the doctor's remedies stand below what they are for" {
  try "$BIN/loom-census" doctor --cgroup-base "$BATS_TEST_TMPDIR/none"
  is 1
  answers $'cgroup-v2\tlacking\t'"$BATS_TEST_TMPDIR/none: cannot open it: No such file or directory"
  answers $'\tdo:\t'
}

@test "where user namespaces are used up the doctor names the sysctl" {
  try unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh "$BIN/loom-census" doctor --json
  is 1
  json '.checks[] | select(.check == "user-namespaces") | .state == "lacking" and (.remedy | contains("user.max_user_namespaces"))'
  json '.checks[] | select(.check == "jail") | .state == "lacking" and .found != ""'
}

@test "where /proc is partly covered, as in a container, the doctor says so and how to uncover it" {
  try unshare -Urm sh -c 'mount -t tmpfs cover /proc/sys && exec "$@"' sh "$BIN/loom-census" doctor --json
  is 1
  json '.checks[] | select(.check == "proc") | .state == "lacking" and (.found | contains("/proc/sys")) and (.remedy | contains("unmask"))'
}

@test "the doctor tells a bubblewrap's faults by what it does" {
  [ -x /usr/bin/bwrap ] || skip "bubblewrap is not installed"
  try "$BIN/loom-census" doctor --json
  # This release has all three, and is told by none of its numbers.
  [[ "$(bwrap --version)" = "bubblewrap 0.8."* ]] || skip "another release than the one whose faults are known"
  json '.checks[] | select(.check == "bwrap") | .found | contains("through links") and contains("descriptors") and contains("environment")'
}

@test "a doctor without a helper that answers is status 2" {
  try "$BIN/loom-census" doctor --helper "$BATS_TEST_TMPDIR/none"
  is 2
  says "$BATS_TEST_TMPDIR/none"
  try "$BIN/loom-census" doctor --helper "$(stand_in 'echo hello')"
  is 2
  says "does not tell its features"
}

@test "a helper that does not answer is a no in JSON as well" {
  printf '#!/bin/sh\nexit 3\n' >"$BATS_TEST_TMPDIR/dead"
  chmod +x "$BATS_TEST_TMPDIR/dead"
  try "$BIN/loom-census" --json --helper "$BATS_TEST_TMPDIR/dead"
  is 1
  json '.ok == false and .errors[0].code == "no_answer" and .exec_proto == 4'
  try "$BIN/loom-census" --helper "$BATS_TEST_TMPDIR/dead"
  is 1
  answers "no answer"
}
