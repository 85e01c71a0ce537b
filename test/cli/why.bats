#!/usr/bin/env bats
# --why: the calls that were refused, told. Every test is run as root and as an ordinary user.
# What is in single quotes is for the shell inside the jail.
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/work
  REPORT=$BATS_TEST_TMPDIR/report
  mkdir "$W"
  cd "$W" || return
}

why_in() { try "$BIN/loom-exec" run --quiet --workspace "$W" --report "$REPORT" "$@"; }
# under FILTER ARG...: the same under the workspace's policy, changed by FILTER.
under() {
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null | jq --arg w "$W" "$1" >"$BATS_TEST_TMPDIR/policy"
  try "$BIN/loom-exec" run --quiet --policy "$BATS_TEST_TMPDIR/policy" --report "$REPORT" "${@:2}"
}
denied() { jq -e ".denied | $1" "$REPORT" >/dev/null || { cat "$REPORT" >&2; return 1; }; }

# call NUMBER ARG...: a Python program that makes one system call and prints its errno.
call() {
  echo "import ctypes;l=ctypes.CDLL(None,use_errno=True);l.syscall(*map(ctypes.c_long,[$1]));print(ctypes.get_errno())"
}

@test "a refused call is named with its layer, arguments, reason, program and count" {
  why_in --why -- python3 -c 'import socket
for i in range(3):
    try: socket.socket(socket.AF_PACKET)
    except OSError as e: print(e.errno)'
  is 0
  [ "$out" = $'97\n97\n97' ]
  denied 'length == 1'
  denied '.[0] | startswith("denied:seccomp-net: socket(17): ")'
  denied '.[0] | endswith("(python3, 3x)")'
}

@test "the errno is the one that the command meets without --why, for rows of each kind" {
  for made in '41,2,1,0' '272,0x10000000' '165,0,0,0,0,0' '250,0,0,0' '302,1,0,0,0' '16,0,0x5412,0' '90,0,0o4755' '425,1,0' '435,0,0' '437,0,0,0,0' '470'; do
    [ "$(uname -m)" = x86_64 ] || skip "the numbers are those of x86-64"
    why_in -- python3 -c "$(call "$made")"
    is 0
    plain=$out
    for why in --why --why=paths; do
      why_in "$why" -- python3 -c "$(call "$made")"
      is 0
      [ "$out" = "$plain" ] || { echo "$made: $plain, and $out with $why" >&2; return 1; }
    done
  done
}

@test "what callers fall back from is no refusal: threads and openat2 leave nothing" {
  why_in --why -- python3 -c 'import threading; t=threading.Thread(target=print, args=("ran",)); t.start(); t.join()'
  is 0
  [ "$out" = ran ]
  denied 'length == 0'
}

@test "stdout, stderr and status are the command's own, and the entries follow on stderr" {
  try "$BIN/loom-exec" run --workspace "$W" --why -- sh -c 'echo out; unshare -U true; exit 7'
  is 7
  [ "$out" = out ]
  says 'loom-exec: denied:seccomp-base: unshare(268435456): '
}

@test "without --why nothing is collected" {
  why_in -- unshare -U true
  is 1
  denied 'length == 0'
}

@test "the layers are seen in the command's own process, and the demand full is met" {
  under '.limits.mem_bytes = 0' --demand full --why -- true
  is 0
  jq -e '.enforcement | index("verified:seccomp-base") and index("verified:seccomp-net") and index("seccomp-net")' "$REPORT"
}

@test "kinds beyond 64 are counted and not kept" {
  why_in --why -- python3 -c 'import socket
for i in range(100):
    try: socket.socket(1000+i)
    except OSError: pass'
  is 0
  denied '[.[] | select(startswith("denied:seccomp-net"))] | length == 64'
  denied 'index("denied:more: 36 further refusals of other kinds")'
}

@test "attempts beyond those that are told are counted, every one" {
  why_in --why=paths -- python3 -c 'import os
for i in range(1500):
    try: os.open("/usr/%d" % i, os.O_WRONLY|os.O_CREAT)
    except OSError: pass'
  is 0
  denied '[.[] | select(startswith("attempt:openat /usr/"))] | length == 64'
  denied 'index("attempt:more: 1436 further attempts")'
}

@test "under a storm of signals what is refused stays refused, and what goes on goes on" {
  why_in --why=paths -- python3 -c 'import socket, signal, os
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
met = set()
for i in range(3000):
    try: socket.socket(socket.AF_PACKET); met.add("made")
    except OSError as e: met.add(e.errno)
    os.close(os.open("/etc/passwd", os.O_RDONLY))
signal.setitimer(signal.ITIMER_REAL, 0)
print(97 in met, met - {97, 4})'
  is 0
  [ "$out" = 'True set()' ]
}

@test "--why=paths tells of a read that the mode refuses, a write outside the roots and a path outside the view" {
  why_in --why=paths -- sh -c 'cat /etc/shadow; touch /usr/x; cat "$1"; mkdir /made; echo ok >ok; cat ok; rm ok' sh "$HOME/.ssh/id_rsa"
  is 0
  [ "$out" = ok ]
  denied 'any(startswith("attempt:openat /etc/shadow: Permission denied: base") and endswith("mode refuses (cat)"))'
  denied 'any(startswith("attempt:openat /usr/x: ") and contains(": base") and endswith("(touch)"))'
  denied "any(startswith(\"attempt:openat $HOME/.ssh/id_rsa: No such file or directory: not in the view\"))"
  denied 'any(startswith("attempt:mkdir /made: "))'
  denied 'all(contains("/ok") | not)'
}

@test "--why=paths names the entry that protects or freezes, and follows relative paths" {
  mkdir -p secret cold/in
  echo x >secret/key
  echo x >cold/in/file
  under '.protected = [$w + "/secret"] | .frozen += [$w + "/cold"]' --cwd "$W" --why=paths -- sh -c 'cat secret/key; cd cold; echo y >in/../in/file; cat in/file'
  is 0
  [ "$out" = x ]
  denied "any(startswith(\"attempt:openat $W/secret/key: \") and contains(\"protected[0]\"))"
  denied "any(startswith(\"attempt:openat $W/cold/in/file: Read-only file system: frozen[\"))"
}

@test "an attempt's bytes cannot steer a terminal" {
  why_in --why=paths -- python3 -c 'import os
try: os.open(b"/usr/\x1b[31m\n\xff", os.O_WRONLY|os.O_CREAT)
except OSError: pass'
  is 0
  denied 'any(startswith("attempt:openat /usr/\\x1b[31m\\x0a\\xff: "))'
}

@test "a program that is not found, cannot be executed, or ends by a signal says so as without --why" {
  for why in --why --why=paths; do
    why_in "$why" -- no-such-program
    is 127
    touch plain
    why_in "$why" -- ./plain
    is 126
    why_in "$why" -- sh -c 'kill -SEGV $$'
    is 139
    why_in "$why" --cwd /nowhere -- true
    is 125
  done
}

@test "many threads and processes that are refused at once are all answered" {
  why_in --why=paths -- python3 -c 'import socket, threading, os
def work():
    for i in range(200):
        try: socket.socket(socket.AF_INET)
        except OSError: pass
        try: open("/etc/shadow")
        except OSError: pass
for p in range(3): os.fork()
ts=[threading.Thread(target=work) for i in range(4)]
[t.start() for t in ts]
[t.join() for t in ts]
try:
    while True: os.wait()
except ChildProcessError: pass'
  is 0
  denied 'any(endswith("(python3, 6400x)"))'
}

@test "a watched command that hides, stops and refuses to end is ended by the ladder" {
  why_in --why=paths --timeout 300ms -- sh -c 'trap "" TERM; setsid sleep "$1" & while :; do cat /etc/shadow; done 2>/dev/null' sh "4242.$BASHPID"
  is 124
  nobody "sleep 4242.$BASHPID"
}

@test "what a watched command leaves behind is ended with it" {
  why_in --why -- sh -c 'setsid sleep "$1" >/dev/null 2>&1 & exit 3' sh "4243.$BASHPID"
  is 3
  nobody "sleep 4243.$BASHPID"
}

@test "the command cannot take the listener's place" {
  [ "$(uname -m)" = x86_64 ] || skip "the numbers are those of x86-64"
  why_in --why -- python3 -c 'import ctypes,struct
l=ctypes.CDLL(None,use_errno=True)
insns=struct.pack("<HBBI",6,0,0,0x7fff0000)
buf=ctypes.create_string_buffer(insns)
prog=ctypes.create_string_buffer(struct.pack("<HxxxxxxQ",1,ctypes.addressof(buf)))
print(l.syscall(317,1,8,prog), ctypes.get_errno())'
  is 0
  [ "$out" = "-1 16" ]
}

@test "through a broker the entries come back with the settlement" {
  try "$BIN/loom-broker" run --quiet --workspace "$W" --report "$REPORT" --why -- unshare -U true
  is 1
  denied '.[0] | startswith("denied:seccomp-base: unshare(268435456): ")'
}

@test "--why takes paths and nothing else" {
  why_in --why=all -- true
  is 125
  says '--why'
}
