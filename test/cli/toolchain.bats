# The tools that people build with work in a jail: the refusal of set-id modes and the pins break none of them
# (spec/jail.md "Started by root", "The plan").

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/ws
  make_repository "$W"
}

jailed() { try "$BIN/loom-exec" run --quiet --workspace "$W" --cwd "$W" -- "$@"; }
needs() { command -v "$1" >/dev/null || skip "no $1 here"; }

@test "tar packs and unpacks, with modes, links and times" {
  mkdir -p "$W/src/deep"
  echo x >"$W/src/deep/f"
  chmod 640 "$W/src/deep/f"
  ln -s deep/f "$W/src/link"
  ln "$W/src/deep/f" "$W/src/hard"
  jailed sh -c 'tar cf a.tar src && mkdir out && tar xpf a.tar -C out && diff -r src out/src && stat -c "%a %h" out/src/deep/f'
  is 0
  answers "640 2"
}

@test "tar of a set-group-id directory unpacks all but that bit, and says so" {
  mkdir -p "$BATS_TEST_TMPDIR/src/shared"
  echo x >"$BATS_TEST_TMPDIR/src/shared/f"
  chmod 2755 "$BATS_TEST_TMPDIR/src/shared"
  tar cf "$W/a.tar" -C "$BATS_TEST_TMPDIR" src
  jailed tar xpf a.tar
  [ "$status" != 0 ]
  says "Operation not permitted"
  [ "$(cat "$W/src/shared/f")" = x ]
  [ ! -g "$W/src/shared" ]
}

@test "make and a compiler build and run a program" {
  needs make
  needs cc
  printf 'int main(void) { return 7; }\n' >"$W/main.c"
  printf 'all: prog\nprog: main.c\n\tcc -o $@ $<\n' >"$W/Makefile"
  jailed sh -c 'make -s -j2 && ./prog'
  is 7
}

@test "a virtual environment of python is made and used" {
  python3 -c 'import venv' 2>/dev/null || skip "no python venv here"
  jailed sh -c 'python3 -m venv --without-pip env && env/bin/python -c "import sys; print(sys.prefix)"'
  is 0
  answers "$W/env"
}

@test "npm installs a local package and runs a script" {
  needs npm
  mkdir "$W/dep"
  echo '{"name": "dep", "version": "1.0.0", "main": "i.js"}' >"$W/dep/package.json"
  echo 'module.exports = 5' >"$W/dep/i.js"
  echo '{"name": "ws", "version": "1.0.0", "scripts": {"go": "node -e \"process.exit(require(\u0027dep\u0027))\""}, "dependencies": {"dep": "file:./dep"}}' >"$W/package.json"
  jailed sh -c 'npm install --offline --no-audit --no-fund --silent && npm run --silent go'
  is 5
}
