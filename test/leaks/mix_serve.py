"""The other half: executions through one `loom-broker serve`, by its own clients, in all the ways they can end. The broker
stays for all of them, and what it holds afterwards is what it held before (test/leaks/run)."""
import json
import os
import signal
import subprocess
import threading
import time

WORKERS = 3
PATIENCE = 30.0
SLEEPER = ["sh", "-c", "echo ready; exec sleep 900"]
DEAF = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"]


class Door:
    def __init__(self, world):
        self.world = world
        self.environment = {k: v for k, v in world.environment.items() if not k.startswith("LOOM_") or k == "LOOM_CGROUP_BASE"}
        folder = world.root + "/door"
        os.mkdir(folder, 0o700)
        os.mkdir(folder + "/b", 0o700)
        self.socket = self.environment["LOOM_SOCKET"] = folder + "/b/s"
        self.log = open(folder + "/log", "wb")
        with open(folder + "/base", "wb") as base:
            subprocess.run([world.bin + "/loom-policy", "default", world.workspace, "--fit"], stdout=base, stderr=self.log,
                           env=self.environment, check=True)
        ready, tells = os.pipe()
        self.broker = subprocess.Popen(
            [world.bin + "/loom-broker", "serve", "--base-policy", folder + "/base", "--pool-size", "6", "--per-helper", "3",
             "--ready-fd", str(tells)], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=self.environment,
            pass_fds=[tells])
        os.close(tells)
        with os.fdopen(ready) as line:
            if not line.readline().startswith("ready "):
                raise RuntimeError("the broker does not serve")

    def verb(self, *words):
        return subprocess.run([self.world.bin + "/loom-broker", *words], env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def snapshot(self):
        return json.loads(self.verb("snapshot", "--json").stdout)

    def until(self, holds):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            shown = self.snapshot()
            if holds(shown):
                return shown
        return None

    def call(self, command, flags=(), stdin=subprocess.DEVNULL):
        return subprocess.Popen([self.world.bin + "/loom-broker", "call", "--quiet", *flags, "--", *command],
                                cwd=self.world.workspace, env=self.environment, stdin=stdin, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def held(self):
        """The broker's descriptors beside the three of each helper, when nothing runs."""
        shown = self.until(lambda s: not s["live"] and s["pool"]["lent"] == 0 and s["pool"]["retiring"] == 0)
        if shown is None:
            return "it does not drain"
        looks = []
        for _ in range(20):
            helpers = len(self.snapshot()["pool"]["helpers"])
            try:
                looks.append(len(os.listdir(f"/proc/{self.broker.pid}/fd")) - 3 * helpers)
            except PermissionError:  # a broker shows nothing of itself to an ordinary user
                looks.append(0)
        return {"descriptors": min(looks), **shown["books"]}

    def close(self):
        stopped = self.verb("stop", "--json")
        clean = stopped.returncode == 0 and json.loads(stopped.stdout)["clean"]
        status = self.broker.wait(PATIENCE)
        self.log.close()
        return clean and status == 0


def waits_for_ready(process):
    line = process.stdout.readline()
    if line != b"ready\n":
        raise RuntimeError(f"want ready, got {line!r} {process.stderr.read()!r}")


# Each kind: what it does with the door, and the statuses that its call may leave.
def plain(command, *statuses, flags=()):
    def run(door, _op):
        process = door.call(command, flags)
        err = process.communicate()[1]
        return process.returncode in statuses, f"status {process.returncode} {err}"
    return run


def ended_by(command, deed, *statuses):
    def run(door, op):
        process = door.call(command, ["--op", op])
        try:
            waits_for_ready(process)
            deed(door, process, op)
        except (RuntimeError, OSError, ValueError) as error:
            process.kill()
            process.communicate()
            return False, str(error)
        if process.stdout.closed:
            process.stdout = None
        err = process.communicate()[1]
        return process.returncode in statuses, f"status {process.returncode} {err}"
    return run


def aborts(door, _process, op):
    door.verb("abort", op)


def aborts_step(door, _process, op):
    door.verb("abort-step", op, "1")


def signals(number):
    return lambda _door, process, _op: process.send_signal(number)


def closes_stdout(_door, process, _op):
    process.stdout.close()


def fed(door, _op):
    process = door.call(["sh", "-c", "cat; exit 5"], stdin=subprocess.PIPE)
    out, err = process.communicate(b"x" * 500_000)
    return process.returncode == 5 and len(out) == 500_000, f"status {process.returncode} {len(out)} {err}"


KINDS = {
    "ok": plain(["true"], 0),
    "failing": plain(["sh", "-c", "echo out; echo err >&2; exit 3"], 3),
    "signalled": plain(["sh", "-c", "kill -SEGV $$"], 139),
    "much output": plain(["sh", "-c", "head -c 3000000 /dev/zero"], 0),
    "fed": fed,
    "timed out": plain(["sleep", "900"], 124, 125, flags=["--timeout", "150ms"]),
    "not found": plain(["no-such-program"], 127),
    "refused grant": plain(["true"], 125, flags=["--grant", "network=full"]),
    "refused directory": plain(["true"], 125, flags=["--cwd", "/root/none"]),
    "background children": plain(["sh", "-c", "setsid sleep 900 & sleep 900 & exit 5"], 5),
    "aborted": ended_by(SLEEPER, aborts, 143),
    "its step aborted": ended_by(SLEEPER, aborts_step, 143),
    "interrupted": ended_by(SLEEPER, signals(signal.SIGINT), 143),
    "its caller killed": ended_by(SLEEPER, signals(signal.SIGKILL), -9),
    "its reader gone": ended_by(["sh", "-c", "echo ready; yes"], closes_stdout, 141),
}
SLOW = {"deaf": ended_by(DEAF, aborts, 137)}


def helper_killed(door, _op):
    """By itself: every call on that helper is lost with it."""
    process = door.call(SLEEPER)
    waits_for_ready(process)
    shown = door.snapshot()
    ordinal = shown["live"][0]["helper"]
    os.kill(next(h["pid"] for h in shown["pool"]["helpers"] if h["ordinal"] == ordinal), signal.SIGKILL)
    process.communicate()
    proved = door.until(lambda s: all(h["ordinal"] != ordinal for h in s["pool"]["helpers"]))
    return process.returncode == 123 and proved is not None, f"status {process.returncode}"


def mix(world, count):
    door = Door(world)
    door.call(["true"]).communicate()
    before = door.held()
    alone = max(1, count // 50)
    slow = max(1, count // 100)
    drawn = [world.random.choice(sorted(KINDS)) for _ in range(max(0, count - alone - slow))] + ["deaf"] * slow
    world.random.shuffle(drawn)
    turns = iter(enumerate(drawn))
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                turn = next(turns, None)
            if turn is None:
                return
            number, kind = turn
            good, what = {**KINDS, **SLOW}[kind](door, f"op-{number}")
            world.check("broker, " + kind, good, what)

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(alone):
        good, what = helper_killed(door, f"alone-{number}")
        world.check("broker, helper killed", good, what)
    # What a killed helper left in the workspace is taken away by the next execution there.
    door.call(["true"]).communicate()
    world.equal("what the broker holds, before and after", before, door.held())
    world.check("broker, closed clean", door.close())
    for name in ("log", "base"):
        os.unlink(f"{world.root}/door/{name}")
    os.rmdir(world.root + "/door/b")
    os.rmdir(world.root + "/door")
