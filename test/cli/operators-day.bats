#!/usr/bin/env bats
# One day of an operator, with the tools alone: serve, ten calls side by side, a look in the middle, a cancel, an aborted
# step whose sibling lives, an aborted operation, a helper that dies, and a stop that leaves nothing.

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/work
  mkdir "$W"
  cd "$W" || return
  export LOOM_SOCKET=$BATS_TEST_TMPDIR/b/s
  "$BIN/loom-policy" default "$W" --fit >"$BATS_TEST_TMPDIR/base" 2>/dev/null
  mkfifo "$BATS_TEST_TMPDIR/ready"
  "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/base" --pool-size 10 --per-helper 4 --log-json --ready-fd 9 \
    9>"$BATS_TEST_TMPDIR/ready" 2>"$BATS_TEST_TMPDIR/log" 3>&- &
  broker=$!
  [ "$(line_of "$BATS_TEST_TMPDIR/ready")" = "ready $LOOM_SOCKET" ]
}

teardown() {
  [ -z "$broker" ] || { kill -TERM "$broker" 2>/dev/null && wait "$broker"; } || true
}

snapshot() { "$BIN/loom-broker" snapshot --json; }
# shows FILTER: waits until it holds of a snapshot.
shows() {
  local end=$((SECONDS + 20))
  until snapshot | jq -e "$1" >/dev/null; do
    [ $SECONDS -lt $end ] || { snapshot | jq . >&2; return 1; }
  done
}
# begins NAME OP STEP: a call that runs until it is told to end; its id is in calls[NAME].
begins() {
  "$BIN/loom-broker" call --op "$2" --step "$3" -- sh -c "echo $1; exec sleep 1000" >"$W/$1" 2>"$W/$1.err" 3>&- &
  calls[$1]=$!
}
runs() {
  local end=$((SECONDS + 20))
  until [ "$(cat "$W/$1")" = "$1" ]; do [ $SECONDS -lt $end ] || return 1; done
}
# left NAME STATUS
left() {
  status=0
  wait "${calls[$1]}" || status=$?
  is "$2"
}

@test "an operator's day" {
  local -A calls
  # Ten calls side by side: three of one step, two of its sibling, four of another operation, one alone.
  for i in 1 2 3; do begins "a$i" build compile; done
  for i in 4 5; do begins "b$i" build link; done
  for i in 6 7 8 9; do begins "c$i" deploy 1; done
  begins d10 lone 1
  for name in "${!calls[@]}"; do runs "$name"; done

  # In the middle.
  out=$(snapshot)
  json '(.live | length) == 10 and .pool.lent == 10 and .pool.spawned == 3 and .waiting.count == 0 and .phase == "serving"'
  json '.books.executions == 10 and .books.reserved == 10 and .books.ledgers == 4 and .books.tokens == 10'
  json '[.live[] | select(.mode == "streaming" and .cancel == "none")] | length == 10'

  # One call is cancelled by its number; nine go on. Operator and caller agree on which it was.
  lone=$(snapshot | jq '.live | max_by(.seq).seq')
  try "$BIN/loom-broker" cancel --json "$lone"
  is 0
  json '.found == true'
  shows '(.live | length) == 9'
  end=$((SECONDS + 20))
  until gone=$(for name in "${!calls[@]}"; do kill -0 "${calls[$name]}" 2>/dev/null || echo "$name"; done) && [ -n "$gone" ]; do
    [ $SECONDS -lt $end ]
  done
  [ "$(wc -w <<<"$gone")" = 1 ]
  left "$gone" 143
  unset "calls[$gone]"

  # A step is aborted; its sibling and the other operation live.
  n=$(for name in "${!calls[@]}"; do echo "$name"; done | grep -c '^a')
  try "$BIN/loom-broker" abort-step --json build compile
  is 0
  json ".cancelled == $n and .waiting == 0"
  for name in "${!calls[@]}"; do
    [[ $name != a* ]] || { left "$name" 143; unset "calls[$name]"; }
  done
  for name in "${!calls[@]}"; do kill -0 "${calls[$name]}"; done
  # A new call under the same ids is served.
  try "$BIN/loom-broker" call --op build --step compile -- sh -c 'exit 6'
  is 6

  # The operation is aborted; only the other one's calls are left.
  try "$BIN/loom-broker" abort build
  is 0
  for name in "${!calls[@]}"; do
    [[ $name != b* ]] || { left "$name" 143; unset "calls[$name]"; }
  done
  out=$(snapshot)
  json '[.live[].cancel] | all(. == "none")'
  json ".live | length == ${#calls[@]}"

  # A helper is killed under its calls: they may have run (123), the others live, and the operator sees it.
  victim=$(snapshot | jq '.live[0].helper as $h | .pool.helpers[] | select(.ordinal == $h) | {pid, ordinal}')
  lost=$(snapshot | jq --argjson v "$victim" '[.live[] | select(.helper == $v.ordinal)] | length')
  kill -KILL "$(jq .pid <<<"$victim")"
  shows ".counters.settled.lost == $lost"
  shows ".pool.unconfirmed == 0 and ([.pool.helpers[].ordinal] | index($(jq .ordinal <<<"$victim"))) == null"
  out=$(snapshot)
  json '.last_failure.kind == "execution_lost" and .last_failure.cause == "helper_down"'
  jq -es --argjson v "$victim" 'any(.[]; .event == "helper.died" and .helper == $v.ordinal)' "$BATS_TEST_TMPDIR/log"

  # The stop: running calls hear a real end, the broker leaves 0, nothing stays.
  try "$BIN/loom-broker" stop --json
  is 0
  json '.clean == true and .unconfirmed == 0'
  status=0
  wait "$broker" || status=$?
  broker=
  is 0
  lost_seen=0
  for name in "${!calls[@]}"; do
    status=0
    wait "${calls[$name]}" || status=$?
    [ "$status" = 143 ] || { [ "$status" = 123 ] && lost_seen=$((lost_seen + 1)); }
  done
  [ "$lost_seen" = "$lost" ]
  [ ! -e "$LOOM_SOCKET" ]
  tail -n 1 "$BATS_TEST_TMPDIR/log" | jq -e '.event == "broker.closed" and .clean == true'
  if pgrep -f "sleep 1000" -u "$(id -u)" | xargs -rI{} readlink /proc/{}/cwd | grep -F "$W"; then return 1; fi
}
