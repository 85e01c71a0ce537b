#!/usr/bin/env bats
# Programs that ask more of the kernel than most, and must work in a jail all the same: tracers, sanitizers, and runtimes with threads
# and children of their own. Every test is run as root and as an ordinary user. What this machine has not is skipped, by name.
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helpers

setup() {
  W=$BATS_TEST_TMPDIR/work
  mkdir "$W"
  cd "$W" || return
}

run_in() { try "$BIN/loom-exec" run --quiet --workspace "$W" --demand full "$@"; }

# inside PROGRAM: whether a jail has it; skips the test when not.
inside() {
  "$BIN/loom-exec" run --quiet --workspace "$W" -- sh -c 'command -v "$1"' sh "$1" >/dev/null 2>&1 || skip "no $1 in /usr or /opt here"
}

# compiled NAME FLAG...: the C program on stdin.
compiled() {
  local name=$1
  shift
  gcc -g -O0 -x c -o "$name" - "$@" 2>"$BATS_TEST_TMPDIR/gcc" || skip "gcc $* does not work here: $(head -1 "$BATS_TEST_TMPDIR/gcc")"
}

@test "strace follows a program and its children" {
  inside strace
  run_in -- strace -f -o trace -e trace=execve,openat sh -c 'sh -c "cat /etc/passwd >/dev/null"; exit 3'
  is 3
  [ "$(grep -c execve trace)" -ge 2 ]
  grep -q 'openat.*/etc/passwd' trace
}

@test "strace shows what the jail refuses as the program sees it" {
  inside strace
  run_in -- strace -f -o trace -e trace=unshare unshare -U true
  [ "$status" != 0 ]
  grep -q 'EPERM' trace
}

@test "gdb stops at a breakpoint, shows a crash, and attaches to a running process" {
  inside gdb
  compiled crash <<'END'
#include <unistd.h>
static int depth(int n) { return n == 0 ? *(volatile int*)0 : depth(n - 1); }
int marker = 7731;
int main(int argc, char** argv) { if (argc > 1) for (;;) pause(); return depth(3); }
END
  run_in -- gdb -q -nx -batch -ex 'break depth' -ex run -ex 'print n' -ex delete -ex continue -ex backtrace ./crash
  answers '$1 = 3'
  answers SIGSEGV
  [ "$(grep -c 'in depth\|depth (n=' <<<"$out")" -ge 3 ]
  run_in -- sh -c './crash wait & until [ "$(readlink "/proc/$!/exe")" = "$PWD/crash" ]; do :; done
    gdb -q -nx -batch -p $! -ex "print marker" 2>&1; kill $!'
  answers '$1 = 7731'
}

@test "a leak sanitizer finds a leak, and none where there is none" {
  compiled leaks -fsanitize=leak <<'END'
#include <stdlib.h>
int main(int argc, char** argv) { char* volatile p = malloc(77); if (argc > 1) free(p); p = 0; return 0; }
END
  run_in -- ./leaks
  [ "$status" != 0 ]
  says "77 byte(s)"
  run_in -- ./leaks clean
  is 0
  silent
}

@test "an address sanitizer finds what it looks for" {
  compiled over -fsanitize=address <<'END'
#include <stdlib.h>
int main(void) { char* volatile p = malloc(8); return p[8]; }
END
  run_in -- ./over
  [ "$status" != 0 ]
  says heap-buffer-overflow
}

@test "threads, also of a libc that would rather use clone3" {
  compiled threads -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
static void* add(void* p) { __atomic_fetch_add((int*)p, 1, __ATOMIC_SEQ_CST); return 0; }
int main(void) {
  static int sum; pthread_t t[50];
  for (int i = 0; i < 50; ++i) if (pthread_create(&t[i], 0, add, &sum) != 0) return 1;
  for (int i = 0; i < 50; ++i) pthread_join(t[i], 0);
  printf("%d\n", sum); return 0; }
END
  run_in -- ./threads
  is 0
  [ "$out" = 50 ]
}

@test "python: children, threads, processes with shared memory, temporary files, local sockets" {
  inside python3
  run_in -- python3 -c '
import asyncio, multiprocessing, os, socket, sqlite3, subprocess, tempfile, threading
def square(n): return n * n
if __name__ == "__main__":
    print(subprocess.run(["echo", "child"], capture_output=True, text=True, check=True).stdout.strip())
    with multiprocessing.Pool(3) as pool: print(pool.map(square, range(4)))
    queue = multiprocessing.Queue(); p = multiprocessing.Process(target=queue.put, args=(7,)); p.start(); print(queue.get()); p.join()
    done = []; t = [threading.Thread(target=done.append, args=(i,)) for i in range(20)]; [x.start() for x in t]; [x.join() for x in t]; print(len(done))
    with tempfile.NamedTemporaryFile() as f: f.write(b"x"); f.flush(); print(os.path.getsize(f.name))
    a, b = socket.socketpair(); a.send(b"hi"); print(b.recv(2).decode())
    async def both():
        p = await asyncio.create_subprocess_exec("true"); return await p.wait()
    print(asyncio.run(both()))
    db = sqlite3.connect("db"); db.execute("create table t (n)"); db.execute("insert into t values (5)"); db.commit(); print(db.execute("select n from t").fetchone()[0])'
  is 0
  [ "$out" = "$(printf 'child\n[0, 1, 4, 9]\n7\n20\n1\nhi\n0\n5')" ]
}

@test "node: workers, children, files, a watcher, a local server" {
  inside node
  cat >main.js <<'END'
const { Worker, isMainThread, parentPort } = require('worker_threads');
const { execFileSync } = require('child_process');
const fs = require('fs'), net = require('net');
if (!isMainThread) { parentPort.postMessage(6 * 7); return; }
(async () => {
  console.log(execFileSync('echo', ['child']).toString().trim());
  console.log(await new Promise(r => new Worker(__filename).on('message', r)));
  await fs.promises.writeFile('made', 'text');
  console.log(await fs.promises.readFile('made', 'utf8'));
  const seen = new Promise(r => { const w = fs.watch('.', (e, f) => { if (f === 'watched') { w.close(); r(f); } }); });
  fs.writeFileSync('watched', '');
  console.log(await seen);
  const server = net.createServer(s => s.end('served')).listen('./sock');
  console.log(await new Promise(r => net.connect('./sock').on('data', d => r(d.toString()))));
  server.close();
})();
END
  run_in -- node main.js
  is 0
  [ "$out" = "$(printf 'child\n42\ntext\nwatched\nserved')" ]
}

@test "go: goroutines on many threads, a child, files" {
  command -v go >/dev/null || skip "no go here (golang-go)"
  cat >main.go <<'END'
package main

import ("fmt"; "os"; "os/exec"; "runtime"; "sync")

func main() {
	var wait sync.WaitGroup
	var lock sync.Mutex
	sum := 0
	for i := 0; i < 100; i++ {
		wait.Add(1)
		go func() { runtime.LockOSThread(); lock.Lock(); sum++; lock.Unlock(); wait.Done() }()
	}
	wait.Wait()
	out, err := exec.Command("echo", "child").Output()
	fmt.Print(sum, " ", string(out), err == nil, " ")
	fmt.Println(os.WriteFile("made", []byte("x"), 0644) == nil)
}
END
  HOME=$BATS_TEST_TMPDIR GOFLAGS=-mod=mod GO111MODULE=off go build -o main main.go || skip "go does not build here"
  run_in -- ./main
  is 0
  [ "$out" = "$(printf '100 child\ntrue true')" ]
}

@test "rust: threads, a child, files" {
  rustc --version >/dev/null 2>&1 || skip "no rustc here"
  cat >main.rs <<'END'
use std::{fs, process::Command, thread};
fn main() {
    let all: Vec<_> = (0..50).map(|i| thread::spawn(move || i)).collect();
    let sum: i32 = all.into_iter().map(|t| t.join().unwrap()).sum();
    let child = Command::new("echo").arg("child").output().unwrap();
    fs::write("made", "x").unwrap();
    println!("{} {} {}", sum, String::from_utf8_lossy(&child.stdout).trim(), fs::read_to_string("made").unwrap());
}
END
  rustc -o main main.rs 2>/dev/null || skip "rustc does not build here"
  run_in -- ./main
  is 0
  [ "$out" = "1225 child x" ]
}
