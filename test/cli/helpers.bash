# What every .bats file loads. After it: $BIN is the folder of the tools, $BUILT that of the built tests (peers, probes), $TREE the
# source tree; stdout and stderr of `try` are kept apart. Nothing here is a test.

TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BIN=${BIN:-$TREE/bin}
BUILT=${BUILT:-$TREE/build/release}
export TREE BIN BUILT
unset "${!LOOM_@}" XDG_RUNTIME_DIR NO_COLOR

# try COMMAND...: runs it; afterwards $status, $out and $err hold what it left with and said. stdin is empty unless piped in.
try() {
  local errors
  errors=$(mktemp "$BATS_TEST_TMPDIR/err.XXXXXX")
  status=0
  out=$("$@" 2>"$errors") || status=$?
  err=$(cat "$errors")
  rm -f "$errors"
}

# What was got, for a person who reads a failed test.
tell() {
  printf 'status %s\n--- out\n%s\n--- err\n%s\n---\n' "${status:-}" "${out:-}" "${err:-}" >&2
}

# is STATUS: the status of the last try.
is() { [ "$status" = "$1" ] || { tell; echo "want status $1" >&2; return 1; }; }
# says TEXT, answers TEXT: stderr, stdout hold it.
says() { [[ "$err" == *"$1"* ]] || { tell; echo "want on stderr: $1" >&2; return 1; }; }
answers() { [[ "$out" == *"$1"* ]] || { tell; echo "want on stdout: $1" >&2; return 1; }; }
# silent: nothing on stderr.
silent() { [ -z "$err" ] || { tell; echo "want nothing on stderr" >&2; return 1; }; }
# json FILTER: stdout is one JSON line, and FILTER holds of it.
json() {
  [ "$(wc -l <<<"$out")" = 1 ] || { tell; echo "want one line" >&2; return 1; }
  jq -e "$1" >/dev/null <<<"$out" || { tell; echo "want $1" >&2; return 1; }
}

# skip_unless_root, skip_if_root: for what only one of the two users can show.
skip_unless_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }
skip_if_root() { [ "$(id -u)" != 0 ] || skip "needs an ordinary user"; }

# line_of FIFO: the first line that a background program writes to FIFO (a --ready-fd, say); waits for it, 20 s at most.
line_of() {
  local line
  read -r -t 20 line <"$1" || return 1
  printf '%s\n' "$line"
}

# ends PID: waits for the end of a process that is not this shell's child, 20 s at most.
ends() { timeout 20 tail --pid="$1" -s 0.05 -f /dev/null; }

# nobody MARK: no process anywhere has MARK among its words.
nobody() {
  local end=$((SECONDS + 10))
  while pgrep -f -- "$1" >/dev/null; do
    [ $SECONDS -lt $end ] || { pgrep -af -- "$1" >&2; return 1; }
  done
}

# A repository with one commit in $1.
make_repository() {
  git init -q -b main "$1"
  git -C "$1" config user.name Tester
  git -C "$1" config user.email tester@example.invalid
  echo text >"$1/file"
  git -C "$1" add file
  git -C "$1" commit -q -m first
}
