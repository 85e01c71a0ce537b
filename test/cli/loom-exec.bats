#!/usr/bin/env bats
# loom-exec: run, serve, features. Every test is run as root and as an ordinary user.
# What is in single quotes is for the shell inside the jail; out, err and status come from `try`; each test is a subshell.
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/work
  mkdir "$W"
  cd "$W" || return
}

# run_in ARG...: loom-exec run over the workspace.
run_in() { try "$BIN/loom-exec" run --quiet --workspace "$W" "$@"; }
report() { jq -e "$1" "$BATS_TEST_TMPDIR/report" >/dev/null || { cat "$BATS_TEST_TMPDIR/report" >&2; return 1; }; }

# behind ARG...: the same in the background, its stdout on the descriptor 8; $pid is its id.
behind() {
  mkfifo "$BATS_TEST_TMPDIR/out"
  "$BIN/loom-exec" run --quiet --workspace "$W" "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  pid=$!
  exec 8<"$BATS_TEST_TMPDIR/out"
}
reads() {
  local line
  read -r -t 20 line <&8
  [ "$line" = "$1" ] || { echo "read \"$line\", want \"$1\"" >&2; return 1; }
}
leaves() {
  status=0
  wait "$pid" || status=$?
  is "$1"
}

# descendants PID: all below it, the nearest first.
descendants() {
  local wave="$1" next one
  while [ -n "$wave" ]; do
    next=
    for one in $wave; do next+=" $(cat "/proc/$one/task/$one/children" 2>/dev/null)"; done
    wave=$(echo "$next" | xargs)
    [ -z "$wave" ] || tr ' ' '\n' <<<"$wave"
  done
}

# --- run: streams and statuses

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

@test "statuses 1, 2 and 125 of a command are its own" {
  for code in 1 2 125; do
    run_in -- sh -c "exit $code"
    is $code
    silent
  done
}

@test "a command that ends by a signal leaves 128 and its number" {
  run_in -- sh -c 'kill -KILL $$'
  is 137
  run_in -- sh -c 'kill -SEGV $$'
  is 139
}

@test "the command begins at the first word that is no flag, or after --" {
  run_in echo --quiet
  is 0
  [ "$out" = --quiet ]
  run_in -- echo -- a
  [ "$out" = "-- a" ]
}

@test "arguments and environment arrive byte for byte" {
  run_in --env "X=$(printf 'a\nb\377c')" -- sh -c 'printf "%s" "$1$X" | od -An -tx1 | tr -d " \n"' sh "$(printf '\001\374 "q')"
  is 0
  [ "$out" = "01fc202271610a62ff63" ]
}

# summed FILE: what sha256sum in the jail says of FILE as stdin; $peak is the most memory that run had meanwhile, in KiB.
summed() {
  rm -f sum go
  "$BIN/loom-exec" run --quiet --workspace "$W" -- sh -c 'sha256sum >sum.part; mv sum.part sum; until [ -e go ]; do sleep 0.05; done' \
    <"$1" 3>&- &
  pid=$!
  until [ -e sum ]; do [ -e "/proc/$pid" ] || return 1; done
  peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status")
  touch go
  leaves 0
}

@test "three hundred megabytes of stdin arrive whole, with flat memory" {
  local want
  want=$(head -c 300M /dev/zero | sha256sum)
  mkfifo "$BATS_TEST_TMPDIR/fifo"
  head -c 300M /dev/zero >"$BATS_TEST_TMPDIR/fifo" 3>&- &
  summed "$BATS_TEST_TMPDIR/fifo"
  [ "$(cat sum)" = "$want" ]
  echo "peak: $peak KiB" >&2
  [ "$peak" -lt 65536 ]
}

@test "a file as stdin arrives whole, with flat memory" {
  head -c 50M /dev/urandom >"$BATS_TEST_TMPDIR/noise"
  summed "$BATS_TEST_TMPDIR/noise"
  [ "$(cat sum)" = "$(sha256sum <"$BATS_TEST_TMPDIR/noise")" ]
  echo "peak: $peak KiB" >&2
  [ "$peak" -lt 40960 ]
}

@test "a command that does not read its stdin is no error" {
  head -c 8M /dev/zero | { run_in -- true; is 0; }
}

@test "no stdin at all is an empty one" {
  # Not through `try`: with 0 closed, its own pipe would become the stdin.
  sh -c '"$0" run --quiet --workspace "$1" -- cat <&- >"$1/copy"' "$BIN/loom-exec" "$W"
  [ ! -s copy ]
}

@test "a directory as stdin gives the command nothing of the host" {
  try "$BIN/loom-exec" run --workspace "$W" -- sh -c 'ls /proc/self/fd/0/ 2>/dev/null; cat' </
  is 0
  [ -z "$out" ]
  says "stdin"
}

@test "output is cut at output_bytes, and the command goes on to its own end" {
  run_in --grant limit.output_bytes=1000 -- true
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null | jq '.limits.output_bytes = 1000' >"$BATS_TEST_TMPDIR/policy"
  try "$BIN/loom-exec" run --policy "$BATS_TEST_TMPDIR/policy" --report "$BATS_TEST_TMPDIR/report" -- \
    sh -c 'head -c 5000 /dev/zero | tr "\0" x; touch finished'
  is 0
  [ ${#out} = 1000 ]
  [ -e finished ]
  says "stdout was cut"
  report '.outcome.exited.stdout_truncated and .outcome.exited.stdout_bytes == 1000'
}

@test "a reader that leaves ends the command, and run leaves 141" {
  local codes
  "$BIN/loom-exec" run --quiet --workspace "$W" -- yes 41bd0f91 | head -1 >"$BATS_TEST_TMPDIR/line"
  codes=("${PIPESTATUS[@]}")
  [ "${codes[0]}" = 141 ]
  [ "$(cat "$BATS_TEST_TMPDIR/line")" = 41bd0f91 ]
  nobody 41bd0f91
}

@test "a full disk under stdout is an error that is said" {
  try sh -c '"$0" run --quiet --workspace "$1" -- yes >/dev/full' "$BIN/loom-exec" "$W"
  is 123
  says "No space left"
}

# --- run: commands that cannot be executed

@test "a command that is not there leaves 127" {
  run_in -- no-such-command-here
  is 127
  says "loom-exec: exec_not_found: no-such-command-here"
}

@test "a directory leaves 126 and is told from a file without the x bit" {
  run_in -- /usr
  is 126
  says "/usr: is a directory"
}

@test "a file without the x bit leaves 126" {
  echo 'echo hi' >plain
  run_in -- ./plain
  is 126
  says "./plain: not allowed to execute it"
}

@test "a missing interpreter leaves 127 and is named as such" {
  printf '#!/no/such/interpreter\n' >script
  chmod 755 script
  run_in -- ./script
  is 127
  says interpreter
}

@test "bytes that are no program leave 126" {
  printf '\001\002\003' >noise
  chmod 755 noise
  run_in -- ./noise
  is 126
  says exec_format
}

@test "an argument list of three megabytes is too big, and nothing ran" {
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null >"$BATS_TEST_TMPDIR/policy"
  {
    echo hello
    printf 'sh 1 %s touch ran; : ' "$W"
    head -c 3145728 /dev/zero | tr '\0' a
    echo
    echo 'await error 1'
    echo eof
    echo drain
  } >"$BATS_TEST_TMPDIR/script"
  try "$BUILT/test/peers/exec_client" --policy "$BATS_TEST_TMPDIR/policy" "$BIN/loom-exec" serve <"$BATS_TEST_TMPDIR/script"
  is 0
  jq -se 'any(.[]; .kind == "error" and .body.code == "exec_too_big")' <<<"$out"
  jq -se '.[-1].helper.exited == 0' <<<"$out"
  [ -z "$(ls -A "$W")" ]
}

@test "an argument of a hundred kilobytes arrives whole" {
  head -c 100000 /dev/zero | tr '\0' a >"$BATS_TEST_TMPDIR/word"
  run_in -- echo "$(cat "$BATS_TEST_TMPDIR/word")"
  is 0
  [ ${#out} = 100000 ]
}

# --- run: places

@test "the command starts in the caller's directory when a root covers it, else in the workspace" {
  mkdir sub
  cd sub
  run_in -- pwd
  [ "$out" = "$W/sub" ]
  cd /
  run_in -- pwd
  [ "$out" = "$W" ]
}

@test "a cwd outside the view is refused, and nothing ran" {
  run_in --cwd /no/such/place -- touch "$W/ran"
  is 125
  says "loom-exec: bad_cwd"
  [ ! -e ran ]
  run_in --cwd "$HOME" -- touch "$W/ran"
  is 125
  [ ! -e ran ]
}

# few N ARG...: run_in with at most N open files, and none but the three streams open.
few() {
  # shellcheck disable=SC2016
  try bash -c 'for fd in {3..30}; do eval "exec $fd>&-"; done; ulimit -n "$1"; shift; exec "$@"' bash "$1" \
    "$BIN/loom-exec" run --quiet --workspace "$W" "${@:2}"
}

@test "a low limit of open files is the command's as well, and a lower one is named as what stands in the way" {
  few 32 -- sh -c 'ulimit -n'
  is 0
  answers 32
  for n in 8 14 18 22; do
    few $n --demand best_effort -- touch "$W/ran"
    is 125
    says "Too many open files"
    says "ulimit -n"
    [ ! -e "$W/ran" ]
  done
}

@test "too few open files for a beginning are told in words, and with no status that could be the command's" {
  for n in 5 6; do
    few $n -- touch "$W/ran"
    [ "$status" = 123 ] || [ "$status" = 125 ] || { tell; return 1; }
    says "Too many open files"
    says "hint: "
    [ ! -e "$W/ran" ]
  done
}

@test "a limit of file sizes that is too low for the orders is named, and nothing is left" {
  git init -q "$W"
  before=$(find "$W" | sort)
  try bash -c 'exec 2>&1; ulimit -f 0; exec "$@" | cat' bash "$BIN/loom-exec" run --quiet --workspace "$W" -- touch "$W/ran"
  answers "File too large"
  answers "hint: raise the limit of file sizes (ulimit -f)"
  [ "$(find "$W" | sort)" = "$before" ]
}

@test "a limit of the caller's that is lower than the policy's stays, and holds the layer" {
  try bash -c 'ulimit -t 100; exec "$@"' bash "$BIN/loom-exec" run --quiet --workspace "$W" \
    --report "$BATS_TEST_TMPDIR/report" -- sh -c 'ulimit -t; ulimit -H -t'
  is 0
  [ "$out" = 99$'\n'100 ]
  report '.enforcement | index("verified:rlimit-cpu")'
}

@test "a workspace that is not there is refused by name" {
  try "$BIN/loom-exec" run --workspace "$BATS_TEST_TMPDIR/none" -- true
  is 125
  says "$BATS_TEST_TMPDIR/none"
}

@test "without --workspace the current directory is the workspace" {
  try "$BIN/loom-exec" run --quiet -- sh -c 'echo made >here; pwd'
  is 0
  [ "$out" = "$W" ]
  [ "$(cat here)" = made ]
}

@test "a current directory that has gone is named as such" {
  mkdir gone
  try bash -c 'cd gone && rmdir ../gone && exec "$@"' bash "$BIN/loom-exec" run --quiet -- true
  is 125
  says "current directory"
}

@test "a workspace is reached through a link above it" {
  ln -s "$W" "$BATS_TEST_TMPDIR/link"
  try "$BIN/loom-exec" run --quiet --workspace "$BATS_TEST_TMPDIR/link" -- touch here
  is 0
  [ -e here ]
}

# --- run: policies

@test "a policy that cannot be read is refused by name" {
  try "$BIN/loom-exec" run --policy "$BATS_TEST_TMPDIR/none.json" -- touch ran
  is 125
  says "$BATS_TEST_TMPDIR/none.json"
  [ ! -e ran ]
}

@test "a policy with a fault is refused with its place" {
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null | jq '.limits.pids = "many"' >"$BATS_TEST_TMPDIR/bad.json"
  try "$BIN/loom-exec" run --policy "$BATS_TEST_TMPDIR/bad.json" --report "$BATS_TEST_TMPDIR/report" -- touch ran
  is 125
  says "bad.json: /limits/pids"
  [ ! -e ran ]
  report '.outcome.refused.reason == "policy_invalid" and .status == 125'
}

@test "a policy comes from stdin by the name -" {
  status=0
  out=$("$BIN/loom-policy" default "$W" --fit 2>/dev/null | "$BIN/loom-exec" run --policy - -- cat) || status=$?
  is 0
  [ -z "$out" ]
}

@test "an explicit policy is never fitted: what cannot be held is refused" {
  if "$BIN/loom-exec" features --json | jq -e '.features[] | select(.tag == "cgroup-v2" and .held)' >/dev/null; then
    skip "this host holds memory ceilings"
  fi
  "$BIN/loom-policy" default "$W" 2>/dev/null >"$BATS_TEST_TMPDIR/policy"
  try "$BIN/loom-exec" run --policy "$BATS_TEST_TMPDIR/policy" -- touch ran
  is 125
  says layer_refused
  says cgroup-v2
  says "loom-policy default DIR --fit"
  [ ! -e ran ]
}

@test "a default that leaves a ceiling out says so with the remedy, unless told to be quiet" {
  if "$BIN/loom-exec" features --json | jq -e '.features[] | select(.tag == "cgroup-v2" and .held)' >/dev/null; then
    skip "this host holds memory ceilings"
  fi
  try "$BIN/loom-exec" run --report "$BATS_TEST_TMPDIR/report" -- true
  is 0
  [ "$(wc -l <<<"$err")" = 1 ]
  says mem_bytes
  says MemoryMax
  report '.notes | length == 1'
  try "$BIN/loom-exec" run --quiet --report "$BATS_TEST_TMPDIR/report" -- true
  silent
  report '.notes | length == 1'
}

@test "a grant widens one thing and is the only way to" {
  mkdir "$BATS_TEST_TMPDIR/other"
  run_in -- touch "$BATS_TEST_TMPDIR/other/x"
  [ "$status" != 0 ]
  run_in --grant "writable_root=$BATS_TEST_TMPDIR/other" -- touch "$BATS_TEST_TMPDIR/other/x"
  is 0
  [ -e "$BATS_TEST_TMPDIR/other/x" ]
}

@test "a grant that is none is a usage error" {
  run_in --grant frozen=/x -- true
  is 125
  says "--grant"
}

@test "only the names the policy lets in reach the command, and --env grants one" {
  LANG=de_XX SECRET=s run_in --env ADDED=yes --env SECRET -- sh -c 'echo "$LANG,$ADDED,$SECRET,$OTHER"'
  [ "$out" = "de_XX,yes,s," ]
  LANG=de_XX OTHER=o run_in -- sh -c 'echo "$LANG,$ADDED,$SECRET,$OTHER"'
  [ "$out" = "de_XX,,," ]
}

@test "a host by name needs a broker: it is refused, and no grant is named that would not do" {
  run_in --allow-host example.org -- touch ran
  is 125
  says "policy_refused: network: wanted proxy:example.org, granted off"
  says "hint: loom-exec starts no proxy"
  [[ "$err" != *--grant* ]]
  [ ! -e ran ]
}

# --- run: the report and the status descriptor

@test "the report holds the promised keys and what was verified" {
  run_in --report "$BATS_TEST_TMPDIR/report" -- true
  is 0
  report 'keys == ["denied", "egress", "enforcement", "narrowings", "notes", "outcome", "policy_digest", "status", "stopped_by", "v"]'
  report '.policy_digest | test("^[0-9a-f]{64}$")'
  for tag in namespaces mounts unprivileged no-new-privs landlock seccomp-base seccomp-net; do
    report '.enforcement | index("verified:'$tag'")'
  done
  report '[.enforcement[] | select(startswith("skip:"))] == []'
}

@test "the report's digest is the policy's own" {
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null >"$BATS_TEST_TMPDIR/policy"
  try "$BIN/loom-exec" run --policy "$BATS_TEST_TMPDIR/policy" --report "$BATS_TEST_TMPDIR/report" -- true
  is 0
  [[ "$("$BIN/loom-policy" digest "$BATS_TEST_TMPDIR/policy")" == *"$(jq -r .policy_digest "$BATS_TEST_TMPDIR/report")"* ]]
}

@test "a report file that cannot be written is an error before anything ran" {
  run_in --report "$BATS_TEST_TMPDIR/no/such/dir/report" -- touch ran
  is 125
  says "$BATS_TEST_TMPDIR/no/such/dir/report"
  [ ! -e ran ]
}

@test "a report follows no link and waits for no reader: an earlier command may have planted both" {
  echo mine >"$BATS_TEST_TMPDIR/mine"
  run_in -- sh -c "ln -s '$BATS_TEST_TMPDIR/mine' link; mkfifo pipe"
  is 0
  run_in --report link -- touch ran
  is 125
  says link
  run_in --report pipe -- touch ran
  is 125
  says pipe
  [ ! -e ran ]
  [ "$(cat "$BATS_TEST_TMPDIR/mine")" = mine ]
  [[ "$("$BIN/loom-exec" run --quiet --workspace "$W" --report /dev/stdout -- true)" == *policy_digest* ]]
}

@test "a command that can write its own report's place can forge none: not before, around or in place of it" {
  for tool in loom-exec loom-broker; do
    for deed in 'mv report old; echo "{}" >report' 'rm report' 'rm report; ln -s old report' 'mv in out; mkdir in; echo "{}" >in/report'; do
      rm -rf "${W:?}"/*
      mkdir in
      place=report
      [[ "$deed" != *in/report* ]] || place=in/report
      try "$BIN/$tool" run --quiet --workspace "$W" --cwd "$W" --report "$W/$place" -- sh -c "$deed"
      is 123
      says "$W/$place: cannot write the report: "
      says "hint: "
    done
    rm -rf "${W:?}"/*
    try "$BIN/$tool" run --quiet --workspace "$W" --cwd "$W" --report "$W/report" -- \
      sh -c 'echo "{\"forged\":true}" >report; head -c 100000 /dev/zero | tr "\0" x >>report'
    is 0
    jq -e '.v == 1 and (has("forged") | not)' "$W/report"
    [ "$(wc -c <"$W/report")" -lt 50000 ]
  done
}

@test "a report is not written through a directory link that an earlier command may have planted" {
  mkdir "$BATS_TEST_TMPDIR/keys" "$W/real"
  ln -s "$BATS_TEST_TMPDIR/keys" "$W/out"
  ln -s "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/ours"
  for given in "$W/out/report" out/report "$W/../$(basename "$W")/out/report" "$BATS_TEST_TMPDIR/ours/$(basename "$W")/out/report"; do
    run_in --report "$given" -- touch ran
    is 125
    says "is a link in a directory that commands may write"
    [ ! -e "$W/ran" ] && [ -z "$(ls "$BATS_TEST_TMPDIR/keys")" ]
  done
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null >"$BATS_TEST_TMPDIR/policy"
  cd /
  try "$BIN/loom-exec" run --quiet --policy "$BATS_TEST_TMPDIR/policy" --report "$W/out/report" -- true
  is 125
  [ -z "$(ls "$BATS_TEST_TMPDIR/keys")" ]
  # A link of the caller's own, elsewhere, is followed, and so is a directory inside.
  try "$BIN/loom-exec" run --quiet --workspace "$W" --report "$BATS_TEST_TMPDIR/ours/report" -- true
  is 0
  jq -e .policy_digest "$BATS_TEST_TMPDIR/report"
  try "$BIN/loom-exec" run --quiet --workspace "$W" --report "$W/real/report" -- true
  is 0
  jq -e .policy_digest "$W/real/report"
}

@test "loom's own programs in a place that the command may write are an event" {
  mkdir -p "$W/bin"
  cp -r "$BIN/." "$W/bin/"
  try "$W/bin/loom-exec" run --quiet --workspace "$W" --report "$BATS_TEST_TMPDIR/report" -- true
  is 0
  jq -e --arg bin "$W/bin" '.enforcement | index("event:own-program-writable=" + $bin + "/loom-exec") != null' "$BATS_TEST_TMPDIR/report"
  try "$BIN/loom-exec" run --quiet --workspace "$W" --report "$BATS_TEST_TMPDIR/report" -- true
  jq -e '.enforcement | map(select(startswith("event:own-program"))) == []' "$BATS_TEST_TMPDIR/report"
}

@test "a report that cannot be finished is said" {
  run_in --report /dev/full -- true
  is 123
  says /dev/full
}

@test "the status descriptor gets started and settled lines" {
  run_in --status-fd 9 -- sh -c 'exit 4' 9>"$BATS_TEST_TMPDIR/status"
  is 4
  [ "$(jq -rc .type "$BATS_TEST_TMPDIR/status" | tr '\n' ' ')" = "started settled " ]
  [ "$(jq -c 'select(.type == "settled") | [.status, .stopped_by, .outcome.exited.code]' "$BATS_TEST_TMPDIR/status")" = '[4,"none",4]' ]
}

@test "a status descriptor that is not open is an error" {
  run_in --status-fd 77 -- touch ran
  is 125
  says --status-fd
  [ ! -e ran ]
}

# --- run: stopping

@test "a status descriptor that takes nothing is told; one whose reader is gone is not" {
  run_in --status-fd 9 -- touch ran 9</dev/null
  is 125
  says --status-fd
  [ ! -e "$W/ran" ]
  run_in --status-fd 9 -- true 9>/dev/full
  is 123
  says --status-fd
  mkfifo "$BATS_TEST_TMPDIR/gone"
  exec 8<>"$BATS_TEST_TMPDIR/gone"
  exec 9>"$BATS_TEST_TMPDIR/gone" 8<&-
  run_in --status-fd 9 -- sh -c 'exit 4'
  exec 9>&-
  is 4
  silent
}

@test "--timeout stops the command and leaves 124" {
  run_in --timeout 300ms --report "$BATS_TEST_TMPDIR/report" -- sleep 7719
  is 124
  report '.stopped_by == "deadline"'
  nobody 'sleep 7719'
}

@test "cpu_s stops the command and leaves 124, through either tool" {
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null | jq '.limits.cpu_s = 1' >"$BATS_TEST_TMPDIR/policy"
  for tool in loom-exec loom-broker; do
    try "$BIN/$tool" run --quiet --policy "$BATS_TEST_TMPDIR/policy" --report "$BATS_TEST_TMPDIR/report" -- sh -c 'while :; do :; done'
    is 124
    jq -e '.stopped_by == "cpu"' "$BATS_TEST_TMPDIR/report"
  done
}

@test "wall_s stops the command and leaves 124" {
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null | jq '.limits.wall_s = 1' >"$BATS_TEST_TMPDIR/policy"
  try "$BIN/loom-exec" run --policy "$BATS_TEST_TMPDIR/policy" --report "$BATS_TEST_TMPDIR/report" -- sleep 7720
  is 124
  report '.stopped_by == "wall" and .outcome.exited.timed_out'
}

@test "TERM asks the command first, and its own answer counts" {
  behind -- sh -c 'trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.1; done'
  reads ready
  kill -TERM "$pid"
  reads bye
  leaves 3
}

@test "INT is a cancel too, and a command that ends well after it leaves 143" {
  behind --report "$BATS_TEST_TMPDIR/report" -- sh -c 'trap "exit 0" TERM; echo ready; while :; do sleep 0.1; done'
  reads ready
  kill -INT "$pid"
  leaves 143
  report '.stopped_by == "cancel" and .outcome.exited.cancelled'
}

@test "a command that does not listen is killed after the ladder" {
  behind -- sh -c 'trap "" TERM; echo ready; while :; do sleep 7721; done'
  reads ready
  kill -TERM "$pid"
  leaves 137
  nobody 'sleep 7721'
}

@test "a second signal leaves at once with its own number, and nothing survives" {
  behind -- sh -c 'trap "echo asked" TERM; echo ready; while :; do sleep 0.1; : 7722e0; done'
  reads ready
  kill -TERM "$pid"
  reads asked
  kill -INT "$pid"
  leaves 130
  nobody 7722e0
}

@test "the terminal's stop key stops the command too, and both go on together" {
  set -m # its own process group, as a shell gives a job
  behind -- sh -c 'echo ready; while [ ! -e go ]; do sleep 0.05; done; echo went'
  set +m
  reads ready
  kill -TSTP -- "-$pid"
  # D: in a vfork whose child has stopped before its exec.
  stopped() { [[ "$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status")" = [TD] ]]; }
  # Below init, every process stops; init itself obeys nobody but its helper. Asked anew each time: what was there may
  # have ended before the stop came, and be followed by another.
  all_stopped() {
    local one inside
    inside=$(descendants "$pid" | tail -n +2)
    [ -n "$inside" ] || return 1
    for one in $inside; do stopped "$one" 2>/dev/null || return 1; done
  }
  until stopped "$pid" && all_stopped; do sleep 0.01; done
  touch go
  kill -CONT -- "-$pid"
  reads went
  leaves 0
}

@test "a stop that nobody could take back does not stop a run" {
  # Its process group is an orphan: the kernel drops the terminal's stop then.
  setsid --fork sh -c 'exec "$0" run --quiet --workspace "$1" -- sh -c "echo \$1 >pid; until [ -e go ]; do sleep 0.05; done; echo went >went" sh $$' \
    "$BIN/loom-exec" "$W" 3>&-
  until [ -s pid ]; do sleep 0.02; done
  kill -TSTP "$(cat pid)"
  touch go
  ends "$(cat pid)"
  [ -s went ]
}

@test "the terminal's interrupt key asks the command, by way of loom alone" {
  mkfifo "$BATS_TEST_TMPDIR/keys"
  # In a file: the screen's record begins with the command line.
  echo 'trap "echo asked; exit 9" TERM; trap "echo struck" INT; echo ready; while :; do sleep 0.05; done' >waits
  script -qefc "'$BIN/loom-exec' run --quiet -- sh waits" "$BATS_TEST_TMPDIR/screen" <"$BATS_TEST_TMPDIR/keys" >/dev/null 2>&1 3>&- &
  pid=$!
  exec 9>"$BATS_TEST_TMPDIR/keys"
  until grep -q ready "$BATS_TEST_TMPDIR/screen" 2>/dev/null; do sleep 0.02; done
  printf '\003' >&9
  leaves 9
  exec 9>&-
  grep -q asked "$BATS_TEST_TMPDIR/screen"
  [ "$(grep -c struck "$BATS_TEST_TMPDIR/screen")" = 0 ]
}

@test "a run outlives the thread that started it" {
  command -v python3 >/dev/null || skip "python3 is not installed"
  try python3 - "$BIN/loom-exec" "$W" <<'END'
import subprocess, sys, threading
started = []
def start():
    started.append(subprocess.Popen([sys.argv[1], "run", "--quiet", "--workspace", sys.argv[2], "--", "sh", "-c",
                                     "echo ready; read word; echo got $word"], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    assert started[0].stdout.readline() == b"ready\n"
thread = threading.Thread(target=start)
thread.start()
thread.join()
out, _ = started[0].communicate(b"it\n")
print(out.decode(), end="")
sys.exit(started[0].returncode)
END
  is 0
  [ "$out" = "got it" ]
}

@test "a killed run leaves no process behind" {
  behind -- sh -c 'echo ready; setsid sleep 7723 & sleep 7723'
  reads ready
  kill -KILL "$pid"
  leaves 137
  nobody 'sleep 7723'
}

@test "what the command leaves running is ended with it, and what does not listen is killed and counted" {
  run_in --report "$BATS_TEST_TMPDIR/report" -- sh -c '
    setsid sleep 7724 </dev/null >/dev/null 2>&1 &
    setsid sh -c "trap \"\" TERM; touch deaf; while :; do sleep 7724; done" </dev/null >/dev/null 2>&1 &
    until [ -e deaf ]; do sleep 0.02; done
    echo done'
  is 0
  [ "$out" = "done" ]
  report '.enforcement | any(startswith("event:descendants-killed="))'
  nobody 'sleep 7724'
}

# --- run: the terminal

@test "without --tty the command has no terminal, and one hint says so" {
  local text
  text=$(script -qec "'$BIN/loom-exec' run -- sh -c 'test -t 0 || echo none'" /dev/null </dev/null)
  [[ "$text" = *none* ]]
  [[ "$text" = *--tty* ]]
}

@test "with --tty the command has one of the caller's size, and the caller's is given back as it was" {
  cat >session <<END
stty rows 33 cols 101
stty -g >before
'$BIN/loom-exec' run --quiet --tty -- sh -c 'test -t 0 && test -t 1 && stty size >size'
echo \$? >status
stty -g >after
END
  script -qec "sh session" /dev/null </dev/null >/dev/null
  [ "$(cat status)" = 0 ]
  [ "$(cat size)" = "33 101" ]
  cmp before after
}

@test "the terminal is given back when the run is cancelled" {
  cat >session <<END
stty -g >before
'$BIN/loom-exec' run --quiet --tty --timeout 200ms -- sleep 7725
echo \$? >status
stty -g >after
END
  script -qec "sh session" /dev/null </dev/null >/dev/null
  [ "$(cat status)" = 124 ]
  cmp before after
}

# --- what stays behind

@test "nothing is left behind: the tree is as it was, and no mount and no process is more" {
  make_repository "$W/repo"
  local before mounts
  before=$(find "$W/repo" -printf '%p %y %m %u %g %s %T@ %i\n' | sort)
  mounts=$(cat /proc/self/mountinfo)
  for _ in 1 2 3; do
    try "$BIN/loom-exec" run --quiet --workspace "$W/repo" -- sh -c 'git log --oneline >/dev/null; : 8a1f55'
    is 0
  done
  [ "$(find "$W/repo" -printf '%p %y %m %u %g %s %T@ %i\n' | sort)" = "$before" ]
  [ "$(cat /proc/self/mountinfo)" = "$mounts" ]
  nobody 8a1f55
}

@test "git commits inside; its hooks and its configuration cannot be written" {
  make_repository "$W/repo"
  try "$BIN/loom-exec" run --quiet --workspace "$W/repo" -- sh -c '
    git commit -q --allow-empty -m x || exit 10
    echo evil >.git/hooks/pre-commit 2>/dev/null && exit 11
    echo evil >>.git/config 2>/dev/null && exit 12
    mv .git gone 2>/dev/null && exit 13
    exit 0'
  is 0
  [ "$(git -C "$W/repo" log --oneline | wc -l)" = 2 ]
  [ ! -e "$W/repo/.git/hooks/pre-commit" ]
  [ "$(grep -c evil "$W/repo/.git/config")" = 0 ]
}

@test "the command sees its own processes only, and nothing of the host's homes" {
  run_in -- sh -c 'ls -d /proc/[0-9]* | wc -l; ls -A /home /root 2>/dev/null | wc -l'
  is 0
  [ "$(sed -n 1p <<<"$out")" -lt 8 ]
  [ "$(sed -n 2p <<<"$out")" = 0 ]
}

# --- usage

@test "an unknown flag is a usage error of the verb's own status" {
  try "$BIN/loom-exec" run --cgroup-bas /x -- true
  is 125
  says --cgroup-bas
  try "$BIN/loom-exec" serve --cgroup-bas /x </dev/null 3>&-
  is 2
  try "$BIN/loom-exec" features --cgroup-bas /x
  is 2
}

@test "a usage error is two lines of text and no empty one" {
  "$BIN/loom-exec" features --cgroup-bas /x 2>"$BATS_TEST_TMPDIR/said" || true
  [ "$(wc -l <"$BATS_TEST_TMPDIR/said")" = 2 ]
}

@test "a cgroup base that is no cgroup is refused by name, and nothing is written to it or run" {
  mkdir "$BATS_TEST_TMPDIR/base"
  echo "memory pids" >"$BATS_TEST_TMPDIR/base/cgroup.controllers"
  echo domain >"$BATS_TEST_TMPDIR/base/cgroup.type"
  : >"$BATS_TEST_TMPDIR/base/cgroup.procs"
  : >"$BATS_TEST_TMPDIR/base/cgroup.subtree_control"
  try "$BIN/loom-exec" run --cgroup-base "$BATS_TEST_TMPDIR/base" -- touch ran
  is 125
  says "--cgroup-base: $BATS_TEST_TMPDIR/base: is not on a cgroup v2 file system"
  says "loom-enforcement(7)"
  [ ! -e ran ]
  LOOM_CGROUP_BASE="$BATS_TEST_TMPDIR/base" try "$BIN/loom-exec" run -- touch ran
  is 125
  try "$BIN/loom-exec" serve --cgroup-base "$BATS_TEST_TMPDIR/base" </dev/null 3>&-
  is 2
  says "is not on a cgroup v2 file system"
  [ -z "$(cat "$BATS_TEST_TMPDIR/base/cgroup.subtree_control")" ]
  [ "$(find "$BATS_TEST_TMPDIR/base" -type f | wc -l)" = 4 ]
}

@test "features tells why a cgroup base will not do, and is an answer all the same" {
  try "$BIN/loom-exec" features --json --cgroup-base "$BATS_TEST_TMPDIR/none"
  is 0
  json '.features[] | select(.tag == "cgroup-v2") | (.held | not) and (.reason | contains("none: cannot open it"))'
}

@test "run without a command is a usage error" {
  run_in
  is 125
  says command
}

@test "a backend that nobody knows is refused by name" {
  try "$BIN/loom-exec" run --backend other -- touch ran
  is 125
  says "native or bwrap"
  [ ! -e ran ]
}

# --- features

@test "features says each layer, held or why not" {
  try "$BIN/loom-exec" features --json
  is 0
  json '.ok and (.peer | startswith("loom-exec/"))'
  json '[.features[] | select(.held | not) | .reason] | all(length > 0)'
  json '[.features[].tag] | index("landlock") and index("seccomp-base")'
  try "$BIN/loom-exec" features
  is 0
  answers $'landlock\t'
}

# --- serve

@test "serve on a terminal is a usage error that names run" {
  local text
  text=$(script -qec "'$BIN/loom-exec' serve; echo status \$?" /dev/null </dev/null 3>&-)
  [[ "$text" = *terminal* && "$text" = *"status 2"* && "$text" = *"loom-exec run"* ]]
}

@test "serve speaks first and leaves with 0 at the end of its input" {
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null >"$BATS_TEST_TMPDIR/policy"
  try sh -c '"$0" serve 3<"$1" </dev/null | od -An -c | tr -d " \n"' "$BIN/loom-exec" "$BATS_TEST_TMPDIR/policy"
  is 0
  answers kind
  answers hello
  answers loom-exec/
}

@test "serve takes its base policy from a file as well, in either encoding" {
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null >"$BATS_TEST_TMPDIR/policy"
  "$BIN/loom-policy" convert "$BATS_TEST_TMPDIR/policy" --to msgpack >"$BATS_TEST_TMPDIR/packed"
  for file in policy packed; do
    try sh -c '"$0" serve --policy "$1" </dev/null | wc -c' "$BIN/loom-exec" "$BATS_TEST_TMPDIR/$file"
    is 0
    [ "$out" -gt 20 ]
    silent
  done
}

@test "serve refuses a base policy with a fault, naming its place" {
  try sh -c 'echo "{\"v\": 3}" | "$0" serve 3<&0 </dev/null' "$BIN/loom-exec"
  is 2
  says "descriptor 3"
  says missing
}

@test "serve refuses a base policy over one mebibyte" {
  head -c 1048577 /dev/zero >"$BATS_TEST_TMPDIR/big"
  try sh -c '"$0" serve 3<"$1" </dev/null' "$BIN/loom-exec" "$BATS_TEST_TMPDIR/big"
  is 2
  says "1048576"
}

@test "serve refuses a capacity outside 1 to 4" {
  for n in 0 5 x; do
    try "$BIN/loom-exec" serve --capacity "$n" </dev/null 3>&-
    is 2
    says --capacity
  done
}

# --- self-test

# enough: the JSON of a self-test with nothing FAILED, and SKIPPED only where a layer is not there.
enough='.ok and .result == "ENFORCED" and ([.probes[] | select(.verdict == "FAILED")] == []) and
  ([.probes[] | select(.verdict == "SKIPPED") | .reason] | all(length > 0)) and ([.probes[] | select(.verdict == "ENFORCED")] | length > 20)'

@test "self-test: every probe is enforced, or skipped for what this kernel lacks" {
  try "$BIN/loom-exec" self-test --json
  is 0
  silent
  json "$enough"
  try "$BIN/loom-exec" self-test
  is 0
  [ "$(tail -1 <<<"$out")" = "RESULT: ENFORCED" ]
}

@test "self-test with a stage 2 that only leaves: nothing is enforced, and it says so" {
  mkdir -p "$BATS_TEST_TMPDIR/neutered/libexec"
  cp "$BIN/loom-exec" "$BATS_TEST_TMPDIR/neutered/"
  cp "$BIN/libexec/loom-probes" "$BATS_TEST_TMPDIR/neutered/libexec/"
  cp "$(type -P false)" "$BATS_TEST_TMPDIR/neutered/libexec/loom-stage2"
  try "$BATS_TEST_TMPDIR/neutered/loom-exec" self-test --json
  is 1
  json '(.ok | not) and .result == "FAILED" and ([.probes[] | select(.verdict == "ENFORCED")] == [])'
  json '[.probes[] | select(.verdict == "FAILED")] | length > 20'
}

@test "self-test as it is installed finds its probes; without them it says what is missing" {
  mkdir -p "$BATS_TEST_TMPDIR/usr/bin" "$BATS_TEST_TMPDIR/usr/libexec/loom"
  cp "$BIN/loom-exec" "$BATS_TEST_TMPDIR/usr/bin/"
  cp "$BIN/libexec/loom-stage2" "$BATS_TEST_TMPDIR/usr/libexec/loom/"
  try "$BATS_TEST_TMPDIR/usr/bin/loom-exec" self-test
  is 2
  says loom-probes
  cp "$BIN/libexec/loom-probes" "$BATS_TEST_TMPDIR/usr/libexec/loom/"
  try "$BATS_TEST_TMPDIR/usr/bin/loom-exec" self-test --json
  is 0
  json "$enough"
}

@test "self-test goes elsewhere when TMPDIR has a name too long for what it makes" {
  long=$BATS_TEST_TMPDIR/$(printf 'a%.0s' {1..200})
  mkdir "$long"
  TMPDIR=$long try "$BIN/loom-exec" self-test --json
  is 0
  json "$enough"
  rmdir "$long"
}

@test "self-test leaves nothing behind, and needs a place for programs" {
  mkdir "$BATS_TEST_TMPDIR/p"
  TMPDIR=$BATS_TEST_TMPDIR/p try "$BIN/loom-exec" self-test --json
  is 0
  [ -z "$(ls -A "$BATS_TEST_TMPDIR/p")" ]
}
