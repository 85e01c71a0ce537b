#!/usr/bin/env bats
# What the report says was verified was: under a kernel that only says it did what it was asked, the layer is told as not applied, and
# nothing runs unless less was asked for. Every test is run as root and as an ordinary user.
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/work
  mkdir "$W"
  mkdir "$W/frozen"
  cd "$W" || return
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null | jq --arg w "$W" '.frozen += [$w + "/frozen"] | .limits.pids = 0' >"$BATS_TEST_TMPDIR/policy"
}

# under CALL LAYER...: with this call lied about, exactly these layers (and what is said of none of them) are skipped, with a reason.
under() {
  local call=$1
  shift
  try "$BUILT/test/peers/lying_kernel" "$call" -- "$BIN/loom-exec" run --policy "$BATS_TEST_TMPDIR/policy" -- touch ran
  is 125
  [ ! -e ran ]
  says layer_refused
  for layer in "$@"; do says "$layer"; done
  try "$BUILT/test/peers/lying_kernel" "$call" -- "$BIN/loom-exec" run --quiet --demand best_effort --policy "$BATS_TEST_TMPDIR/policy" \
    --report "$BATS_TEST_TMPDIR/report" -- touch ran
  is 0
  [ -e ran ]
  [ "$(jq -r '.enforcement[] | select(startswith("skip:")) | split(":")[1]' "$BATS_TEST_TMPDIR/report" | sort -u | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" ]
  for layer in "$@"; do
    jq -e --arg l "$layer" '.enforcement | all(. != "verified:" + $l and (split(":")[0] != $l))' "$BATS_TEST_TMPDIR/report"
  done
}

@test "without a lie all is verified" {
  try "$BIN/loom-exec" run --quiet --policy "$BATS_TEST_TMPDIR/policy" --report "$BATS_TEST_TMPDIR/report" -- true
  is 0
  for layer in namespaces mounts unprivileged no-new-privs landlock seccomp-base seccomp-net rlimit-cpu rlimit-fsize rlimit-core; do
    jq -e --arg l "$layer" '.enforcement | index("verified:" + $l)' "$BATS_TEST_TMPDIR/report"
  done
}

@test "a filter that was not loaded is seen" { under seccomp seccomp-base seccomp-net; }

@test "a ruleset that was not put on is seen" { under landlock_restrict_self landlock; }

@test "limits that were not set are seen" {
  # A limit that the caller has already holds, whoever set it.
  local core=rlimit-core
  [ "$(ulimit -Hc)" != 0 ] || core=
  under prlimit64 rlimit-cpu rlimit-fsize $core
}

@test "a bounding set that was not emptied is seen" { under prctl_bounding unprivileged; }

@test "mounts that did not become read-only are seen, and named" {
  skip_if_root
  under mount_setattr mounts
  jq -e --arg w "$W" '.enforcement | any(startswith("skip:mounts: " + $w + "/frozen: "))' "$BATS_TEST_TMPDIR/report"
}
