#!/usr/bin/env bats
# The broker's socket: who comes, how many, how slowly; supervisors; two brokers and one place.

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/work
  mkdir "$W"
  mkdir -m 0700 "$BATS_TEST_TMPDIR/b"
  cd "$W" || return
  export LOOM_SOCKET=$BATS_TEST_TMPDIR/b/s
  "$BIN/loom-policy" default "$W" --fit >"$BATS_TEST_TMPDIR/base" 2>/dev/null
  broker=
}
teardown() {
  [ -z "$broker" ] || { kill -TERM "$broker" 2>/dev/null && wait "$broker"; } || true
}

cases() { python3 "$TREE/test/peers/socket_cases.py" "$@"; }
# serve [DESCRIPTORS]: in the background, with so many descriptors; $broker, and its log.
serve() {
  mkfifo "$BATS_TEST_TMPDIR/ready"
  prlimit --nofile="${1:-1024}" -- "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/base" --ready-fd 9 9>"$BATS_TEST_TMPDIR/ready" \
    2>"$BATS_TEST_TMPDIR/log" 3>&- &
  broker=$!
  [ "$(line_of "$BATS_TEST_TMPDIR/ready")" = "ready $LOOM_SOCKET" ] || { cat "$BATS_TEST_TMPDIR/log" >&2; return 1; }
  rm "$BATS_TEST_TMPDIR/ready"
}
stops() {
  try "$BIN/loom-broker" stop
  is 0
  status=0
  wait "$broker" || status=$?
  broker=
  is 0
}
# holds CASE N: N connections stay open until `release`.
holds() {
  coproc HOLDER { cases "$1" "$LOOM_SOCKET" "$2" 3>&-; }
  holder=$HOLDER_PID
  read -r -t 20 -u "${HOLDER[0]}" line
  [ "$line" = held ]
}
release() {
  local end=${HOLDER[1]}
  exec {end}>&-
  wait "$holder"
}
# logged EVENT: waits for it.
logged() {
  local end=$((SECONDS + 20))
  until grep -q "event=$1" "$BATS_TEST_TMPDIR/log"; do [ $SECONDS -lt $end ] || { cat "$BATS_TEST_TMPDIR/log" >&2; return 1; }; done
}

@test "a thousand idle connections keep nobody from being served" {
  [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 1100 ] || skip "the hard limit of descriptors is under 1100"
  serve 1100
  holds idle 1000
  try "$BIN/loom-broker" call -- sh -c 'exit 7'
  is 7
  # Another user's view of it is closed, the broker's own user's too.
  [ ! -r "/proc/$broker/fd" ] || [ "$(find "/proc/$broker/fd" | wc -l)" -gt 1000 ]
  release
  try "$BIN/loom-broker" call -- sh -c 'exit 8'
  is 8
  stops
}

@test "out of descriptors the listener pauses, says so once, and resumes" {
  serve 32
  holds open 40
  logged listener.paused
  grep -q 'event=listener.paused reason=listener_paused' "$BATS_TEST_TMPDIR/log"
  release
  logged listener.resumed
  try "$BIN/loom-broker" call -- sh -c 'exit 7'
  is 7
  stops
}

@test "a client that says nothing is told and closed, and one that is slow is served" {
  serve 1024
  try cases half-open "$LOOM_SOCKET"
  [ "$out" = $'protocol_violation\nclosed' ]
  try cases slow "$LOOM_SOCKET"
  [ "$out" = answered ]
  stops
}

@test "frames at the cap and over it are refused, cost little and end only their connection" {
  [ "${VARIANT:-}" != sanitize ] || skip "a sanitizer's memory is not ours to bound"
  serve 1024
  try cases huge "$LOOM_SOCKET"
  [ "$out" = $'malformed_frame\nclosed\nmalformed_frame\nclosed' ]
  peak=$(sed -n 's/^VmHWM:\s*\([0-9]*\) kB/\1/p' "/proc/$broker/status")
  [ "$peak" -lt 120000 ] || { echo "peak $peak kB" >&2; return 1; }
  try "$BIN/loom-broker" call -- sh -c 'exit 7'
  is 7
  stops
}

@test "a supervisor's socket is taken over and its file left alone" {
  cases listen "$LOOM_SOCKET" "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/base" 2>"$BATS_TEST_TMPDIR/log" 3>&- &
  broker=$!
  logged broker.started
  try "$BIN/loom-broker" call -- sh -c 'exit 7'
  is 7
  stops
  [ -S "$LOOM_SOCKET" ]
}

@test "a supervisor is told when it serves and when it stops" {
  try cases notify "$BATS_TEST_TMPDIR/notify" "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/base"
  is 0
  [ "$(grep -o 'READY=1\|STOPPING=1\|left 0' <<<"$out" | xargs)" = "READY=1 STOPPING=1 left 0" ]
}

@test "of two brokers that start in one place one serves and the other says that it is taken" {
  for i in 1 2 3; do
    for n in 1 2; do
      "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/base" 2>"$BATS_TEST_TMPDIR/log$n" 3>&- &
      brokers[n]=$!
    done
    status=0
    wait -n "${brokers[@]}" || status=$?
    is 2
    refused=$(grep -l 'answers there already' "$BATS_TEST_TMPDIR"/log[12])
    [ "$(wc -w <<<"$refused")" = 1 ]
    grep -q 'see socket_live in loom-runbook(7)' "$refused"
    [ "$refused" = "$BATS_TEST_TMPDIR/log1" ] && broker=${brokers[2]} || broker=${brokers[1]}
    try "$BIN/loom-broker" call -- sh -c 'exit 7'
    is 7
    stops
  done
}

@test "a socket that is replaced under a living broker ends it, and the other's file stays" {
  serve 1024
  python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])' "$BATS_TEST_TMPDIR/b/other"
  mv "$BATS_TEST_TMPDIR/b/other" "$LOOM_SOCKET"
  status=0
  wait "$broker" || status=$?
  broker=
  is 1
  grep -q 'the socket was replaced by something else' "$BATS_TEST_TMPDIR/log"
  grep -q 'see socket_lost in loom-runbook(7)' "$BATS_TEST_TMPDIR/log"
  [ -S "$LOOM_SOCKET" ]
}
