#!/usr/bin/env bats
# Sockets of the host, from inside: the broker's own, hidden however its directory is spelled, and other programs', by path and by
# name, in every network mode. Every test is run as root and as an ordinary user.
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/work
  mkdir "$W" "$BATS_TEST_TMPDIR/real"
  cd "$W" || return
  broker=
}

teardown() {
  [ -z "$broker" ] || { kill -TERM "$broker" 2>/dev/null && wait "$broker"; } || true
}

# serve_at SOCKET: a broker whose base shows all of the host; its calls go there.
serve_at() {
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null | jq '.readable_roots += ["/"]' >"$BATS_TEST_TMPDIR/base"
  mkfifo "$BATS_TEST_TMPDIR/ready"
  "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/base" --socket "$1" --ready-fd 9 9>"$BATS_TEST_TMPDIR/ready" \
    2>"$BATS_TEST_TMPDIR/log" 3>&- &
  broker=$!
  line_of "$BATS_TEST_TMPDIR/ready" >/dev/null || { cat "$BATS_TEST_TMPDIR/log" >&2; return 1; }
  export LOOM_SOCKET=$1
}

# What looks for the broker from inside: its words are the paths under which it may be. Prints what it found.
seek='
import os, socket, sys
for path in sys.argv[1:]:
    for way in ("", "/proc/self/root", "/proc/self/cwd/../../../../../../../.."):
        try:
            if os.listdir(os.path.dirname(way + path)): print("listed", way + path)
        except OSError: pass
        if os.path.exists(way + path): print("exists", way + path)
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(way + path)
                print("reached", way + path)
        except OSError: pass
    try:
        os.chmod(os.path.dirname(path), 0o777); print("mode changed", path)
    except OSError: pass
    try:
        os.rename(os.path.dirname(path), os.path.dirname(path) + "2"); print("renamed", path)
    except OSError: pass
print("sought", os.path.isdir("/usr/bin"))'

# hidden PATH...: a call through the broker that answers finds it under none of these.
hidden() {
  try "$BIN/loom-broker" call --report "$BATS_TEST_TMPDIR/report" -- python3 -c "$seek" "$@"
  is 0
  [ "$out" = "sought True" ] || { tell; return 1; }
  jq -e '.enforcement | index("verified:mounts")' "$BATS_TEST_TMPDIR/report"
  jq -e '.enforcement | any(test("base=host-view"))' "$BATS_TEST_TMPDIR/report"
}

@test "the broker's socket is hidden where the whole host is shown" {
  serve_at "$BATS_TEST_TMPDIR/real/s"
  hidden "$BATS_TEST_TMPDIR/real/s"
}

@test "its directory is not named through a link: the mask would be on another" {
  ln -s real "$BATS_TEST_TMPDIR/link"
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null >"$BATS_TEST_TMPDIR/base"
  try "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/base" --socket "$BATS_TEST_TMPDIR/link/s"
  is 2
  says link
}

@test "and where it was named from here, or by a roundabout way" {
  cd "$BATS_TEST_TMPDIR"
  serve_at real/s
  hidden "$BATS_TEST_TMPDIR/real/s"
  kill -TERM "$broker"
  wait "$broker" || true
  rm "$BATS_TEST_TMPDIR/ready"
  serve_at "$BATS_TEST_TMPDIR//work/../real/./s"
  hidden "$BATS_TEST_TMPDIR/real/s"
}

@test "a grant does not show it" {
  serve_at "$BATS_TEST_TMPDIR/real/s"
  for grant in readable_root writable_root; do
    try "$BIN/loom-broker" call --grant "$grant=$BATS_TEST_TMPDIR/real" -- python3 -c "$seek" "$BATS_TEST_TMPDIR/real/s"
    [[ "$status" = 125 || "$out" = "sought True" ]] || { tell; return 1; }
  done
}

@test "a link in the workspace does not show it" {
  serve_at "$BATS_TEST_TMPDIR/real/s"
  ln -s "$BATS_TEST_TMPDIR/real" planted
  # The link is the command's to rename; the directory behind it is not.
  hidden "$W/planted/./s"
}

# A program of the host that answers whoever comes: at a path and under an abstract name.
@test "abstract sockets and those of other people are out of reach in every network mode" {
  python3 -c '
import os, select, socket, sys
ends = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
for end, name in zip(ends, sys.argv[1:3]):
    end.bind(name.replace("@", "\0")); end.listen()
print("ready", flush=True)
while True:
    for end in select.select(ends, [], [])[0]:
        peer, _ = end.accept(); open(sys.argv[3], "a").write("came\n"); peer.close()
' "$BATS_TEST_TMPDIR/real/other" "@loom-sockets-$$" "$BATS_TEST_TMPDIR/came" >"$BATS_TEST_TMPDIR/up" 3>&- &
  listener=$!
  until [ -s "$BATS_TEST_TMPDIR/up" ]; do [ -e "/proc/$listener" ]; done
  for mode in off full; do
    grant=()
    [ "$mode" = off ] || grant=(--grant network=full)
    try "$BIN/loom-exec" run --quiet "${grant[@]}" -- python3 -c '
import socket, sys
for name in sys.argv[1:]:
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(name.replace("@", "\0"))
            print("reached", name)
    except OSError: pass
print("sought")' "$BATS_TEST_TMPDIR/real/other" "@loom-sockets-$$"
    if [ "$mode" = full ] && [ "$("$BIN/loom-exec" features --json | jq -r '.features[] | select(.tag == "landlock") | .detail // "abi=0" | sub("abi="; "")')" -lt 6 ]; then
      continue  # nothing on this kernel holds an abstract name in the host's own network: the page says so
    fi
    [ "$out" = sought ] || { tell; kill "$listener"; return 1; }
  done
  kill "$listener"
  [ ! -e "$BATS_TEST_TMPDIR/came" ]
}
