#!/usr/bin/env bats
# The manners that all tools share: help, version, usage errors, streams, statuses.

load helpers

tools() { for tool in "$BIN"/loom-*; do basename "$tool"; done; }

# The verbs of tool $1: the words listed in its help that have a help of their own.
verbs() {
  local word
  for word in $("$BIN/$1" --help | sed -nE 's/^  ([a-z][a-z-]*)( .*)?$/\1/p'); do
    if "$BIN/$1" "$word" --help 2>/dev/null | grep -q "^usage: $1 $word"; then echo "$word"; fi
  done
}

# Each help, as "TOOL" or "TOOL VERB", one a line.
helps() {
  local tool verb
  for tool in $(tools); do
    echo "$tool"
    for verb in $(verbs "$tool"); do echo "$tool $verb"; done
  done
}

# The status that a usage error of `TOOL VERB` leaves with.
usage_status() {
  case $1 in
    "loom-exec run" | "loom-broker run" | "loom-broker call") echo 125 ;;
    *) echo 2 ;;
  esac
}

# on "TOOL VERB" WORD...: tries it with the words.
on() {
  local words
  read -ra words <<<"$1"
  shift
  try "$BIN/${words[0]}" "${words[@]:1}" "$@"
}

@test "the five tools are here" {
  [ "$(tools | tr '\n' ' ')" = "loom-broker loom-census loom-egress loom-exec loom-policy " ]
}

@test "help fits a screen of 24 lines and 80 columns" {
  while read -r words; do
    on "$words" --help
    is 0
    silent
    [ "$(wc -l <<<"$out")" -le 24 ] || { tell; echo "$words: too long" >&2; return 1; }
    [ "$(wc -L <<<"$out")" -le 80 ] || { tell; echo "$words: too wide" >&2; return 1; }
  done < <(helps)
}

@test "help begins with the usage and ends with two examples and the page's name" {
  while read -r words; do
    on "$words" --help
    [[ $out == "usage: $words"* ]] || { tell; return 1; }
    [ "$(tail -n 1 <<<"$out")" = "see ${words%% *}(1)" ] || { tell; return 1; }
    [ "$(grep -v '^$' <<<"$out" | tail -n 3 | head -n 2 | grep -c "^  .*${words%% *}")" = 2 ] || { tell; return 1; }
  done < <(helps)
}

@test "a tool's help lists every verb it has" {
  [ "$(verbs loom-census | tr '\n' ' ')" = "broker skew doctor " ]
  for verb in serve run features; do verbs loom-exec | grep -qx "$verb"; done
  for verb in run serve call cancel snapshot census stop smoke; do verbs loom-broker | grep -qx "$verb"; done
  for verb in default check convert digest compose explain diff; do verbs loom-policy | grep -qx "$verb"; done
  for verb in request check serve proxy; do verbs loom-egress | grep -qx "$verb"; done
}

@test "version tells tool, version, wire and policy versions, the same in all tools" {
  for tool in $(tools); do
    try "$BIN/$tool" --version
    is 0
    silent
    [[ $out =~ ^$tool\ [0-9]+\.[0-9]+\.[0-9]+\ \(wire:\ .*exec\ 4.*control\ 1.*policy\ 3\)$ ]] || { tell; return 1; }
    echo "${out#* }" >>"$BATS_TEST_TMPDIR/versions"
  done
  [ "$(sort -u "$BATS_TEST_TMPDIR/versions" | wc -l)" = 1 ]
}

@test "an unknown flag is a usage error in our words, on one line with a hint" {
  while read -r words; do
    on "$words" --no-such-flag
    is "$(usage_status "$words")"
    [ -z "$out" ] || { tell; return 1; }
    says "${words%% *}: "
    says "--no-such-flag: unknown option"
    [ "$(wc -l <<<"$err")" = 2 ] || { tell; return 1; }
    [[ $(tail -n 1 <<<"$err") == "hint: see "* ]] || { tell; return 1; }
  done < <(helps)
}

@test "an unknown verb and a missing one are usage errors" {
  for tool in $(tools); do
    try "$BIN/$tool" no-such-verb
    is 2
    says "no-such-verb"
  done
  for tool in loom-exec loom-broker loom-policy loom-egress; do
    try "$BIN/$tool"
    is 2
    says "no verb given"
  done
}

@test "a verb that takes none refuses an extra argument" {
  for words in "loom-exec features" "loom-broker snapshot" "loom-broker smoke" "loom-census" "loom-census broker"; do
    on "$words" extra
    is 2
    says "extra: unexpected argument"
  done
}

@test "control bytes of an argument are shown, never sent to the terminal" {
  while read -r words; do
    on "$words" $'--a\e[2Jb'
    says '--a\x1b[2Jb'
    [[ $err != *$'\e'* ]] || return 1
  done < <(helps)
}

@test "a reader that has left ends a tool quietly with 141" {
  while read -r words; do
    read -ra split <<<"$words"
    mkfifo "$BATS_TEST_TMPDIR/pipe"
    # The reader opens the pipe, so that the writer may, and leaves before a word is written.
    : <"$BATS_TEST_TMPDIR/pipe" &
    exec 5>"$BATS_TEST_TMPDIR/pipe"
    wait $!
    status=0
    "$BIN/${split[0]}" "${split[@]:1}" --help >&5 2>"$BATS_TEST_TMPDIR/err" || status=$?
    exec 5>&-
    rm "$BATS_TEST_TMPDIR/pipe"
    [ "$status" = 141 ] || { echo "$words: $status" >&2; return 1; }
    [ ! -s "$BATS_TEST_TMPDIR/err" ] || { cat "$BATS_TEST_TMPDIR/err" >&2; return 1; }
  done < <(helps)
}

@test "a closed stdout ends a tool quietly with 141" {
  while read -r words; do
    read -ra split <<<"$words"
    status=0
    "$BIN/${split[0]}" "${split[@]:1}" --help >&- 2>"$BATS_TEST_TMPDIR/err" || status=$?
    [ "$status" = 141 ] || { echo "$words: $status" >&2; return 1; }
    [ ! -s "$BATS_TEST_TMPDIR/err" ]
  done < <(helps)
}

@test "a full disk is an error that is said" {
  while read -r words; do
    read -ra split <<<"$words"
    status=0
    "$BIN/${split[0]}" "${split[@]:1}" --help >/dev/full 2>"$BATS_TEST_TMPDIR/err" || status=$?
    [ "$status" != 0 ] && [ "$status" -lt 126 ] || { echo "$words: $status" >&2; return 1; }
    grep -q "^${split[0]}: standard output: cannot write: No space left on device$" "$BATS_TEST_TMPDIR/err"
  done < <(helps)
}

@test "a command's own streams: a full disk under its output is an error that is said, not a crash" {
  mkdir "$BATS_TEST_TMPDIR/w"
  for tool in loom-exec loom-broker; do
    status=0
    "$BIN/$tool" run --workspace "$BATS_TEST_TMPDIR/w" -- echo text >/dev/full 2>"$BATS_TEST_TMPDIR/err" || status=$?
    [ "$status" != 0 ] && [ "$status" -lt 128 ] || { echo "$tool: $status" >&2; return 1; }
    grep -q "No space left on device" "$BATS_TEST_TMPDIR/err"
  done
}

@test "closed descriptors 0, 1 and 2 are no way in: every tool still answers or refuses" {
  for tool in $(tools); do
    status=0
    "$BIN/$tool" --no-such-flag <&- >&- 2>&- || status=$?
    [ "$status" = 2 ] || { echo "$tool: $status" >&2; return 1; }
  done
}

@test "every answering verb has --json and answers one object with it" {
  for words in "loom-census" "loom-exec features"; do
    on "$words" --json
    is 0
    json 'type == "object"'
  done
}

@test "a no is an answer: ok, errors with code, message, where and hint, status 1" {
  echo '{"v": 3}' >"$BATS_TEST_TMPDIR/bad.json"
  on "loom-policy check" --json "$BATS_TEST_TMPDIR/bad.json"
  is 1
  json '.ok == false and (.errors | length > 0)'
  json '.errors | all(has("code") and has("message") and has("where") and has("hint"))'
}

@test "nothing is coloured when it is not for a terminal" {
  for words in "loom-census" "loom-exec features"; do
    TERM=xterm-256color on "$words"
    [[ $out != *$'\e'* ]] || { tell; return 1; }
  done
}

@test "each page is there, names itself and has its sections" {
  for tool in $(tools); do
    page=$TREE/man/$tool.1
    [ -f "$page" ]
    for section in "EXIT STATUS" ENVIRONMENT FILES EXAMPLES; do
      grep -qx ".Sh $section" "$page" || { echo "$page: no $section" >&2; return 1; }
    done
  done
}

@test "the flags of each help and of its page are the same" {
  "$TREE/scripts/check-flags" "$BIN" "$TREE/man"
}
