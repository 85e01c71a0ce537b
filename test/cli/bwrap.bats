#!/usr/bin/env bats
# loom-exec --backend bwrap: the fallback of an ordinary user. As root every test but the refusal is skipped.
# What is in single quotes is for the shell inside the jail.
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/work
  REPORT=$BATS_TEST_TMPDIR/report
  mkdir "$W"
  cd "$W" || return
}

in_bwrap() { try "$BIN/loom-exec" run --backend bwrap --quiet --workspace "$W" --report "$REPORT" "$@"; }
# under FILTER ARG...: the same under the workspace's policy, changed by FILTER.
under() {
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null | jq --arg w "$W" "$1" >"$BATS_TEST_TMPDIR/policy"
  try "$BIN/loom-exec" run --backend bwrap --quiet --policy "$BATS_TEST_TMPDIR/policy" --report "$REPORT" "${@:2}"
}
report() { jq -e "$1" "$REPORT" >/dev/null || { cat "$REPORT" >&2; return 1; }; }
usable() {
  skip_if_root
  [ -x /usr/bin/bwrap ] || skip "no bubblewrap here"
}

@test "root is refused: it would be root of the host" {
  skip_unless_root
  in_bwrap -- touch ran
  is 125
  says 'bwrap is for ordinary users'
  [ ! -e ran ]
}

@test "every layer is held and seen from inside, and the container is named bwrap" {
  usable
  under '.limits.mem_bytes = 0' --demand full --cwd "$W" -- sh -c 'echo in; echo made >file'
  is 0
  [ "$out" = in ]
  [ "$(cat file)" = made ]
  report '.outcome.exited.degraded == false'
  report '.enforcement | index("bwrap:net=fresh") and all(startswith("skip:") | not)'
  for layer in bwrap mounts unprivileged no-new-privs landlock seccomp-base seccomp-net pids-userns rlimit-core; do
    report ".enforcement | index(\"verified:$layer\")"
  done
}

@test "statuses and signals are the command's own; what is not there is 127" {
  usable
  in_bwrap -- sh -c 'exit 7'
  is 7
  in_bwrap -- sh -c 'kill -9 $$'
  is 137
  in_bwrap -- no-such-program
  is 127
}

@test "outside of the roots nothing is written or seen, and protected and frozen entries hold" {
  usable
  mkdir hidden cold
  echo secret | tee hidden/key key >/dev/null
  echo cold >cold/file
  under '.protected = [$w + "/hidden", $w + "/key"] | .frozen += [$w + "/cold"]' --cwd "$W" -- sh -c '
    for f in hidden/key key "$1"; do cat "$f" && echo "read $f"; done
    for f in cold/file cold/new hidden/new key /usr/x /etc/x /new "$1"; do echo x >"$f" && echo "wrote $f"; done
    mv cold away && echo moved; mv hidden away && echo moved; rm -f key && echo removed; ls hidden; echo ok >mine; cat cold/file mine' \
    sh "$HOME/.profile"
  is 0
  [ "$out" = $'cold\nok' ]
  [ "$(cat hidden/key key)" = $'secret\nsecret' ]
  report '.enforcement | any(startswith("mounts:ro=0,rw=1,frozen=1,mask=2"))'
}

@test "neither the caller's environment nor its descriptors nor its signal mask come in" {
  usable
  exec 7</ 9<"$BATS_TEST_FILENAME"
  MARKER=leaked in_bwrap -- sh -c 'env; tr "\0" "\n" </proc/1/environ; ls /proc/self/fd; ls /proc/1/fd; grep -E "^Sig(Blk|Ign)" /proc/self/status'
  [[ "$out" != *leaked* ]]
  [[ "$out" == *"SigBlk:"$'\t'0000000000000000* ]]
  [[ "$out" == *"SigIgn:"$'\t'0000000000000000* ]]
  [ "$(grep -cx '[0-9]*' <<<"$out")" -le 4 ]
}

@test "a second process of the jail is ended with it, and what hides is ended by the ladder" {
  usable
  in_bwrap -- sh -c 'setsid sleep "$1" >/dev/null 2>&1 & exit 3' sh "4244.$BASHPID"
  is 3
  nobody "sleep 4244.$BASHPID"
  in_bwrap --timeout 300ms -- sh -c 'trap "" TERM; setsid sleep "$1" & while :; do sleep 1; done' sh "4245.$BASHPID"
  is 124
  nobody "sleep 4245.$BASHPID"
}

@test "a TERM handler is really run" {
  usable
  in_bwrap --timeout 500ms -- sh -c 'trap "echo bye; exit 9" TERM; echo ready; while :; do sleep 0.05; done'
  is 124
  [ "$out" = $'ready\nbye' ]
}

@test "loom-exec killed outright leaves nothing" {
  usable
  mkfifo "$BATS_TEST_TMPDIR/out"
  "$BIN/loom-exec" run --backend bwrap --quiet --workspace "$W" -- sh -c 'echo ready; setsid sleep "$1" & wait' sh "4246.$BASHPID" >"$BATS_TEST_TMPDIR/out" 3>&- &
  pid=$!
  [ "$(line_of "$BATS_TEST_TMPDIR/out")" = ready ]
  kill -9 $pid
  nobody "sleep 4246.$BASHPID"
}

@test "network off means off, full means the host's; families stay closed" {
  usable
  in_bwrap -- sh -c 'ls /sys 2>/dev/null; cat /proc/net/dev | wc -l; python3 -c "import socket; socket.socket()"'
  is 1
  [ "$out" = 3 ]
  under '.network = {"mode":"full"}' --cwd "$W" -- python3 -c 'import socket; socket.socket(); print("made")'
  is 0
  [ "$out" = made ]
  report '.enforcement | index("bwrap:net=host")'
}

@test "a terminal is the jail's own" {
  usable
  command -v script >/dev/null || skip "no script(1)"
  run script -qec "'$BIN/loom-exec' run --backend bwrap --quiet --tty --workspace '$W' -- sh -c 'tty; stty size'" /dev/null </dev/null
  [[ "$output" == */dev/pts/0* ]]
}

@test "nothing is made on the host through a link in the workspace" {
  usable
  mkdir "$BATS_TEST_TMPDIR/elsewhere"
  ln -s "$BATS_TEST_TMPDIR/elsewhere" link
  under '.protected = [$w + "/link/a", $w + "/b"] | .frozen += [$w + "/link/c/d"]' --cwd "$W" -- true
  [ -z "$(ls "$BATS_TEST_TMPDIR/elsewhere")" ]
  [ "$(ls)" = link ]
}

@test "the whole host as a view, and a plan past its arguments, are refused in loom's words" {
  usable
  under '.readable_roots = ["/"]' --cwd "$W" -- touch ran
  is 125
  says 'host_view'
  mkdir many
  (cd many && seq 3100 | xargs touch)
  under '.frozen = [range(1; 3101) | $w + "/many/" + tostring]' --cwd "$W" -- touch ran
  is 125
  says 'too_many_arguments'
  [ ! -e ran ]
}

@test "a helper that is killed or cancelled at any moment of the building leaves no process" {
  usable
  local mark="4244.$BASHPID" pid step
  for step in {0..15}; do
    for signal in KILL TERM; do
      "$BIN/loom-exec" run --backend bwrap --quiet --workspace "$W" -- sleep "$mark" >/dev/null 2>&1 3>&- &
      pid=$!
      sleep "0.0$(printf %02d "$step")"
      kill -"$signal" "$pid"
      wait "$pid" || true
    done
  done
  nobody "sleep $mark"
  nobody "^bwrap .* $W "
}

@test "--why works as with the native backend" {
  usable
  in_bwrap --why -- unshare -U true
  is 1
  report '.denied | any(startswith("denied:seccomp-base: unshare("))'
}

# without_new_mounts PROGRAM...: under a filter for which the calls of the native backend do not exist.
without_new_mounts() {
  python3 - "$@" <<'PY'
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def insn(code, jt, jf, k): return struct.pack("<HBBI", code, jt, jf, k)
calls = [428, 430, 432, 442]
code = insn(0x20, 0, 0, 0)
for i, number in enumerate(calls): code += insn(0x15, len(calls) - i, 0, number)
code += insn(6, 0, 0, 0x7fff0000) + insn(6, 0, 0, 0x00050000 | 38)
buffer = ctypes.create_string_buffer(code, len(code))
program = struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
PY
}

@test "where the native backend cannot build, bubblewrap does, and both the report and features say why" {
  usable
  try without_new_mounts "$BIN/loom-exec" run --quiet --workspace "$W" --report "$REPORT" -- sh -c 'echo ran'
  is 0
  [ "$out" = ran ]
  report '.enforcement | index("verified:bwrap") and any(startswith("event:native=unavailable: "))'
  try without_new_mounts "$BIN/loom-exec" features --json
  is 0
  json '.features | any(.tag == "bwrap" and .held) and any(.tag == "namespaces" and (.held | not))'
  try without_new_mounts "$BIN/loom-exec" run --backend native --quiet --workspace "$W" -- touch ran
  is 125
  [ ! -e ran ]
}
