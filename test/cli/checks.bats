#!/usr/bin/env bats
# The checks that `make lint` relies on find what they are there to find.

load helpers

# A tree with one file $1 that includes $2.
tree_with() {
  mkdir -p "$BATS_TEST_TMPDIR/tree/$(dirname "$1")"
  printf '#include %s\n' "$2" >"$BATS_TEST_TMPDIR/tree/$1"
  try "$TREE/scripts/check-layers" "$BATS_TEST_TMPDIR/tree"
  rm -r "$BATS_TEST_TMPDIR/tree"
}

@test "an include along the direction of the layers is allowed" {
  for pair in 'libloom/wire/a.cc "base/value.h"' 'libloom/broker/a.cc "plan/report.h"' 'helper/a.cc "os/loop.h"' \
    'cmd/loom-exec/a.cc "helper/serve.h"' 'libloom/os/loop.cc <boost/asio/io_context.hpp>' 'libloom/os/a.cc <unistd.h>'; do
    tree_with "${pair%% *}" "${pair#* }"
    is 0
  done
}

@test "an include against the direction of the layers is named" {
  for pair in 'libloom/base/a.cc "wire/frame.h"' 'libloom/wire/a.cc "policy/model.h"' 'libloom/policy/a.cc "plan/report.h"' \
    'libloom/os/a.cc "policy/model.h"' 'libloom/cli/a.h "policy/model.h"' 'helper/a.cc "broker/pool.h"' \
    'cmd/loom-broker/a.cc "helper/serve.h"' 'cmd/loom-exec/a.cc "cmd/loom-broker/b.h"'; do
    tree_with "${pair%% *}" "${pair#* }"
    is 1
    answers "${pair%% *}:1: "
  done
}

@test "production that includes a test, a library outside its adapter and an OS header in a pure module are named" {
  for pair in 'libloom/os/a.cc "test/support/x.h"' 'libloom/policy/a.cc <nlohmann/json.hpp>' 'helper/a.cc <boost/asio.hpp>' \
    'libloom/cli/a.h <CLI/App.hpp>' 'libloom/broker/a.cc <gtest/gtest.h>' 'libloom/wire/a.cc <unistd.h>' \
    'libloom/plan/a.h <sys/stat.h>' 'libloom/policy/a.cc <fstream>' 'helper/serve_core.cc <poll.h>'; do
    tree_with "${pair%% *}" "${pair#* }"
    is 1
    answers "${pair%% *}:1: "
  done
}

@test "the tree itself follows the layers" {
  try "$TREE/scripts/check-layers" "$TREE"
  is 0
}

# A tool that knows the flags $1 and a page that explains the flags $2.
flags_and_page() {
  rm -rf "${BATS_TEST_TMPDIR:?}/bin" "${BATS_TEST_TMPDIR:?}/man"
  mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/man"
  {
    echo '#!/bin/sh'
    echo 'echo "usage: loom-x [flags]"'
    for flag in $1; do echo "echo '  --$flag  something'"; done
    echo "echo '  loom-x --in-an-example'; echo 'see loom-x(1)'"
  } >"$BATS_TEST_TMPDIR/bin/loom-x"
  chmod 755 "$BATS_TEST_TMPDIR/bin/loom-x"
  for flag in $2; do echo ".It Fl -$flag Ar VALUE"; done >"$BATS_TEST_TMPDIR/man/loom-x.1"
  try "$TREE/scripts/check-flags" "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/man"
}

@test "flags and pages that agree pass, and a flag on one side alone is named" {
  flags_and_page "one two-words" "two-words one"
  is 0
  flags_and_page "one two" "one"
  is 1
  answers "--two of loom-x --help is not explained"
  flags_and_page "one" "one two"
  is 1
  answers "--two is explained, but loom-x --help does not know it"
}

@test "the set-up of a machine does nothing and says nothing where nothing is missing" {
  command -v dpkg-query >/dev/null || skip "no Debian"
  # Every package there is, and an apt-get that must not be called.
  mkdir "$BATS_TEST_TMPDIR/path"
  sed -nE 's/^[a-z]+="(.*)"$/\1/p' "$TREE/scripts/deps" | tr ' ' '\n' | sed 's/$/ installed/' >"$BATS_TEST_TMPDIR/installed"
  printf '#!/bin/sh\ncat %s\n' "$BATS_TEST_TMPDIR/installed" >"$BATS_TEST_TMPDIR/path/dpkg-query"
  printf '#!/bin/sh\ntouch %s\n' "$BATS_TEST_TMPDIR/called" >"$BATS_TEST_TMPDIR/path/apt-get"
  chmod 755 "$BATS_TEST_TMPDIR"/path/*
  PATH=$BATS_TEST_TMPDIR/path:$PATH try "$TREE/scripts/deps"
  is 0
  silent
  [ ! -e "$BATS_TEST_TMPDIR/called" ]
}

@test "the set-up of a machine installs what is missing, and only that" {
  command -v dpkg-query >/dev/null || skip "no Debian"
  skip_unless_root
  mkdir "$BATS_TEST_TMPDIR/path"
  sed -nE 's/^[a-z]+="(.*)"$/\1/p' "$TREE/scripts/deps" | tr ' ' '\n' | grep -vx jq | sed 's/$/ installed/' >"$BATS_TEST_TMPDIR/installed"
  printf '#!/bin/sh\ncat %s\n' "$BATS_TEST_TMPDIR/installed" >"$BATS_TEST_TMPDIR/path/dpkg-query"
  printf '#!/bin/sh\necho "$*" >>%s\n' "$BATS_TEST_TMPDIR/called" >"$BATS_TEST_TMPDIR/path/apt-get"
  chmod 755 "$BATS_TEST_TMPDIR"/path/*
  PATH=$BATS_TEST_TMPDIR/path:$PATH try "$TREE/scripts/deps" test
  is 0
  says "installing: jq"
  grep -q ' install jq$' "$BATS_TEST_TMPDIR/called"
}

@test "loom-enforcement(7) has a place for every layer that a report can name" {
  local layer missing=
  while read -r layer; do
    grep -qE "\b$layer\b" "$TREE/man/loom-enforcement.7" || missing+=" $layer"
  done < <(sed -nE 's/^inline constexpr std::string_view k[A-Za-z0-9]+ = "([a-z0-9-]+)";.*/\1/p' "$TREE/libloom/plan/report.h")
  [ -z "$missing" ] || { echo "not in loom-enforcement(7):$missing" >&2; return 1; }
}

@test "loom-enforcement(7) tells every check of the doctor's remedies a reason, by a layer or a heading" {
  for word in max_user_namespaces unprivileged_userns_clone apparmor_restrict cgroup.subtree_control 'lsm=' bwrap; do
    grep -qF -- "$word" "$TREE/man/loom-enforcement.7" || { echo "not in loom-enforcement(7): $word" >&2; return 1; }
  done
}

@test "every tool has completions for bash, zsh and fish, with every verb that its help lists" {
  "$TREE/scripts/completions" "$BIN" "$BATS_TEST_TMPDIR/share"
  tools=0
  for tool in "$BIN"/loom-*; do
    name=$(basename "$tool")
    for file in "bash-completion/completions/$name" "zsh/site-functions/_$name" "fish/vendor_completions.d/$name.fish"; do
      [ -s "$BATS_TEST_TMPDIR/share/$file" ]
    done
    bash -n "$BATS_TEST_TMPDIR/share/bash-completion/completions/$name"
    # Each verb has a help of its own.
    [ "$(grep -c "words='.*--help" "$BATS_TEST_TMPDIR/share/bash-completion/completions/$name")" -gt 3 ]
    for verb in $("$tool" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'); do
      grep -qw -e "$verb" "$BATS_TEST_TMPDIR/share/bash-completion/completions/$name" || { echo "$name: no $verb" >&2; return 1; }
    done
    tools=$((tools + 1))
  done
  [ "$tools" = 5 ]
}
