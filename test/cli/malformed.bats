#!/usr/bin/env bats
# Bytes that break the rules of the wire, sent to a real helper while a command runs beside them: each has the answer that
# loom-wire(7) names, the running command ends, and nothing is left behind. The table is test/support/vectors/malformed.tsv.

# shellcheck disable=SC2154  # out is what try got
load helpers

setup() {
  TABLE=$TREE/test/support/vectors/malformed.tsv
  EXEC_CLIENT=$BUILT/test/peers/exec_client
  WORKSPACE=$BATS_TEST_TMPDIR/ws
  MARK=malformed-$$-$BATS_TEST_NUMBER
  mkdir "$WORKSPACE"
  "$BIN/loom-policy" default "$WORKSPACE" --fit >"$BATS_TEST_TMPDIR/policy" 2>/dev/null
}

# helper_beside_a_command LINE...: a helper in which a command runs (and says so) while the script's LINEs are spoken.
# The frames that came are in $out, one a line.
helper_beside_a_command() {
  try "$EXEC_CLIENT" --policy "$BATS_TEST_TMPDIR/policy" "$BIN/loom-exec" serve < <(
    echo hello
    echo 'with {"demand":"best_effort"}'
    echo "sh 1 $WORKSPACE echo running; : $MARK; sleep 300; sleep 300"
    echo 'await-output 1 running'
    printf '%s\n' "$@"
    echo drain
  )
}

# frame FILTER: one of the frames is as FILTER says.
frame() { jq -se "any(.[]; $1)" >/dev/null <<<"$out" || { tell; echo "want a frame: $1" >&2; return 1; }; }
# The last frame, and how the helper left.
last_frame() { jq -se ".[-2] | $1" >/dev/null <<<"$out" || { tell; echo "want last: $1" >&2; return 1; }; }
helper_left() { jq -se ".[-1].helper.exited == $1" >/dev/null <<<"$out" || { tell; echo "want exit $1" >&2; return 1; }; }

# Neither a process of the jail, nor a mount of the workspace, nor anything in it.
nothing_left() {
  ! pgrep -f -- "$MARK" >/dev/null || { pgrep -af -- "$MARK" >&2; return 1; }
  ! grep -F "$WORKSPACE" /proc/self/mountinfo || return 1
  [ -z "$(ls -A "$WORKSPACE")" ] || { ls -lA "$WORKSPACE" >&2; return 1; }
}

# refused_row WHY ID MESSAGE: the row of that reason is answered by `error` of that id, the last frame there is; the helper
# ends with 1.
refused_row() {
  local hex
  hex=$(awk -F '\t' -v why="$1" '$1 == "helper" && $2 == why { print $3 }' "$TABLE")
  [ -n "$hex" ] || { echo "no such row: $1" >&2; return 1; }
  helper_beside_a_command "raw $hex" ${4:+"$4"}
  echo "# row: $1" >&2
  last_frame ".id == $2 and .kind == \"error\" and .body.code == \"malformed_frame\"" || return 1
  last_frame ".body.msg | contains(\"$3\")" || return 1
  helper_left 1 || return 1
  nothing_left
}

@test "the command beside is one that would be seen if it were left" {
  coproc CLIENT { exec "$EXEC_CLIENT" --policy "$BATS_TEST_TMPDIR/policy" "$BIN/loom-exec" serve 3>&-; }
  local pid=$CLIENT_PID fd line
  printf '%s\n' hello 'with {"demand":"best_effort"}' "sh 1 $WORKSPACE echo running; : $MARK; sleep 300; sleep 300" \
    'await-output 1 running' >&"${CLIENT[1]}"
  until [[ "$line" == *running* ]]; do read -r -t 20 line <&"${CLIENT[0]}"; done
  pgrep -f -- "$MARK" >/dev/null
  printf '%s\n' 'raw 00000000' drain >&"${CLIENT[1]}"
  fd=${CLIENT[1]}
  exec {fd}>&-
  ends "$pid"
  nothing_left
}

@test "a frame that is none is answered with id 0 and its fault, and ends the channel and the command" {
  refused_row "length over the cap" 0 "16777217"
  refused_row "empty payload" 0 "empty payload"
  refused_row "payload is not a map" 0 "map"
  refused_row "never-used byte c1" 0 "c1"
  refused_row "trailing byte after the map" 0 "follow"
}

@test "an envelope that breaks its rules is answered with id 0 and the key" {
  refused_row "envelope version 2" 0 "version 2"
  refused_row "missing body" 0 "/body: missing key"
  refused_row "unknown envelope key" 0 "/x: unknown key"
  refused_row "duplicate envelope key" 0 "duplicate key"
  refused_row "negative id" 0 "/id"
  refused_row "float id" 0 "/id"
  refused_row "empty kind" 0 "/kind: empty"
}

@test "a body that no decoder may build is refused with id 0 before it is built" {
  refused_row "array claims 2^32-1 elements in 5 bytes" 0 "claims more elements"
  refused_row "nesting of 64 arrays in body" 0 "nested deeper than 32"
  refused_row "ext type" 0 "ext type"
}

@test "a body that does not decode is answered with its own id, naming key and fault" {
  refused_row "exec_start with empty argv" 3 "/argv: empty"
  refused_row "exec_start with NUL in argv" 3 "/argv/0: holds a NUL"
  refused_row "exec_start with empty token" 3 "/token: empty"
  refused_row "exec_start with = in env name" 3 "/env"
  refused_row "exec_start with unknown key" 3 "/surprise: unknown key"
  refused_row "exec_credit with a stream it does not know" 3 "/stream"
  refused_row "exec_start with an unknown demand" 3 "/demand"
}

@test "an end of file inside a frame is a malformed frame" {
  refused_row "truncated length, then end of file" 0 "frame" eof
}

@test "every row for a helper is asked for above" {
  local missing=0 why
  while IFS= read -r why; do
    grep -qF "refused_row \"$why\"" "$BATS_TEST_FILENAME" || { echo "not asked for: $why" >&2; missing=1; }
  done < <(awk -F '\t' '$1 == "helper" { print $2 }' "$TABLE")
  [ "$missing" = 0 ]
}

@test "an unknown kind is said under its id, and channel and command go on" {
  helper_beside_a_command 'send 9 of_tomorrow {}' 'await error 9' 'send 10 heartbeat {}' 'await heartbeat 10' 'cancel 1' \
    'await exec_exit 1' eof
  frame '.id == 9 and .kind == "error" and .body.code == "unknown_kind"'
  frame '.id == 1 and .kind == "exec_exit" and .body.cancelled'
  helper_left 0
  nothing_left
}

@test "a kind of another channel is a protocol violation that names the kind" {
  helper_beside_a_command 'send 9 call_output {}'
  last_frame '.id == 0 and .body.code == "protocol_violation" and (.body.msg | contains("call_output"))'
  helper_left 1
  nothing_left
}

@test "a second hello is a protocol violation" {
  helper_beside_a_command hello
  last_frame '.id == 0 and .body.code == "protocol_violation" and (.body.msg | contains("hello"))'
  helper_left 1
  nothing_left
}

@test "a hello of another protocol is answered with both numbers and which build is behind" {
  try "$EXEC_CLIENT" --policy "$BATS_TEST_TMPDIR/policy" "$BIN/loom-exec" serve < <(printf '%s\n' 'hello proto=3' drain)
  last_frame '.id == 0 and .body.code == "proto_mismatch" and (.body.msg | contains("protocol 3") and contains("protocol 4") and contains("behind"))'
  nothing_left
}

@test "a frame before the hello is a protocol violation" {
  try "$EXEC_CLIENT" --policy "$BATS_TEST_TMPDIR/policy" "$BIN/loom-exec" serve < <(printf '%s\n' 'send 1 heartbeat {}' drain)
  last_frame '.id == 0 and .body.code == "protocol_violation" and (.body.msg | contains("heartbeat"))'
  helper_left 1
}

# through_a_script LINE...: `loom-broker run` over a helper that speaks by a script, from the moment it has an execution.
# What the broker sent it is in $LOG, the report in $REPORT.
through_a_script() {
  LOG=$BATS_TEST_TMPDIR/log REPORT=$BATS_TEST_TMPDIR/report
  printf '%s\n' "log $LOG" hello 'expect hello' 'expect exec_start' "$@" >"$BATS_TEST_TMPDIR/script"
  printf '#!/bin/sh\nexec "%s" "%s"\n' "$BUILT/test/peers/scripted_helper" "$BATS_TEST_TMPDIR/script" >"$BATS_TEST_TMPDIR/helper"
  chmod 755 "$BATS_TEST_TMPDIR/helper"
  try "$BIN/loom-broker" run --quiet --workspace "$WORKSPACE" --helper "$BATS_TEST_TMPDIR/helper" --report "$REPORT" -- true
}
report() { jq -e "$1" "$REPORT" >/dev/null || { cat "$REPORT" >&2; echo "want in the report: $1" >&2; return 1; }; }
helper_gone() { ! pgrep -f -- "$BATS_TEST_TMPDIR/script" >/dev/null; }
broker_sent() { jq -se "any(.[]; $1)" "$LOG" >/dev/null || { cat "$LOG" >&2; echo "want sent: $1" >&2; return 1; }; }

@test "a helper's output on a stream that there is not ends the helper, and the call fails in band" {
  local hex
  hex=$(awk -F '\t' '$1 == "broker" && $2 == "exec_out with unknown stream" { print $3 }' "$TABLE")
  through_a_script 'out stdout before\n' "raw $hex" drain
  is 123
  answers before
  report '.outcome.failed.kind == "channel_closed" and (.outcome.failed.detail.why | contains("/stream"))'
  helper_gone
  nothing_left
}

@test "every row for a broker is asked for above" {
  [ "$(awk -F '\t' '$1 == "broker" { print $2 }' "$TABLE")" = "exec_out with unknown stream" ]
}

@test "a helper's frame that is none ends the helper, and the call fails in band" {
  through_a_script 'raw 01000001' drain
  is 123
  report '.outcome.failed.kind == "channel_closed" and (.outcome.failed.detail.why | contains("16777217"))'
  helper_gone
}

@test "a kind that a helper never sends is a protocol violation that names it" {
  through_a_script 'send 9 exec_stdin {"target":1,"data":{"hex":""},"eof":true}' drain
  is 123
  report '.outcome.failed.kind == "protocol_violation" and (.outcome.failed.detail.what | contains("exec_stdin"))'
  helper_gone
}

@test "a kind that a broker does not know is said under its id, and the call goes on" {
  through_a_script 'ignore exec_stdin' 'send 9 of_tomorrow {}' 'expect error' 'out stdout after\n' 'exit 5' drain
  is 5
  answers after
  broker_sent '.id == 9 and .body.code == "unknown_kind"'
}

# ---- the control channel

# a_broker: serve in the background; $SOCKET, $BROKER. It ends with the test.
a_broker() {
  mkfifo "$BATS_TEST_TMPDIR/ready"
  SOCKET=$BATS_TEST_TMPDIR/b/s
  "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/policy" --socket "$SOCKET" --demand best_effort --ready-fd 4 \
    4>"$BATS_TEST_TMPDIR/ready" 2>"$BATS_TEST_TMPDIR/broker.log" 3>&- &
  BROKER=$!
  line_of "$BATS_TEST_TMPDIR/ready" >/dev/null
}
teardown() {
  [ -z "${BROKER:-}" ] || { kill -TERM "$BROKER" 2>/dev/null || true; wait "$BROKER" || true; }
}
client() { try "$BUILT/test/peers/control_client" "$SOCKET" < <(printf '%s\n' "$@"); }

@test "towards a broker, a frame that is none is answered with id 0 and ends the connection, not the broker" {
  a_broker
  local hex why
  while IFS=$'\t' read -r _ why hex; do
    [[ "$why" != exec_* ]] || continue
    if [ "$why" = "truncated length, then end of file" ]; then client hello 'await hello' "raw $hex" eof drain
    else client hello 'await hello' "raw $hex" drain; fi
    echo "# row: $why" >&2
    is 0
    jq -se '.[-1] | .id == 0 and .kind == "error" and .body.code == "malformed_frame"' >/dev/null <<<"$out" || { tell; return 1; }
  done < <(grep '^helper' "$TABLE")
  client hello 'await hello' 'send 5 snapshot {}' 'await ok 5'
  is 0
}

@test "towards a broker, a call whose body does not decode is refused and the connection stays" {
  a_broker
  client hello 'await hello' 'send 5 clear_call {"op_id":"o","step_id":"1","argv":[]}' 'await call_refused 5' \
    'send 6 abort_op {"op":"o"}' 'await error 6' 'send 7 snapshot {"more":1}' 'await error 7' \
    'send 8 of_tomorrow {}' 'await error 8' 'send 9 heartbeat {}' 'await heartbeat 9'
  is 0
  frame '.id == 5 and .body.reason == "bad_request" and (.body.detail | tostring | contains("/argv"))'
  frame '.id == 6 and .body.code == "bad_request" and (.body.msg | contains("/op_id"))'
  frame '.id == 7 and .body.code == "bad_request" and (.body.msg | contains("/more"))'
  frame '.id == 8 and .body.code == "unknown_kind"'
}

@test "towards a broker, a kind of another channel and another protocol end the connection and are named" {
  a_broker
  client hello 'await hello' 'send 5 exec_start {}' drain
  jq -se '.[-1] | .id == 0 and .body.code == "protocol_violation" and (.body.msg | contains("exec_start"))' <<<"$out" >/dev/null || { tell; return 1; }
  client 'hello proto=7' 'await hello' drain
  jq -se '.[-1] | .body.code == "proto_mismatch" and (.body.msg | contains("7") and contains("1") and contains("behind"))' <<<"$out" >/dev/null || { tell; return 1; }
  client 'send 1 snapshot {}' drain
  jq -se '.[-1] | .id == 0 and .body.code == "protocol_violation" and (.body.msg | contains("snapshot"))' <<<"$out" >/dev/null || { tell; return 1; }
}
