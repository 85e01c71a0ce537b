# Git in a jail: what works and what the default keeps from it, in a repository with a remote and a submodule, in a
# worktree and in a submodule; and what a hostile command leaves for the people of the host (spec/jail.md "Git").

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/tree
  export GIT_CONFIG_GLOBAL=$BATS_TEST_TMPDIR/gitconfig GIT_CONFIG_NOSYSTEM=1  # a file: git replaces it when it writes
  : >"$GIT_CONFIG_GLOBAL"
}

identify() { git -C "$1" config user.name Tester && git -C "$1" config user.email tester@example.invalid; }

# A repository with a remote, a submodule and a worktree in $1.
make_tree() {
  mkdir -p "$1"
  make_repository "$1/lib"
  make_repository "$1/repo"
  git -C "$1/lib" config receive.denyCurrentBranch ignore
  git -C "$1/repo" -c protocol.file.allow=always submodule add -q "$1/lib" sub
  git -C "$1/repo" commit -qm second
  identify "$1/repo/sub"
  git init -q --bare -b main "$1/remote.git"
  git -C "$1/repo" remote add origin "$1/remote.git"
  git -C "$1/repo" push -q origin main
  git -C "$1/repo" worktree add -q "$1/wt" -b side
}

# Where the command works, of each of the three places.
directory_of() {
  case $1 in
    repository) echo "$W/repo" ;;
    worktree) echo "$W/wt" ;;
    submodule) echo "$W/repo/sub" ;;
  esac
}

jailed() {
  local at=$1
  shift
  "$BIN/loom-exec" run --quiet --workspace "$at" --cwd "$at" "$@"
}

# session PLACE: the whole list on the host and in a jail, on fresh trees; leaves the two lists.
session() {
  rm -rf "$W"
  make_tree "$W"
  (cd "$(directory_of "$1")" && sh "$TREE/test/support/git_session.sh" "$1") >"$BATS_TEST_TMPDIR/host" 2>"$BATS_TEST_TMPDIR/host.err"
  rm -rf "$W"
  make_tree "$W"
  cp "$TREE/test/support/git_session.sh" "$W/session"
  jailed "$(directory_of "$1")" --grant "writable_root=$W/remote.git" --grant "writable_root=$W/lib" --grant "readable_root=$W/session" \
    -- sh "$W/session" "$1" >"$BATS_TEST_TMPDIR/jail" 2>"$BATS_TEST_TMPDIR/jail.err"
}

# fails_only PLACE NAME...: on the host all works, in the jail all but these.
fails_only() {
  local place=$1
  shift
  session "$place"
  [ "$(wc -l <"$BATS_TEST_TMPDIR/host")" -ge 100 ]
  ! grep ' fails$' "$BATS_TEST_TMPDIR/host" || { cat "$BATS_TEST_TMPDIR/host.err"; return 1; }
  diff <(printf '%s fails\n' "$@") <(grep ' fails$' "$BATS_TEST_TMPDIR/jail") || { cat "$BATS_TEST_TMPDIR/jail.err"; return 1; }
  diff <(cut -d' ' -f1 "$BATS_TEST_TMPDIR/host") <(cut -d' ' -f1 "$BATS_TEST_TMPDIR/jail")
}

@test "in a repository all of git works but what writes its config, its hooks or a pointer" {
  fails_only repository submodule-update branch-rename config remote-add remote-set-url remote-remove branch-upstream submodule-init sparse-checkout \
    maintenance-register init-again hook-install
}

@test "in a worktree likewise" {
  fails_only worktree branch-rename config remote-add remote-set-url remote-remove branch-upstream sparse-checkout \
    maintenance-register init-again hook-install
}

@test "in a submodule likewise" {
  fails_only submodule branch-rename config remote-add remote-set-url remote-remove branch-upstream sparse-checkout \
    maintenance-register init-again hook-install
}

@test "a commit is made in a repository, a worktree and a submodule" {
  make_tree "$W"
  for place in repository worktree submodule; do
    try "$BIN/loom-exec" run --workspace "$(directory_of "$place")" -- git commit --allow-empty -m x
    is 0
    [ "$(git -C "$(directory_of "$place")" log -1 --format=%s)" = x ]
  done
}

# The misdeeds of one execution, each line a way to have the command run "$W/ran" later.
hostile() {
  cat <<EOS
printf '#!/bin/sh\ntouch $W/ran\n' >evil; chmod +x evil
cp evil .git/hooks/post-checkout; mkdir -p .git/hooks; cp evil .git/hooks/pre-commit
git config core.fsmonitor "\$PWD/evil"; git config core.hooksPath "\$PWD"; git config alias.status "!\$PWD/evil"
printf '[core]\n\tfsmonitor = %s/evil\n' "\$PWD" >evil.config
cat evil.config >>.git/config; mv evil.config .git/config; cp evil.config .git/config.worktree
mkdir -p fake && cp -r .git/HEAD fake/ && cp evil.config fake/config; mkdir fake/objects fake/refs fake/hooks; cp evil fake/hooks/pre-commit
echo "\$PWD/fake" >.git/commondir; rm -rf .git/commondir; mv fake/commondir .git/commondir; ln -sf "\$PWD/fake" .git/commondir
for m in .git/modules/* .git/worktrees/*; do
  cat evil.config >>\$m/config; cp evil.config \$m/config; cp evil.config \$m/config.worktree; cp evil \$m/hooks/pre-commit; mkdir \$m/hooks; cp evil \$m/hooks/pre-commit
  rm -rf \$m/commondir; echo "\$PWD/fake" >\$m/commondir; echo "\$PWD/fake/.git" >\$m/gitdir
done
echo "gitdir: \$PWD/fake" >sub/.git; rm -f sub/.git; mv sub/.git x; echo "gitdir: \$PWD/fake" >sub/.git
mv sub away && mkdir sub && cp -r fake sub/.git
mv .git old; mv .git/hooks h; perl -e 'rename ".git/modules", "m"; rename ".git/modules/sub", ".git/modules/s"; rename "sub", "s"'
echo "gitdir: \$PWD/fake" >.git
mkdir -p .vscode .husky .idea; echo x >.envrc
exit 0
EOS
}

@test "after a hostile command nothing of it runs on the host: hooks, config, commondir, worktrees, modules" {
  make_tree "$W"
  rm -rf "$W/repo/.git/modules/sub/hooks"
  chmod 777 "$W"
  read_by_git() { (cd "$W/repo" && find .git/config .git/hooks .git/modules/sub/config .git/worktrees/wt/{commondir,gitdir} sub/.git -type f -exec sha256sum {} + | sort); }
  before=$(read_by_git)
  try jailed "$W/repo" -- sh -c "$(hostile)"
  is 0
  # The witness is one: on the host the same program does what it is for.
  sh "$W/repo/evil"
  [ -e "$W/ran" ]
  rm "$W/ran"
  (cd "$W/repo" && git status && git -C sub status && git commit --allow-empty -qm after && git checkout -q -b other && git -C ../wt status &&
    git -C ../wt commit --allow-empty -qm after && git -C sub commit --allow-empty -qm after) >/dev/null
  [ ! -e "$W/ran" ]
  [ "$(read_by_git)" = "$before" ]
  for name in .vscode .husky .idea .envrc .git/commondir .git/modules/sub/commondir .git/modules/sub/hooks; do [ ! -e "$W/repo/$name" ]; done
}

@test "a forged pointer grants nothing" {
  make_tree "$W"
  make_repository "$W/victim"
  secret=$(git -C "$W/victim" rev-parse HEAD)
  mkdir "$W/ws"
  for pointer in "$W/victim/.git" "../victim/.git" "$W/repo/.git/worktrees/wt" "$W/repo/.git/modules/sub"; do
    echo "gitdir: $pointer" >"$W/ws/.git"
    try "$BIN/loom-policy" default "$W/ws"
    is 0
    [ "$(jq -c .writable_roots <<<"$out")" = "[\"$W/ws\"]" ]
    says "does not point back"
    try jailed "$W/ws" -- git rev-parse HEAD
    is 128
  done
  rm "$W/ws/.git"
  ln -s ../victim/.git "$W/ws/.git"
  try jailed "$W/ws" -- git rev-parse HEAD
  [[ $out != *"$secret"* ]]
}

# A repository of the command's own, led into by the index of the one it works in.
plant_in_index() {
  echo 'git init -q evil; git -C evil config core.fsmonitor "touch /tmp/never"; git -C evil -c user.name=T -c user.email=t@example.invalid commit -q --allow-empty -m x; git add evil'
}

@test "a repository that the index leads into is an event: made and added, and changed later" {
  make_repository "$W/repo"
  try "$BIN/loom-exec" run --quiet --workspace "$W/repo" --report "$BATS_TEST_TMPDIR/r" -- sh -c "$(plant_in_index)"
  is 0
  jq -e --arg d "$W/repo/evil" '.enforcement | index("event:repo-in-index=" + $d)' "$BATS_TEST_TMPDIR/r"
  try "$BIN/loom-exec" run --quiet --workspace "$W/repo" --report "$BATS_TEST_TMPDIR/r" -- git -C evil config core.fsmonitor 'touch /tmp/again'
  is 0
  jq -e --arg d "$W/repo/evil" '.enforcement | index("event:repo-in-index=" + $d)' "$BATS_TEST_TMPDIR/r"
  try "$BIN/loom-exec" run --quiet --workspace "$W/repo" --report "$BATS_TEST_TMPDIR/r" -- true
  is 0
  jq -e '.enforcement | any(startswith("event:repo-in-index")) | not' "$BATS_TEST_TMPDIR/r"
}

@test "an index that cannot be read whole is an event" {
  make_repository "$W/repo"
  try "$BIN/loom-exec" run --quiet --workspace "$W/repo" --report "$BATS_TEST_TMPDIR/r" -- git update-index --split-index
  is 0
  jq -e --arg i "$W/repo/.git/index" '.enforcement | index("event:git-index=unread: " + $i)' "$BATS_TEST_TMPDIR/r"
}
