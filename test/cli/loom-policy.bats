#!/usr/bin/env bats
# loom-policy: each verb on files and on standard input; policy-fixtures/ is the contract.

load helpers

FIXTURES=$TREE/policy-fixtures

# from_hex FILE: the bytes that a .hex fixture writes in hex digits.
from_hex() { tr -d '\n' <"$1" | sed 's/../\\x&/g' | { read -r escaped; printf '%b' "$escaped"; }; }

# document FIXTURE: a file with the fixture's bytes.
document() {
  case $1 in
    *.hex)
      from_hex "$1" >"$BATS_TEST_TMPDIR/document"
      echo "$BATS_TEST_TMPDIR/document"
      ;;
    *) echo "$1" ;;
  esac
}

# A workspace with a repository in $W.
workspace() {
  W=$BATS_TEST_TMPDIR/ws
  make_repository "$W"
}

@test "every valid fixture checks, and converts to msgpack and back without changing its digest" {
  for fixture in "$FIXTURES"/valid/*; do
    file=$(document "$fixture")
    try "$BIN/loom-policy" check "$file"
    is 0
    silent
    [ "$out" = valid ]
    want=$("$BIN/loom-policy" digest "$file")
    [[ $want =~ ^[0-9a-f]{64}$ ]]
    [ "$("$BIN/loom-policy" convert --to msgpack "$file" | "$BIN/loom-policy" digest -)" = "$want" ]
    case $fixture in
      *not_utf8*) ;;
      *) [ "$("$BIN/loom-policy" convert --to json "$file" | "$BIN/loom-policy" digest -)" = "$want" ] ;;
    esac
  done
}

@test "every invalid fixture is refused with its code and place, status 1" {
  for expected in "$FIXTURES"/invalid/*.error; do
    fixture=${expected%.error}.json
    [ -e "$fixture" ] || fixture=${expected%.error}.hex
    read -r code where <"$expected" || true
    try "$BIN/loom-policy" check --json "$(document "$fixture")"
    is 1
    json ".ok == false and .errors[0].code == \"$code\""
    json ".errors[0].where | endswith(\"$where\")"
    try "$BIN/loom-policy" check "$(document "$fixture")"
    is 1
    [ -z "$out" ]
    says "loom-policy: "
    says "$where"
  done
}

@test "every compose fixture gives its policy and its narrowings" {
  for fixture in "$FIXTURES"/compose/*; do
    grants=()
    while read -r grant; do grants+=(--grant "$grant"); done <"$fixture/grants.txt"
    try "$BIN/loom-policy" compose --base "$fixture/base.json" --require "$fixture/require.json" "${grants[@]}" --json
    is 0
    silent
    json '.ok'
    jq -S .policy <<<"$out" | diff - <(jq -S . "$fixture/expected.json")
    jq -S .narrowings <<<"$out" | diff - <(jq -S . "$fixture/narrowings.json")
    [ "$(jq -r .digest <<<"$out")" = "$("$BIN/loom-policy" digest "$fixture/expected.json")" ]
  done
}

@test "compose answers with the policy alone and says the narrowings on stderr" {
  f=$FIXTURES/compose/two_roots_inside_the_one_asked_for
  try "$BIN/loom-policy" compose --base "$f/base.json" --require "$f/require.json"
  is 0
  [ "$("$BIN/loom-policy" digest - <<<"$out")" = "$("$BIN/loom-policy" digest "$f/expected.json")" ]
  says 'narrowed: writable_root: wanted /ws, granted ["/ws/a","/ws/b"]'
  says 'hint: what is missing would be given by --grant writable_root=/ws'
}

@test "compose --refuse-narrowed gives no policy and names the wanted grants" {
  f=$FIXTURES/compose/two_roots_inside_the_one_asked_for
  try "$BIN/loom-policy" compose --base "$f/base.json" --require "$f/require.json" --refuse-narrowed
  is 1
  [ -z "$out" ]
  says "refused"
  try "$BIN/loom-policy" compose --base "$f/base.json" --require "$f/require.json" --refuse-narrowed --json
  is 1
  json '.ok == false and .errors[0].code == "policy_refused"'
  json '.wanted == [{"kind": "writable_root", "value": "/ws"}]'
  try "$BIN/loom-policy" compose --base "$f/base.json" --require "$f/require.json" --refuse-narrowed --grant writable_root=/ws
  is 0
  silent
}

@test "compose refuses a composed policy that contradicts itself" {
  jq '.mounts = [{"path": "/run/x", "access": "ro", "required": true}]' "$FIXTURES/valid/nothing_at_all.json" >"$BATS_TEST_TMPDIR/base"
  jq '.protected = ["/run"]' "$FIXTURES/valid/nothing_at_all.json" >"$BATS_TEST_TMPDIR/require"
  jq '.mounts = [{"path": "/run/x", "access": "ro", "required": true}]' "$FIXTURES/valid/nothing_at_all.json" >"$BATS_TEST_TMPDIR/both"
  try "$BIN/loom-policy" compose --base "$BATS_TEST_TMPDIR/base" --require "$BATS_TEST_TMPDIR/require"
  is 0
  jq '.protected = ["/run"]' "$FIXTURES/valid/nothing_at_all.json" >"$BATS_TEST_TMPDIR/base"
  try "$BIN/loom-policy" compose --base "$BATS_TEST_TMPDIR/both" --require "$BATS_TEST_TMPDIR/both"
  is 0
  try "$BIN/loom-policy" compose --base "$FIXTURES/valid/a_workspace.json" --require "$FIXTURES/valid/a_workspace.json" --grant scratch=/
  is 1
  says "the composed policy: /scratch"
}

@test "a grant that is none, a missing file and two readers of standard input are usage errors" {
  f=$FIXTURES/valid/a_workspace.json
  for grant in mount=/x env network=off limit.pids=many writable_root=ws; do
    try "$BIN/loom-policy" compose --base "$f" --require "$f" --grant "$grant"
    is 2
    [ -z "$out" ]
    says "loom-policy: "
  done
  try "$BIN/loom-policy" compose --base "$f"
  is 2
  says "--require"
  try "$BIN/loom-policy" compose --base - --require -
  is 2
  says "standard input"
  try "$BIN/loom-policy" check "$BATS_TEST_TMPDIR/none"
  is 2
  says "$BATS_TEST_TMPDIR/none: cannot open: No such file or directory"
  try "$BIN/loom-policy" check "$BATS_TEST_TMPDIR"
  is 2
  says "Is a directory"
  try "$BIN/loom-policy" convert --to yaml "$f"
  is 2
  says "--to"
  try "$BIN/loom-policy" convert "$f"
  is 2
}

@test "an error names tool, file, place and reason on one line" {
  try "$BIN/loom-policy" check "$FIXTURES/invalid/a_limit_as_text.json"
  is 1
  [ "$err" = "loom-policy: $FIXTURES/invalid/a_limit_as_text.json: /limits/pids: wrong type: want integer, got \"many\"" ]
}

@test "a document over one mebibyte is refused as such" {
  head -c 1048577 /dev/zero | tr '\0' ' ' >"$BATS_TEST_TMPDIR/big"
  try "$BIN/loom-policy" check --json "$BATS_TEST_TMPDIR/big"
  is 1
  json '.errors[0].code == "document_too_large"'
}

@test "version 2 is upgraded by convert and read by nothing else" {
  jq 'del(.frozen) | .v = 2 | .readable_roots = ["/ws", "/ws/vendor"]' "$FIXTURES/valid/a_workspace.json" >"$BATS_TEST_TMPDIR/old"
  try "$BIN/loom-policy" check "$BATS_TEST_TMPDIR/old"
  is 1
  says "unsupported version 2: this build reads version 3"
  says "hint: loom-policy convert"
  try "$BIN/loom-policy" convert --to json --json "$BATS_TEST_TMPDIR/old"
  is 0
  json '.v == 3 and .frozen == ["/ws/vendor"] and .readable_roots == ["/ws"]'
}

@test "a path that is not UTF-8 is kept in msgpack and refused in JSON" {
  file=$(document "$FIXTURES/valid/a_path_that_is_not_utf8.hex")
  try "$BIN/loom-policy" convert --to json "$file"
  is 1
  [ -z "$out" ]
  says "not UTF-8"
  "$BIN/loom-policy" convert --to msgpack "$file" | cmp - "$file"
}

@test "default prints a valid policy of the workspace that freezes what would run later" {
  workspace
  try "$BIN/loom-policy" default "$W" --json
  is 0
  silent
  json ".writable_roots == [\"$W\"] and .readable_roots == [\"$W\"]"
  json '.network == {"mode": "off"} and .scratch == "tmpfs" and .env_allow == ["PATH", "HOME", "LANG", "TERM"]'
  json '.limits == {"cpu_s": 300, "wall_s": 600, "mem_bytes": 2147483648, "pids": 512, "fsize_bytes": 1073741824, "output_bytes": 4194304}'
  for entry in .git/hooks .git/config .git/commondir .vscode .idea .envrc .husky; do json "any(.frozen[]; . == \"$W/$entry\")"; done
  "$BIN/loom-policy" check - <<<"$out"
}

@test "default takes a relative directory and one through a link, and names what they mean" {
  workspace
  ln -s ws "$BATS_TEST_TMPDIR/link"
  cd "$BATS_TEST_TMPDIR"
  [ "$("$BIN/loom-policy" default link | "$BIN/loom-policy" digest -)" = "$("$BIN/loom-policy" default "$W" | "$BIN/loom-policy" digest -)" ]
  [ "$("$BIN/loom-policy" default ws/. --msgpack | "$BIN/loom-policy" digest -)" = "$("$BIN/loom-policy" default "$W" | "$BIN/loom-policy" digest -)" ]
}

@test "default --git-config=writable leaves the config out and nothing else" {
  workspace
  "$BIN/loom-policy" default "$W" --json >"$BATS_TEST_TMPDIR/frozen"
  try "$BIN/loom-policy" default --git-config=writable "$W" --json
  is 0
  [ "$(jq -c '.frozen' <<<"$out")" = "$(jq -c ".frozen - [\"$W/.git/config\"]" "$BATS_TEST_TMPDIR/frozen")" ]
  try "$BIN/loom-policy" default --git-config=frozen "$W"
  is 2
}

@test "default in a git worktree opens the repository it belongs to and freezes what it runs" {
  workspace
  git -C "$W" worktree add -q "$BATS_TEST_TMPDIR/tree"
  try "$BIN/loom-policy" default "$BATS_TEST_TMPDIR/tree" --json
  is 0
  silent
  json ".writable_roots == [\"$BATS_TEST_TMPDIR/tree\", \"$W/.git\"]"
  for entry in hooks config worktrees/tree/gitdir worktrees/tree/commondir; do json "any(.frozen[]; . == \"$W/.git/$entry\")"; done
  json "any(.frozen[]; . == \"$BATS_TEST_TMPDIR/tree/.git\")"
}

@test "a forged worktree pointer opens nothing and is said" {
  workspace
  git -C "$W" worktree add -q "$BATS_TEST_TMPDIR/tree"
  mkdir "$BATS_TEST_TMPDIR/forged"
  cp "$BATS_TEST_TMPDIR/tree/.git" "$BATS_TEST_TMPDIR/forged/.git"
  try "$BIN/loom-policy" default "$BATS_TEST_TMPDIR/forged" --json
  is 0
  says "does not point back"
  json ".writable_roots == [\"$BATS_TEST_TMPDIR/forged\"]"
}

@test "default looks at hostile files without hanging" {
  mkdir -p "$BATS_TEST_TMPDIR/ws/.git/modules"
  mkfifo "$BATS_TEST_TMPDIR/ws/.git/config" "$BATS_TEST_TMPDIR/ws/.envrc"
  ln -s / "$BATS_TEST_TMPDIR/ws/.git/modules/root"
  ln -s /dev/zero "$BATS_TEST_TMPDIR/ws/.git/config.worktree"
  try timeout 20 "$BIN/loom-policy" default "$BATS_TEST_TMPDIR/ws" --json
  is 0
  json ".frozen | all(startswith(\"$BATS_TEST_TMPDIR/ws/\"))"
}

@test "default of what is no directory is an unreadable input" {
  touch "$BATS_TEST_TMPDIR/file"
  try "$BIN/loom-policy" default "$BATS_TEST_TMPDIR/file"
  is 2
  says "not a directory"
  try "$BIN/loom-policy" default "$BATS_TEST_TMPDIR/none"
  is 2
  says "no such directory"
  try "$BIN/loom-policy" default /
  is 2
  says "the whole host is no workspace"
}

@test "default --fit leaves out a ceiling that the helper here cannot hold, and says which and why" {
  workspace
  try "$BIN/loom-policy" default "$W" --fit --json
  is 0
  if jq -e '.limits.mem_bytes == 0' >/dev/null <<<"$out"; then says "mem_bytes=2147483648 is not enforced here"; else silent; fi
  json '.limits.wall_s == 600'
}

@test "default --fit without a helper to ask says so and fits nothing" {
  workspace
  LOOM_EXEC_HELPER=$BATS_TEST_TMPDIR/none try "$BIN/loom-policy" default "$W" --fit
  is 2
  [ -z "$out" ]
  says "$BATS_TEST_TMPDIR/none"
}

@test "explain tells the plan in order with the entry that asked for each line" {
  workspace
  "$BIN/loom-policy" default "$W" >"$BATS_TEST_TMPDIR/p"
  try "$BIN/loom-policy" explain "$BATS_TEST_TMPDIR/p"
  is 0
  answers $'WHAT\tACCESS\tWHERE\tASKED FOR BY\tNOTE'
  answers $'writable\trw\t'"$W"$'\twritable_roots[0]'
  answers $'pin\trw\t'"$W/.git"$'\tfrozen[0]'
  answers $'frozen\tro\t'"$W/.git/hooks"$'\tfrozen[0]'
  [[ ${out%%$'frozen\tro'*} == *$'writable\trw'* ]]
}

@test "explain tells which layers this host would enforce" {
  workspace
  "$BIN/loom-policy" default "$W" >"$BATS_TEST_TMPDIR/p"
  try "$BIN/loom-policy" explain --json "$BATS_TEST_TMPDIR/p"
  is 0
  silent
  json '.ok and (.plan | length > 3)'
  json 'any(.layers[]; .layer == "seccomp-base")'
  json '.layers | all(.state == "enforced" or .state == "skipped" or .state == "not asked for")'
}

@test "explain without a helper tells the plan and says that the layers are not known" {
  try env LOOM_EXEC_HELPER="$BATS_TEST_TMPDIR/none" "$BIN/loom-policy" explain --json "$FIXTURES/valid/nothing_at_all.json"
  is 0
  says "layers"
  json '.layers == null and (.plan | length > 0)'
}

@test "explain --path names the access and the entry that decides" {
  workspace
  mkdir "$W/secret"
  "$BIN/loom-policy" default "$W" | jq ".protected = [\"$W/secret\"]" >"$BATS_TEST_TMPDIR/p"
  at() {
    try "$BIN/loom-policy" explain "$BATS_TEST_TMPDIR/p" --json --path "$1"
    is 0
    silent
    json ".access == \"$2\" and .entry == \"$3\""
  }
  at "$W/file" write 'writable_roots[0]'
  at "$W/.git/hooks/pre-commit" read 'frozen[0]'
  at "$W/secret/key" hidden 'protected[0]'
  at /etc/passwd read base
  at /home/nobody none ''
  at "$W//.git/../file/" write 'writable_roots[0]'
  cd "$W"
  at .git/hooks read 'frozen[0]'
}

@test "explain refuses a policy whose plan cannot be carried out" {
  jq '.writable_roots = ["/no/such/place"]' "$FIXTURES/valid/nothing_at_all.json" >"$BATS_TEST_TMPDIR/p"
  try "$BIN/loom-policy" explain --json "$BATS_TEST_TMPDIR/p"
  is 1
  json '.ok == false and .errors[0].code == "missing_path"'
}

@test "diff tells what each side allows that the other does not, status 1 on any" {
  f=$FIXTURES/valid
  try "$BIN/loom-policy" diff "$f/a_workspace.json" "$f/keys_in_another_order.json"
  is 1
  answers $'frozen\t'
  answers $'protected\t/ws/.env'
  answers $'readable_root\t/opt/sdk'
  try "$BIN/loom-policy" diff --json "$f/a_workspace.json" "$f/keys_in_another_order.json"
  is 1
  json '.ok == false and ([.only_b[].kind] | contains(["frozen", "protected"])) and ([.only_a[].kind] | contains(["readable_root", "mount"]))'
  try "$BIN/loom-policy" diff "$f/a_workspace.json" "$f/a_workspace.json"
  is 0
  [ -z "$out" ]
  silent
  try "$BIN/loom-policy" diff --json "$f/a_workspace.json" "$f/a_workspace.json"
  is 0
  json '.ok and .only_a == [] and .only_b == []'
}

@test "names with control bytes are shown escaped" {
  jq '.writable_roots = ["/ws\u001b[2J/../x"]' "$FIXTURES/valid/nothing_at_all.json" >"$BATS_TEST_TMPDIR/p"
  try "$BIN/loom-policy" check "$BATS_TEST_TMPDIR/p"
  is 1
  [[ $err != *$'\e'* ]]
  mkdir "$BATS_TEST_TMPDIR/"$'a\e[2Jb'
  try "$BIN/loom-policy" default "$BATS_TEST_TMPDIR/"$'a\e[2Jb'
  is 0
  [[ $out != *$'\e'* ]]
}

@test "the table of the page is the table of the program" {
  workspace
  mkdir -p "$W/.githooks" "$W/.git/modules/m/hooks" "$W/.git/worktrees/w"
  mkdir -p "$W/.git/modules/m/objects" "$W/.git/worktrees/w/modules/m/"{hooks,objects} "$W/sub"
  touch "$W/.git/modules/m/"{HEAD,commondir,config.worktree} "$W/.git/worktrees/w/modules/m/"{HEAD,commondir,config} "$W/sub/.git"
  git -C "$W" config --file .gitmodules submodule.m.path sub
  touch "$W/.mcp.json" "$W/.git/modules/m/config" "$W/.git/config.worktree" "$W/.git/worktrees/w/"{gitdir,commondir,config.worktree}
  git -C "$W" config core.hooksPath tools/hooks
  git -C "$W" config include.path ../shared
  "$BIN/loom-policy" default "$W" | jq -r '.frozen[]' | sed "s#^$W/##; s#^.git/modules/m/#.git/modules/**/#; s#^.git/worktrees/w/modules/m/#.git/worktrees/*/modules/**/#;
    s#^.git/worktrees/w/#.git/worktrees/*/#; s#^sub/.git\$#submodule.path#;
    s#^tools/hooks\$#core.hooksPath#; s#^shared\$#include.path#" | sort >"$BATS_TEST_TMPDIR/told"
  echo .git >>"$BATS_TEST_TMPDIR/told"
  sed -n '/^\.Ss What workspace_default freezes/,/^\.Ss/ s/^\.It Pa //p' "$TREE/man/loom-policy.5" | sort >"$BATS_TEST_TMPDIR/page"
  sort "$BATS_TEST_TMPDIR/told" | diff - "$BATS_TEST_TMPDIR/page"
}
