"""loom-exec by itself: `run` in all the ways it can end, and one `serve` over many executions (test/leaks/run)."""
import json
import os
import resource
import signal
import subprocess
import threading

WORKERS = 2


def drain(process):
    return process.stdout.read()


def wait_ready(process):
    line = process.stdout.readline()
    if line != b"ready\n":
        raise RuntimeError(f"want ready, got {line!r}")


# Each kind: the flags of run, the command, what is done to the run once its command is ready, and the statuses it may leave.
def send(number):
    def deed(process):
        wait_ready(process)
        process.send_signal(number)
    return deed


def twice(process):
    wait_ready(process)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)


def close_stdout(process):
    wait_ready(process)
    process.stdout.close()


SLEEPER = "echo ready; exec sleep 900"
KINDS = {
    "ok": ([], ["true"], None, [0]),
    "failing": ([], ["sh", "-c", "echo out; echo err >&2; exit 3"], None, [3]),
    "signalled": ([], ["sh", "-c", "kill -SEGV $$"], None, [139]),
    "much output": ([], ["sh", "-c", "head -c 3000000 /dev/zero"], None, [0]),
    "files made and removed": ([], ["sh", "-c", "mkdir d && echo x >d/f && mv d e && rm -r e; echo t >$LOOM_SCRATCH_DIR/t"], None, [0]),
    "git": ([], ["git", "status", "--porcelain"], None, [0]),
    "a host view": (["--grant", "readable_root=/usr/share"], ["ls", "/usr/share"], None, [0]),
    "timed out": (["--timeout", "150ms"], ["sleep", "900"], None, [124, 125]),
    "cancelled": ([], ["sh", "-c", SLEEPER], send(signal.SIGTERM), [143]),
    "interrupted": ([], ["sh", "-c", "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done"], send(signal.SIGINT), [143]),
    "signalled twice": ([], ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"], twice, [130, 143]),
    "its reader gone": ([], ["sh", "-c", "echo ready; yes"], close_stdout, [141]),
    "helper killed": ([], ["sh", "-c", "setsid sleep 900 & " + SLEEPER], send(signal.SIGKILL), [-9]),
    "refused policy": (["--policy", "/dev/null"], ["true"], None, [125]),
    "refused demand": (["--grant", "limit.mem_bytes=99999999999999"], ["true"], None, [0, 125]),
    "refused directory": (["--cwd", "/root/none"], ["true"], None, [125]),
    "usage": (["--cgroup-bas", "/x"], ["true"], None, [125]),
    "not found": ([], ["no-such-program"], None, [127]),
    "a directory": ([], ["/usr"], None, [126]),
    "no interpreter": ([], ["./bad-interpreter"], None, [127]),
    "background children": ([], ["sh", "-c", "setsid sleep 900 & sleep 900 & exit 5"], None, [5]),
    "deaf children": ([], ["sh", "-c", "setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' >/dev/null 2>&1 & exit 6"], None, [6]),
    "a storm": (["--grant", "limit.pids=30"], ["sh", "-c", "(f() { f | f & }; f) 2>/dev/null; exit 4"], None, [4]),
}
SLOW = {"a storm", "deaf children"}


def run_one(world, kind):
    flags, command, deed, statuses = KINDS[kind]
    process = subprocess.Popen([world.bin + "/loom-exec", "run", "--quiet", *flags, "--", *command], cwd=world.workspace,
                               env=world.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    fault = ""
    try:
        if deed:
            deed(process)
    except (RuntimeError, OSError) as error:
        fault = str(error)
    # Read side by side, so that neither stream holds the run up.
    said = []
    reader = threading.Thread(target=lambda: said.append(process.stderr.read()), daemon=True)
    reader.start()
    if not process.stdout.closed:
        drain(process)
        process.stdout.close()
    reader.join()
    process.stderr.close()
    status = process.wait()
    world.check("run, " + kind, status in statuses and not fault, f"status {status}, {fault} {said}")


def drawn(world, count):
    """Every kind at least once, if there is room; the dear ones seldom."""
    kinds = sorted(KINDS)
    picked = kinds[:count]
    cheap = [k for k in kinds if k not in SLOW]
    while len(picked) < count:
        picked.append(world.random.choice(kinds if world.random.random() < 0.1 else cheap))
    world.random.shuffle(picked)
    return picked


def run_many(world, count):
    todo = drawn(world, count)
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                if not todo:
                    return
                kind = todo.pop()
            run_one(world, kind)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    run_one(world, "ok")  # what a killed helper could not clear away goes when the next one starts


class Channel:
    """One `serve`, played by the built peer. Each frame comes back as a line of JSON."""

    def __init__(self, world):
        policy = world.root + "/tmp/policy"
        with open(policy, "wb") as file:
            subprocess.run([world.bin + "/loom-policy", "default", world.workspace, "--fit"], stdout=file, stderr=subprocess.DEVNULL,
                           check=True, env=world.environment)
        self.peer = subprocess.Popen([world.built + "/test/peers/exec_client", "--policy", policy, world.bin + "/loom-exec", "serve"],
                                     env=world.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=few_descriptors)
        self.seen = set()
        self.ended = False
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.tell("hello")
        self.await_frame("hello", 0)
        self.wait_for("hello", 0)
        os.unlink(policy)

    def read(self):
        for line in self.peer.stdout:
            frame = json.loads(line)
            with self.news:
                self.seen.add((frame.get("kind"), frame.get("id")))
                self.news.notify_all()
        with self.news:
            self.ended = True
            self.news.notify_all()

    def wait_for(self, kind, number):
        with self.news:
            self.news.wait_for(lambda: self.ended or (kind, number) in self.seen)
            if (kind, number) not in self.seen:
                raise RuntimeError("the helper ended")

    def tell(self, line):
        self.peer.stdin.write(line.encode() + b"\n")
        self.peer.stdin.flush()

    def await_frame(self, kind, number):
        self.tell(f"await {kind} {number}")

    def helper(self):
        with open(f"/proc/{self.peer.pid}/task/{self.peer.pid}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    def close(self):
        self.peer.stdin.close()
        self.reader.join()
        self.peer.stdout.close()
        return self.peer.wait()


SERVED = {
    "ok": ("true", "exec_exit"),
    "failing": ("exit 3", "exec_exit"),
    "output": ("head -c 300000 /dev/zero", "exec_exit"),
    "background children": ("setsid sleep 900 & exit 5", "exec_exit"),
    "cancelled": (SLEEPER, "exec_exit"),
    "cancelled at once": ("true", None),
    "bad directory": (None, "error"),
}


def serve_many(world, count):
    channel = Channel(world)
    ids = iter(range(1, 1 << 30))

    def one(kind):
        number = next(ids)
        command, answer = SERVED[kind]
        channel.tell(f"sh {number} {world.workspace if command else '/root/none'} {command or 'true'}")
        if kind == "cancelled":
            channel.tell(f"await-output {number} ready")
        if kind.startswith("cancelled"):
            channel.tell(f"cancel {number}")
        if kind == "output":
            channel.tell(f"credit {number} stdout 400000")
        if answer:
            channel.await_frame(answer, number)
        else:
            channel.tell("quiet 30")
        return kind

    def settle():
        # A last one has been answered when all before it were: then the helper holds nothing but itself.
        number = next(ids)
        channel.tell(f"sh {number} {world.workspace} true")
        channel.await_frame("exec_exit", number)
        channel.wait_for("exec_exit", number)
        # What it held for that one it lets go of in the turn after its last word: that turn is over when it answers again.
        channel.tell(f"send {number} heartbeat {{}}")
        channel.await_frame("heartbeat", number)
        channel.wait_for("heartbeat", number)

    settle()
    before = descriptors(channel.helper())
    done = [one(world.random.choice(sorted(SERVED))) for _ in range(count)]
    settle()
    world.equal("the same descriptors in a helper before and after its executions", before, descriptors(channel.helper()))
    status = channel.close()
    for kind in done:
        world.check("serve, " + kind, status == 0, f"the peer left {status}")


def few_descriptors():
    """An ordinary user may not look into a helper: there one descriptor lost in ten executions ends the rest of them."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def descriptors(pid):
    found = {}
    try:
        open_now = os.listdir(f"/proc/{pid}/fd")
    except PermissionError:
        return found
    for fd in open_now:
        try:
            name = os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0]
        except OSError:
            continue
        found[name] = found.get(name, 0) + 1
    return found


def mix(world, count):
    path = world.workspace + "/bad-interpreter"
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/none/such\n")
    os.chmod(path, 0o755)
    try:
        run_many(world, count - count // 2)
        serve_many(world, count // 2)
    finally:
        os.unlink(path)
