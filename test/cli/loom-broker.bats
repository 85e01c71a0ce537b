#!/usr/bin/env bats
# loom-broker: run, smoke, serve, call and the questions. Every test is run as root and as an ordinary user.
# shellcheck disable=SC2016  # what is in single quotes is for the shell inside the jail

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/work
  mkdir "$W"
  cd "$W" || return
  export LOOM_SOCKET=$BATS_TEST_TMPDIR/b/s
  broker=
  reachable=
}

teardown() {
  [ -z "$broker" ] || { kill -TERM "$broker" 2>/dev/null && wait "$broker"; } || true
  [ -z "$reachable" ] || rm -rf "$reachable"
}

# run_in ARG...: loom-broker run over the workspace.
run_in() { try "$BIN/loom-broker" run --quiet --workspace "$W" "$@"; }
report() { jq -e "$1" "$BATS_TEST_TMPDIR/report" >/dev/null || { cat "$BATS_TEST_TMPDIR/report" >&2; return 1; }; }
ask() { try "$BIN/loom-broker" "$@"; }

# behind VERB ARG...: loom-broker in the background, its stdout on the descriptor 8; $pid is its id.
behind() {
  rm -f "$BATS_TEST_TMPDIR/out"
  mkfifo "$BATS_TEST_TMPDIR/out"
  "$BIN/loom-broker" "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  pid=$!
  exec 8<"$BATS_TEST_TMPDIR/out"
}
reads() {
  local line
  read -r -t 20 line <&8
  [ "$line" = "$1" ] || { echo "read \"$line\", want \"$1\"" >&2; cat "$BATS_TEST_TMPDIR/err" >&2; return 1; }
}
leaves() {
  status=0
  wait "$pid" || status=$?
  is "$1"
}

# serve FLAG...: a broker over the workspace's policy; $broker is its id. Its log is in $BATS_TEST_TMPDIR/log.
base() { "$BIN/loom-policy" default "$W" --fit >"$BATS_TEST_TMPDIR/base" 2>/dev/null; }
serve() {
  base
  mkfifo "$BATS_TEST_TMPDIR/ready"
  "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/base" --ready-fd 9 "$@" 9>"$BATS_TEST_TMPDIR/ready" \
    2>"$BATS_TEST_TMPDIR/log" 3>&- &
  broker=$!
  [ "$(line_of "$BATS_TEST_TMPDIR/ready")" = "ready $LOOM_SOCKET" ] || { cat "$BATS_TEST_TMPDIR/log" >&2; return 1; }
}
# refuses_to_serve STATUS TEXT FLAG...
refuses_to_serve() {
  local want=$1 text=$2
  shift 2
  base
  try "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/base" "$@"
  is "$want"
  says "$text"
}
ended() {
  status=0
  wait "$broker" || status=$?
  broker=
  is "$1"
}
# seq_of FILTER: waits until the one live call is there and gives its sequence number.
live_seq() {
  local end=$((SECONDS + 20)) seq=
  while [ $SECONDS -lt $end ]; do
    seq=$("$BIN/loom-broker" snapshot --json | jq -r '.live[0].seq // empty')
    [ -z "$seq" ] || { echo "$seq"; return; }
  done
  return 1
}
# scripted LINE...: a helper that plays this script.
scripted() {
  printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/script"
  printf '#!/bin/sh\nexec "%s/test/peers/scripted_helper" "%s/script" "$@"\n' "$BUILT" "$BATS_TEST_TMPDIR" \
    >"$BATS_TEST_TMPDIR/helper"
  chmod +x "$BATS_TEST_TMPDIR/helper"
}

# --- run

@test "run gives the command's own stdout, stderr and status" {
  run_in -- sh -c 'echo out; echo err >&2; exit 7'
  is 7
  [ "$out" = out ]
  [ "$err" = err ]
}

@test "a command that succeeds leaves 0 and loom says nothing" {
  run_in -- true
  is 0
  silent
}

@test "statuses 1, 2, 124 and 125 of a command are its own" {
  for code in 1 2 124 125; do
    run_in -- sh -c "exit $code"
    is $code
  done
}

@test "the ready-made policy says what it leaves out here, and --quiet does not" {
  try "$BIN/loom-broker" run -- true
  is 0
  says "mem_bytes"
  [ "$(wc -l <<<"$err")" = 1 ]
}

@test "stdin reaches the command to its end, and a closed one is empty" {
  out=$(printf 'a\nb' | "$BIN/loom-broker" run --quiet -- cat)
  [ "$out" = "$(printf 'a\nb')" ]
  "$BIN/loom-broker" run --quiet -- cat <&- >"$BATS_TEST_TMPDIR/out"
  [ ! -s "$BATS_TEST_TMPDIR/out" ]
}

@test "300 MB go through with the same digest and little memory" {
  [ "${VARIANT:-}" != sanitize ] || skip "a sanitizer's address space is not ours to bound"
  want=$(head -c 300M /dev/zero | sha256sum)
  got=$(ulimit -v 250000; head -c 300M /dev/zero | "$BIN/loom-broker" run --quiet -- sha256sum)
  [ "$got" = "$want" ]
}

@test "a reader that goes ends the command with 141 and nothing is left" {
  "$BIN/loom-broker" run --quiet -- yes "$BATS_TEST_TMPDIR" | head -1 >"$BATS_TEST_TMPDIR/first" || true
  "$BIN/loom-broker" run --quiet -- yes "$BATS_TEST_TMPDIR" > >(head -1 >/dev/null) || status=$?
  is 141
  [ "$(cat "$BATS_TEST_TMPDIR/first")" = "$BATS_TEST_TMPDIR" ]
  nobody "yes $BATS_TEST_TMPDIR"
}

@test "a full disk under stdout is an error that is said" {
  status=0
  "$BIN/loom-broker" run --quiet -- echo x >/dev/full 2>"$BATS_TEST_TMPDIR/err" || status=$?
  is 123
  grep -q 'No space left' "$BATS_TEST_TMPDIR/err"
}

@test "the report names the policy, every layer and the end; the status descriptor the two moments" {
  "$BIN/loom-broker" run --quiet --report "$BATS_TEST_TMPDIR/report" --status-fd 7 -- sh -c 'exit 3' \
    7>"$BATS_TEST_TMPDIR/lines" || status=$?
  is 3
  report '.v == 1 and (.policy_digest | length == 64) and .narrowings == [] and .status == 3 and .stopped_by == "none"'
  report '.outcome.exited.code == 3 and (.enforcement | index("verified:mounts")) != null'
  [ "$(jq -r .type "$BATS_TEST_TMPDIR/lines" | xargs)" = "started settled" ]
}

@test "what cannot be executed is told apart from what is not there" {
  printf '#!/no/such/interpreter\n' >script
  echo text >plain
  chmod +x script
  for row in '127 nonesuch' '127 ./script' '126 ./plain' '126 /tmp'; do
    run_in --report "$BATS_TEST_TMPDIR/report" -- "${row#* }"
    is "${row%% *}"
    says "${row#* }"
    report '.outcome.failed.kind == "helper_refused" and (.outcome | has("exited") | not)'
  done
}

@test "a directory outside the view is refused before anything runs" {
  run_in --cwd /root/nowhere -- touch ran
  is 125
  says /root/nowhere
  [ ! -e ran ]
}

@test "--cwd and the caller's own directory are where the command starts" {
  mkdir sub
  run_in --cwd sub -- pwd
  [ "$out" = "$W/sub" ]
  cd sub
  run_in -- pwd
  [ "$out" = "$W/sub" ]
  cd /
  run_in -- pwd
  [ "$out" = "$W" ]
}

@test "the environment is the policy's names and what --env adds" {
  export MARK=marker HOME=$W
  run_in -- env
  is 0
  [[ "$out" != *MARK* ]]
  run_in --env MARK --env SET=value -- sh -c 'echo "$MARK $SET"'
  [ "$out" = "marker value" ]
}

@test "a time limit ends the command with 124" {
  run_in --timeout 300ms --report "$BATS_TEST_TMPDIR/report" -- sleep 1000
  is 124
  report '.stopped_by == "deadline"'
}

@test "TERM asks the command first, and its own status stands" {
  behind run --quiet -- sh -c 'trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.1; done'
  reads ready
  kill -TERM "$pid"
  reads bye
  leaves 3
}

@test "a command that ends with 0 after a cancel leaves 143" {
  behind run --quiet -- sh -c 'trap "exit 0" TERM; echo ready; while :; do sleep 0.1; done'
  reads ready
  kill -INT "$pid"
  leaves 143
}

@test "a second signal leaves at once, and the ladder still ends the command" {
  behind run --quiet -- sh -c "trap 'echo again' TERM; echo ready; while :; do sleep 0.1; done; : $BATS_TEST_TMPDIR/mark"
  reads ready
  kill -INT "$pid"
  reads again
  kill -INT "$pid"
  leaves 130
  nobody "$BATS_TEST_TMPDIR/mark"
}

@test "a killed broker leaves no helper and no command" {
  behind run --quiet -- sh -c "echo ready; sleep 1000; : $BATS_TEST_TMPDIR/mark"
  reads ready
  helper=$(pgrep -P "$pid")
  kill -KILL "$pid"
  leaves 137
  ends "$helper"
  nobody "$BATS_TEST_TMPDIR/mark"
}

@test "a killed broker leaves no helper, even a stopped one" {
  behind run --quiet -- sh -c "echo ready; sleep 1000; : $BATS_TEST_TMPDIR/mark"
  reads ready
  helper=$(pgrep -P "$pid")
  kill -STOP "$helper"
  kill -KILL "$pid"
  leaves 137
  ends "$helper"
  nobody "$BATS_TEST_TMPDIR/mark"
}

@test "a helper that is killed under a command may have run it" {
  behind run --quiet --report "$BATS_TEST_TMPDIR/report" -- sh -c "echo ready; sleep 1000; : $BATS_TEST_TMPDIR/mark"
  reads ready
  kill -KILL "$(pgrep -P "$pid")"
  leaves 123
  report '.outcome.failed.kind == "execution_lost"'
  nobody "$BATS_TEST_TMPDIR/mark"
}

@test "a missing helper, a directory and a program that is none are a clear spawn_failed" {
  for helper in "$W/absent" "$W" /bin/false; do
    run_in --helper "$helper" -- touch ran
    is 125
    says spawn_failed
  done
  export LOOM_EXEC_HELPER=$W/absent
  run_in -- touch ran
  is 125
  says "$W/absent"
  [ ! -e ran ]
}

@test "a policy that cannot be read, is broken or is too much for one file is refused by name and place" {
  try "$BIN/loom-broker" run --policy "$W/absent" -- touch ran
  is 125
  says "$W/absent"
  echo '{"v":3}' >bad
  try "$BIN/loom-broker" run --policy bad -- touch ran
  is 125
  says 'bad: '
  echo '{}' >other
  try "$BIN/loom-broker" run --policy other --workspace "$W" -- true
  is 125
  says --workspace
  [ ! -e ran ]
}

@test "a workspace that is not there, or is the whole host, is refused" {
  for place in "$W/absent" /; do
    try "$BIN/loom-broker" run --workspace "$place" -- true
    is 125
  done
}

@test "a report that cannot be written is refused before anything runs" {
  run_in --report "$W/absent/report" -- touch ran
  is 125
  says "$W/absent/report"
  [ ! -e ran ]
}

@test "a call that is refused early leaves a report of its own, not an earlier one" {
  for words in '--workspace /nonexistent' '--timeout never' '--grant network='; do
    echo old >"$BATS_TEST_TMPDIR/report"
    # shellcheck disable=SC2086
    try "$BIN/loom-broker" run --report "$BATS_TEST_TMPDIR/report" $words -- true
    is 125
    report '.outcome.refused.reason != null and .status == 125'
    # shellcheck disable=SC2086
    try "$BIN/loom-exec" run --report "$BATS_TEST_TMPDIR/report" $words -- true
    is 125
    report '.outcome.refused.reason != null and .status == 125'
  done
}

@test "a name that is loom's own is refused, and never dropped silently" {
  run_in --env LOOM_TOKEN=mine -- touch ran
  is 125
  says LOOM_TOKEN
  [ ! -e ran ]
}

@test "a layer that the helper lacks is refused with what to do about it" {
  if "$BIN/loom-exec" features --json | jq -e '.features[] | select(.tag == "cgroup-v2" and .held)' >/dev/null; then
    skip "this host holds memory ceilings"
  fi
  "$BIN/loom-policy" default "$W" 2>/dev/null >"$BATS_TEST_TMPDIR/unfitted"
  try "$BIN/loom-broker" run --policy "$BATS_TEST_TMPDIR/unfitted" -- true
  is 125
  says degraded_helper
  says "hint: loom-census doctor tells what this host lacks; loom-policy default DIR --fit"
}

@test "where no proxy can be had, no grant of one is named as what would help" {
  mkdir "$BATS_TEST_TMPDIR/alone"
  cp "$BIN/loom-broker" "$BATS_TEST_TMPDIR/alone/"
  try "$BATS_TEST_TMPDIR/alone/loom-broker" run --helper "$BIN/loom-exec" --workspace "$W" --allow-host a.test -- true
  is 125
  says "policy_refused: network: wanted proxy:a.test, granted off"
  [[ "$err" != *"would be given by"* ]]
}

@test "a refusal is said in words, with the grants that would help, and names its entry in the runbook" {
  serve
  mkdir "$BATS_TEST_TMPDIR/other"
  try "$BIN/loom-broker" call --quiet --workspace "$BATS_TEST_TMPDIR/other" -- true
  is 125
  says "writable_root: wanted $BATS_TEST_TMPDIR/other, granted nothing"
  says "--grant writable_root=$BATS_TEST_TMPDIR/other"
  says "see policy_refused in loom-runbook(7)"
  [[ "$err" != *'{'* ]]
}

@test "what this version does not have is refused by its name" {
  run_in --egress-config "$W" -- touch ran
  is 125
  says --egress-config
  run_in --cap exec.run -- touch ran
  is 125
  says cap
  [ ! -e ran ]
}

@test "usage errors of run and call are 125, of the others 2" {
  for verb in run call; do
    try "$BIN/loom-broker" $verb --no-such-flag -- true
    is 125
    try "$BIN/loom-broker" $verb
    is 125
  done
  for words in 'serve' 'serve --no-such-flag' 'cancel' 'cancel x' 'abort' 'abort-step one' 'snapshot extra' 'nonesuch'; do
    # shellcheck disable=SC2086
    ask $words
    is 2
  done
}

@test "a helper that lies about its output is a protocol violation, and the command may have run" {
  scripted hello 'expect hello' 'expect exec_start' \
    'send this exec_out {"stream":"stdout","data":{"hex":"78"},"bytes":7,"truncated":false}' drain
  run_in --helper "$BATS_TEST_TMPDIR/helper" -- true
  is 123
  says protocol_violation
}

@test "a helper that is ended for its fault has read why" {
  scripted hello "log $W/heard" 'expect hello' 'ignore exec_stdin' 'expect exec_start' 'raw 0000000181' 'expect error' stuck
  run_in --helper "$BATS_TEST_TMPDIR/helper" -- true
  is 123
  [ "$(jq -r 'select(.kind == "error") | "\(.id) \(.body.code)"' "$W/heard")" = "0 malformed_frame" ]
}

@test "a report on a full disk is an error that is said, through a broker as well" {
  serve
  for verb in run call; do
    try "$BIN/loom-broker" $verb --quiet --report /dev/full -- true
    is 123
    says "No space left"
    # What did not run still did not.
    try "$BIN/loom-broker" $verb --quiet --report /dev/full -- no-such-command
    is 127
    says "No space left"
  done
}

@test "what a helper leaves behind is ended before run leaves, and its own children too" {
  scripted hello 'expect hello' 'expect exec_start' orphan orphan 'exit 4' drain
  local long=98765.$BASHPID # another user runs this as well
  sed -i "2i setsid sh -c 'sleep $long & : $W/left; sleep $long; :' >/dev/null 2>&1 &" "$BATS_TEST_TMPDIR/helper"
  run_in --helper "$BATS_TEST_TMPDIR/helper" -- true
  is 4
  silent
  if pgrep -f "sleep $long|$W/left|$BATS_TEST_TMPDIR/script" >/dev/null; then return 1; fi
}

@test "a helper that stops, or never ends, is killed" {
  scripted hello 'expect hello' 'expect exec_start' orphan stop
  run_in --timeout 300ms --helper "$BATS_TEST_TMPDIR/helper" -- true
  is 123
  says cancel_escalated
  scripted hello 'expect hello' 'expect exec_start' 'exit 4' stuck
  run_in --helper "$BATS_TEST_TMPDIR/helper" -- true
  is 4
  if pgrep -f "$BATS_TEST_TMPDIR/script" >/dev/null; then return 1; fi
}

@test "a helper of another version is refused with both numbers" {
  scripted 'hello proto=3' drain
  run_in --helper "$BATS_TEST_TMPDIR/helper" -- true
  is 125
  says 3
  says 4
}

@test "a helper that vanishes before it says hello is a clear refusal" {
  scripted crash
  run_in --helper "$BATS_TEST_TMPDIR/helper" -- true
  is 125
  says spawn_failed
}

@test "git reads and commits in a workspace and cannot plant a hook or change the configuration" {
  make_repository "$W/repo"
  cd "$W/repo"
  try "$BIN/loom-broker" run --quiet -- git log --oneline -3
  is 0
  answers first
  try "$BIN/loom-broker" run --quiet -- git commit -q --allow-empty -m second
  is 0
  [ "$(git rev-list --count HEAD)" = 2 ]
  try "$BIN/loom-broker" run --quiet -- sh -c 'echo evil >.git/hooks/post-commit'
  [ "$status" != 0 ]
  try "$BIN/loom-broker" run --quiet -- git config user.name Evil
  [ "$status" != 0 ]
  [ ! -e .git/hooks/post-commit ]
  [ "$(git config user.name)" = Tester ]
}

# --- smoke

@test "smoke prints one census line and drain: ok" {
  ask smoke
  is 0
  silent
  [ "$(wc -l <<<"$out")" = 2 ]
  [ "$(tail -n 1 <<<"$out")" = "drain: ok" ]
  out=$(head -n 1 <<<"$out")
  json '.exec_proto == 4 and .policy_v == 3 and (.helper.features | length > 5) and (.tools | [.[] | values] | unique | length == 1)'
  json '.helper.peer == "loom-exec/" + .tools["loom-exec"]'
}

@test "smoke with a helper that lacks a layer fails and names it" {
  scripted 'hello tag=namespaces tag=mounts tag=unprivileged tag=no-new-privs tag=seccomp-base tag=seccomp-net tag=rlimit-core tag=rlimit-cpu tag=rlimit-fsize' drain
  ask smoke --helper "$BATS_TEST_TMPDIR/helper"
  is 1
  says landlock
}

@test "smoke whose stdout is closed leaves 141" {
  try sh -c '"$0" smoke >&-' "$BIN/loom-broker"
  is 141
  silent
}

@test "an empty value is refused and never means the default" {
  run_in --report '' -- touch ran
  is 125
  says "--report: its value is empty"
  [ ! -e ran ]
  for verb in snapshot census stop; do
    ask "$verb" --socket=
    is 2
    says "--socket: its value is empty"
  done
  ask abort ''
  is 2
  says "an empty argument: OP"
  run_in --caller '' -- true
  is 0
}

@test "a file that is no socket is not called a stale one" {
  touch file
  ask snapshot --socket "$W/file"
  is 2
  says "that is no socket"
}

@test "smoke without a helper fails" {
  ask smoke --helper "$W/absent"
  is 1
  says spawn_failed
}

# --- serve and call

@test "a call gives the command's own streams and status" {
  serve
  try "$BIN/loom-broker" call -- sh -c 'echo out; echo err >&2; cat; exit 7' <<<in
  is 7
  [ "$out" = "$(printf 'out\nin')" ]
  [ "$err" = err ]
}

@test "calls follow one another through one helper and leave no row behind" {
  serve
  for i in 1 2 3 4 5; do
    try "$BIN/loom-broker" call -- echo "$i"
    is 0
    [ "$out" = "$i" ]
  done
  ask snapshot --json
  json '.live == [] and .books == {executions: 0, ledgers: 0, reserved: 0, tokens: 0} and .pool.spawned == 1 and .counters.settled.exited == 5'
}

@test "four calls run side by side" {
  serve --pool-size 4 --per-helper 2
  for i in 1 2 3 4; do
    "$BIN/loom-broker" call --op "op$i" -- sh -c "echo $i; while [ ! -e go ]; do sleep 0.05; done" >"$BATS_TEST_TMPDIR/got$i" 3>&- &
    calls[i]=$!
  done
  for i in 1 2 3 4; do
    end=$((SECONDS + 20))
    until [ "$(cat "$BATS_TEST_TMPDIR/got$i")" = "$i" ]; do [ $SECONDS -lt $end ]; done
  done
  touch go
  for i in 1 2 3 4; do wait "${calls[i]}"; done
  ask snapshot --json
  json '.pool.spawned == 2 and .counters.settled.exited == 4'
}

@test "cancel ends one call and says whether there was one" {
  serve
  behind call -- sh -c 'echo ready; exec sleep 1000'
  reads ready
  seq=$(live_seq)
  ask cancel --json "$seq"
  is 0
  json '.found == true'
  leaves 143
  ask cancel "$seq"
  is 1
}

@test "abort ends an operation, abort-step one step of it" {
  serve
  "$BIN/loom-broker" call --op build --step 1 -- sh -c 'echo ready; exec sleep 1000' >"$W/one" 3>&- & one=$!
  "$BIN/loom-broker" call --op build --step 2 -- sh -c 'echo ready; exec sleep 1000' >"$W/two" 3>&- & two=$!
  end=$((SECONDS + 20))
  until [ "$(cat "$W/one" "$W/two" | wc -l)" = 2 ]; do [ $SECONDS -lt $end ]; done
  ask abort-step --json build 1
  is 0
  json '.cancelled == 1'
  wait "$one" || status=$?
  is 143
  kill -0 "$two"
  ask abort --json build
  json '.cancelled == 1'
  status=0
  wait "$two" || status=$?
  is 143
  try "$BIN/loom-broker" call --op build -- true
  is 0
}

@test "a caller that is killed takes its command along" {
  serve
  behind call -- sh -c "echo ready; sleep 1000; : $BATS_TEST_TMPDIR/mark"
  reads ready
  kill -KILL "$pid"
  wait "$pid" || true
  nobody "$BATS_TEST_TMPDIR/mark"
  try "$BIN/loom-broker" call -- true
  is 0
}

@test "a broker that is killed under a call leaves 123 and no command" {
  serve
  behind call -- sh -c "echo ready; sleep 1000; : $BATS_TEST_TMPDIR/mark"
  reads ready
  kill -KILL "$broker"
  leaves 123
  broker=
  nobody "$BATS_TEST_TMPDIR/mark"
}

@test "snapshot and census are JSON where nobody watches, and a table on a terminal" {
  serve
  try "$BIN/loom-broker" call -- true
  is 0
  ask snapshot
  is 0
  json '.phase == "serving" and .counters.starts == 1'
  ask census --json
  is 0
  json '.helper.features | length > 5'
  json '.control_proto == 1 and .service == "loom-broker/" + .tools["loom-broker"]'
  out=$(script -qec "'$BIN/loom-broker' snapshot" /dev/null </dev/null)
  [[ "$out" =~ phase\ +serving ]]
  out=$(script -qec "'$BIN/loom-broker' census" /dev/null </dev/null)
  [[ "$out" =~ control_proto\ +1 ]]
}

@test "stop ends the broker with 0 and takes the socket along" {
  serve
  try "$BIN/loom-broker" call -- true
  ask stop --json
  is 0
  json '.clean == true and .unconfirmed == 0'
  [ ! -e "$LOOM_SOCKET" ]
  ended 0
  grep -q 'event=broker.closed' "$BATS_TEST_TMPDIR/log"
}

@test "SIGTERM is a close: a running call gets its real end" {
  serve
  behind call -- sh -c 'trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.1; done'
  reads ready
  kill -TERM "$broker"
  reads bye
  leaves 3
  ended 0
  [ ! -e "$LOOM_SOCKET" ]
}

@test "without a broker a call is 125 and a question 2" {
  try "$BIN/loom-broker" call -- true
  is 125
  says "no broker"
  says "hint: "
  for words in snapshot census stop 'cancel 1' 'abort x' 'abort-step x y'; do
    # shellcheck disable=SC2086
    ask $words
    is 2
    says "no broker"
  done
}

@test "grants are refused unless the broker allows them" {
  serve
  try "$BIN/loom-broker" call --env MARK=1 -- touch ran
  is 125
  says "bad_request: /grants: this broker allows none, so no --grant, --env or --allow-host"
  [ ! -e ran ]
  ask stop
  ended 0
  rm "$BATS_TEST_TMPDIR/ready"
  serve --grants allow
  try "$BIN/loom-broker" call --env MARK=1 -- sh -c 'echo $MARK'
  is 0
  [ "$out" = 1 ]
}

@test "a call that wants more than the base is refused with what it would take, or proceeds with less" {
  serve
  mkdir "$BATS_TEST_TMPDIR/other"
  try "$BIN/loom-broker" call --quiet --workspace "$BATS_TEST_TMPDIR/other" --report "$BATS_TEST_TMPDIR/report" -- touch ran
  is 125
  report '.outcome.refused.reason == "policy_refused" and (.outcome.refused.wanted | map(.kind) | index("writable_root")) != null'
  [ ! -e "$BATS_TEST_TMPDIR/other/ran" ]
  try "$BIN/loom-broker" call --quiet --workspace "$BATS_TEST_TMPDIR/other" --cwd /tmp --narrowed proceed --report "$BATS_TEST_TMPDIR/report" -- true
  is 0
  report '.narrowings | length > 0'
}

@test "no jail sees the control socket's directory" {
  LOOM_SOCKET=$W/control/s
  serve
  try "$BIN/loom-broker" call -- sh -c 'ls control/s || echo x >control/t'
  [ "$status" != 0 ]
  [ -S "$LOOM_SOCKET" ] && [ ! -e "$W/control/t" ]
}

@test "arguments of 3 MiB are too big for the kernel, and said so" {
  serve
  (
    ulimit -s unlimited
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    words=()
    for _ in {1..31}; do words+=("$long"); done
    "$BIN/loom-broker" call -- true "${words[@]}" 2>"$BATS_TEST_TMPDIR/err"
  ) || status=$?
  is 126
  grep -q exec_too_big "$BATS_TEST_TMPDIR/err"
}

@test "nothing of a request is in a snapshot, a census or the log" {
  export MARK=planted-marker-5e1f
  mkdir "$W/$MARK"
  serve --grants allow --log-json
  try "$BIN/loom-broker" call --cwd "$W/$MARK" --env "X=$MARK" -- sh -c "echo $MARK; echo $MARK >&2; exit 3"
  is 3
  try "$BIN/loom-broker" call --cwd "$W/$MARK" -- "../$MARK"
  is 126
  try "$BIN/loom-broker" call --cwd "/$MARK" -- true
  is 125
  # In the policy that is asked for (refused, and narrowed), in stdin, under a limit, in a name that is none.
  mkdir "$BATS_TEST_TMPDIR/$MARK"
  try "$BIN/loom-broker" call --workspace "$BATS_TEST_TMPDIR/$MARK" -- true
  is 125
  try "$BIN/loom-broker" call --workspace "$BATS_TEST_TMPDIR/$MARK" --cwd /tmp --narrowed proceed -- true
  is 0
  try "$BIN/loom-broker" call -- sh -c 'cat; exit 4' <<<"$MARK"
  is 4
  try "$BIN/loom-broker" call --timeout 200ms --env "$MARK=x" -- sh -c "sleep 1000; : $MARK"
  [ "$status" = 124 ] || [ "$status" = 125 ]
  out=$(python3 - "$LOOM_SOCKET" "$MARK" <<'PY'
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.recv(65536)
client.sendall(b"\0\0\0\40" + sys.argv[2].encode() * 2)
print(client.recv(65536))
PY
)
  [[ $out != *"$MARK"* ]]
  "$BIN/loom-broker" call --env "X=$MARK" -- sh -c "sleep 1000; : $MARK" 3>&- & call=$!
  seq=$(live_seq)
  "$BIN/loom-broker" snapshot --json >"$BATS_TEST_TMPDIR/seen"
  "$BIN/loom-broker" snapshot >>"$BATS_TEST_TMPDIR/seen"
  "$BIN/loom-broker" census --json >>"$BATS_TEST_TMPDIR/seen"
  ask cancel "$seq"
  wait $call || true
  "$BIN/loom-broker" snapshot --json >>"$BATS_TEST_TMPDIR/seen"
  ask stop
  ended 0
  if grep -F -e "$MARK" "$BATS_TEST_TMPDIR/seen" "$BATS_TEST_TMPDIR/log"; then return 1; fi
  [ "$(jq -s 'map(select(.event == "call.settled")) | length' "$BATS_TEST_TMPDIR/log")" -ge 2 ]
}

# --- the socket

@test "a directory that others can write to is refused and left as it is" {
  mkdir -m 0777 "$BATS_TEST_TMPDIR/b"
  refuses_to_serve 2 "others can write"
  [ "$(stat -c %a "$BATS_TEST_TMPDIR/b")" = 777 ]
}

@test "a socket whose directory would hide a root of the base is refused" {
  chmod 755 "$W"
  refuses_to_serve 2 "would hide $W" --socket "$W/s"
  [ ! -e "$W/s" ]
}

@test "a missing directory is made for the broker alone" {
  serve
  [ "$(stat -c %a "$BATS_TEST_TMPDIR/b")" = 700 ]
  [ "$(stat -c %a "$LOOM_SOCKET")" = 600 ]
}

@test "a socket under /, through a link or with too long a path is refused" {
  refuses_to_serve 2 "directly under /" --socket /loom-test.sock
  mkdir "$BATS_TEST_TMPDIR/real"
  ln -s real "$BATS_TEST_TMPDIR/link"
  refuses_to_serve 2 "link" --socket "$BATS_TEST_TMPDIR/link/s"
  refuses_to_serve 2 "107 bytes" --socket "$BATS_TEST_TMPDIR/$(printf '%0120d' 0)/s"
  [ ! -e /loom-test.sock ]
}

@test "a live socket is refused, a stale one replaced" {
  serve
  refuses_to_serve 2 "answers there already"
  try "$BIN/loom-broker" call -- true
  is 0
  kill -KILL "$broker"
  wait "$broker" || true
  [ -S "$LOOM_SOCKET" ]
  rm "$BATS_TEST_TMPDIR/ready"
  serve
  try "$BIN/loom-broker" call -- true
  is 0
}

@test "a socket that vanishes under a living broker ends it with its own error" {
  serve
  rm "$LOOM_SOCKET"
  ended 1
  grep -q 'the socket has vanished' "$BATS_TEST_TMPDIR/log"
}

@test "another user is not served unless named" {
  skip_unless_root
  # A place that others can reach, whatever stands above the tests' own.
  reachable=$(mktemp -d /tmp/loom-test.XXXXXX)
  chmod 711 "$reachable"
  mkdir -m 0711 "$reachable/b"
  LOOM_SOCKET=$reachable/b/s
  other=$(id -u nobody)
  serve --allow-uid 12345
  try setpriv --reuid "$other" --clear-groups "$BIN/loom-broker" call --socket "$LOOM_SOCKET" -- true
  is 125
  says not_authorised
  ask stop
  ended 0
  rm "$BATS_TEST_TMPDIR/ready"
  serve --allow-uid "$other"
  try setpriv --reuid "$other" --clear-groups "$BIN/loom-broker" census --socket "$LOOM_SOCKET" --json
  is 0
}

@test "serve refuses what it cannot do by name before it says that it is ready" {
  refuses_to_serve 2 --helper-command --helper-command "ssh host loom-exec serve"
  refuses_to_serve 2 --egress-config --egress-config "$W"
  refuses_to_serve 2 --allow-sessions --allow-sessions
  refuses_to_serve 2 --pool-size --pool-size 0
  refuses_to_serve 2 --per-helper --per-helper 5
  refuses_to_serve 2 --demand --demand most
  refuses_to_serve 2 "$W/absent" --helper "$W/absent"
  try "$BIN/loom-broker" serve --base-policy "$W/absent"
  is 2
  says "$W/absent"
  [ ! -e "$LOOM_SOCKET" ]
}

@test "where no place for the socket is known, all that was tried is named" {
  skip_if_root
  unset LOOM_SOCKET
  [ ! -d "/run/user/$(id -u)" ] || skip "this user has a place"
  ask snapshot
  is 2
  for place in LOOM_RUNTIME_DIR XDG_RUNTIME_DIR "/run/user/$(id -u)"; do says "$place"; done
}
