#!/bin/sh
# A day's work with git in the current directory, one command a line: "NAME STATUS" for each on stdout, what they say on
# stderr. usage: sh git_session.sh PLACE     PLACE: repository, worktree, submodule
# Run on the host and in a jail on copies of one tree, the two lists differ in what the jail keeps from git.
# shellcheck disable=SC2016
place=$1
export GIT_EDITOR=true GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
t() {
  name=$1
  shift
  "$@" >"$said" 2>&1 </dev/null
  code=$?
  echo "$name $([ $code = 0 ] && echo ok || echo fails)"
  [ $code = 0 ] || { echo "--- $place: $* ($code)"; cat "$said"; } >&2
}
put() { echo "$2" >"$1"; }
said=$(mktemp)
[ -n "$(git branch --show-current)" ] || git switch -q main
main=$(git branch --show-current)

t status git status
t status-porcelain git status --porcelain=v2 --branch --ignored
t log git log --stat
t show git show HEAD
t rev-parse git rev-parse HEAD
t ls-files git ls-files -s
t cat-file git cat-file -p HEAD
put f one
t diff git diff
t add git add f
t diff-cached git diff --cached
t commit git commit -qm one
t commit-amend git commit -q --amend -m two
t commit-empty git commit -q --allow-empty -m x
put f three
t commit-all git commit -qam three
put g g
t add-all git add -A
t commit-more git commit -qm g
t mv git mv g h
t rm git rm -q --cached h
t reset git reset -q
t checkout-file git checkout -q -- .
t restore git restore -s HEAD --staged --worktree .
t reset-hard git reset -q --hard
t clean-dry git clean -nd
put junk junk
t clean git clean -fq
t branch git branch topic
t branch-list git branch -a -v
t switch git switch -q topic
put f topic
t commit-topic git commit -qam topic
t switch-create git switch -qc topic2
t switch-back git switch -q "$main"
t checkout-branch git checkout -q topic
t checkout-detach git checkout -q --detach
t checkout-back git checkout -q "$main"
put k k
git add k && git commit -qm k
t merge git merge -q --no-edit topic
t merge-base git merge-base topic HEAD
t rebase git rebase -q topic2
t rebase-interactive git -c sequence.editor=true rebase -q -i HEAD~2
git switch -q topic2 && put c c && git add c && git commit -qm c && git switch -q "$main"
t cherry-pick git cherry-pick topic2
t revert git revert --no-edit HEAD
put f stash
t stash git stash -q
t stash-list git stash list
t stash-pop git stash pop -q
put untracked u
t stash-untracked git stash -q -u
t stash-apply git stash apply -q
t stash-drop git stash drop -q
git add -A && git commit -qm more
t tag git tag v1
t tag-annotated git tag -a v2 -m v2
t tag-delete git tag -d v1
t describe git describe
t notes git notes add -m note
t blame git blame f
t grep git grep -q -e k
t shortlog git shortlog -s HEAD
t reflog git reflog
t bisect sh -c 'git bisect start HEAD HEAD~3 && git bisect run true && git bisect reset'
t format-patch git format-patch -q -1 -o patches
t am sh -c 'git reset -q --hard HEAD~1 && git am -q patches/*.patch'
t apply sh -c 'git show --format= HEAD | git apply -R'
t checkout-index git checkout-index -f -a
t update-index git update-index --refresh
t archive git archive -o tree.tar HEAD
t bundle git bundle create -q all.bundle --all
t rev-list git rev-list --all --objects
t for-each-ref git for-each-ref
t update-ref git update-ref refs/heads/made HEAD
t symbolic-ref git symbolic-ref HEAD
t pack-refs git pack-refs --all
t repack git repack -qad
t gc git gc -q
t prune git prune
t fsck git fsck
t commit-graph git commit-graph write
t multi-pack-index git multi-pack-index write
t maintenance git maintenance run --quiet
t ls-remote git ls-remote origin
t fetch git fetch -q origin
t fetch-tags git fetch -q --tags
t pull git pull -q --no-rebase --no-edit origin main
t push git push -q origin "HEAD:refs/heads/pushed-$place"
t push-tag git push -q origin "HEAD:refs/tags/$place"
t push-delete git push -q origin --delete "pushed-$place"
t remote-list git remote -v
t remote-show git remote show origin
t config-list git config --list
t hook-run git hook run --ignore-missing pre-commit
t worktree-list git worktree list
t worktree-add git worktree add -q made-tree -b made-branch
t worktree-commit git -C made-tree commit -q --allow-empty -m x
t worktree-lock git worktree lock made-tree
t worktree-unlock git worktree unlock made-tree
t worktree-move git worktree move made-tree moved-tree
t worktree-remove sh -c 'git worktree remove --force moved-tree 2>/dev/null || git worktree remove --force made-tree'
t worktree-prune git worktree prune -v
t submodule-status git submodule status
t submodule-foreach git submodule foreach --quiet true
t submodule-update git submodule update
t clone git clone -q . cloned
t init git init -q made-repository
rm -rf cloned made-repository patches

t branch-delete git branch -q -D topic
t branch-rename git branch -m topic2 topic3
t config git config user.nickname tester
t remote-add git remote add other /nowhere
t remote-set-url git remote set-url origin /nowhere
t remote-remove git remote remove origin
t branch-upstream sh -c 'git branch -u made && test "$(git config "branch.$(git branch --show-current).merge")" = refs/heads/made'
t submodule-init sh -c 'git submodule deinit -q -f --all && git submodule update -q --init'
t sparse-checkout sh -c 'git reset -q --hard && git sparse-checkout set --no-cone f'
t maintenance-register git maintenance register
t init-again git init -q
t hook-install sh -c 'echo "#!/bin/sh" >"$(git rev-parse --git-path hooks)/pre-commit"'
