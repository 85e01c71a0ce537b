#!/usr/bin/env bats
# The README's tour is what it says: eleven lines, each of which does something.

load helpers

# The lines of the tour.
tour() { sed -n '/^## A tour/,/^## /{/^```sh$/,/^```$/p}' "$TREE/README.md" | grep -v '^```'; }

@test "the tour has eleven lines" {
  [ "$(tour | wc -l)" = 11 ]
}

@test "each line of the tour succeeds, in order, in one shell" {
  cd "$BATS_TEST_TMPDIR"
  ln -s "$BIN" bin
  {
    echo 'fail() { echo "failed: $1" >&2; exit 1; }'
    while IFS= read -r line; do
      printf 'echo "+ %s"\n' "$(printf '%s' "$line" | sed 's/[\\"$`]/\\&/g')"
      printf '%s\n[ $? = 0 ] || fail %q\n' "$line" "$line"
    done < <(tour)
    echo 'rm -rf "${W%/work}"'
  } >tour.sh
  try bash tour.sh
  is 0
  answers "the secret is not there: status 1"
  answers "stopped by the clock: status 124"
  answers "not on the list: status 128"
  says 'loom-broker: egress: other.test:443 refused: not_allowed'
  answers "drain: ok"
  answers "loom-census"
  answers "made"
}

# Pasted into a terminal, the lines that follow are what a command's stdin would read.
@test "no line of the tour reads what was pasted after it" {
  local line
  while IFS= read -r line; do
    [[ $line != *' run --'* || $line == *'</dev/null'* ]]
  done < <(tour)
}

@test "every man page is named where to read on" {
  local page
  for page in "$TREE"/man/*; do grep -qF "\`$(basename "$page")\`" "$TREE/README.md"; done
}

@test "the commands of the README are targets of the Makefile" {
  for target in demo test lint fuzz sanitize check-syntax install help; do
    grep -q "^$target:" "$TREE/Makefile"
    grep -qE "make ([A-Z]+=[^ ]+ )?$target" "$TREE/README.md"
  done
}
