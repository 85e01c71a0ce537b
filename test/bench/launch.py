"""Launch time: `loom-exec run -- /usr/bin/true` against bubblewrap with a like view and against no jail at all, interleaved.

usage: launch.py BIN OUTPUT.json [ROUNDS]
Prints the machine's facts and a table, and writes the figures. Ratios are what can be compared; times depend on the machine.
Fails only when something could not be measured.
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

COMMAND = "/usr/bin/true"


def bwrap_argv(workspace):
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    for root in ("/usr", "/etc", "/opt"):
        if os.path.isdir(root):
            argv += ["--ro-bind", root, root]
    for link in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(link):
            argv += ["--symlink", os.readlink(link), link]
    argv += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", workspace, workspace, "--chdir", workspace]
    return argv + ["--", COMMAND]


def contenders(binaries, workspace):
    loom = [os.path.join(binaries, "loom-exec"), "run", "--quiet", "--workspace", workspace, "--", COMMAND]
    broker = [os.path.join(binaries, "loom-broker"), "run", "--quiet", "--workspace", workspace, "--", COMMAND]
    named = {"unjailed": [COMMAND], "loom-exec run": loom, "loom-broker run": broker}
    if shutil.which("bwrap"):
        named["bwrap"] = bwrap_argv(workspace)
    return named


def once(argv, workspace):
    began = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, os.environ)
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - began
    if status != 0:
        sys.exit(f"bench: {' '.join(argv)}: ended with {os.waitstatus_to_exitcode(status)}, nothing was measured")
    return took * 1000


def measure(named, workspace, rounds):
    times = {name: [] for name in named}
    for turn in range(rounds + 2):
        for name, argv in named.items():
            took = once(argv, workspace)
            if turn >= 2:  # the first two warm the caches
                times[name].append(took)
    return times


def summary(values):
    return {"median_ms": statistics.median(values), "p10_ms": statistics.quantiles(values, n=10)[0], "runs": len(values)}


def main():
    binaries, output = sys.argv[1], sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    facts = {"kernel": platform.release(), "machine": platform.machine(), "processors": os.cpu_count(), "uid": os.getuid()}
    if shutil.which("bwrap"):
        facts["bwrap"] = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(" ".join(f"{key}={value}" for key, value in facts.items()))
    with tempfile.TemporaryDirectory() as workspace:
        figures = {name: summary(values) for name, values in measure(contenders(binaries, workspace), workspace, rounds).items()}
    print(f"{'':18}{'median ms':>10}{'p10 ms':>10}{'x unjailed':>12}{'x bwrap':>10}")
    for name, figure in figures.items():
        for other in ("unjailed", "bwrap"):
            if other in figures:
                figure[f"ratio_{other}"] = figure["median_ms"] / figures[other]["median_ms"]
        bwrap = f"{figure['ratio_bwrap']:10.2f}" if "ratio_bwrap" in figure else f"{'-':>10}"
        print(f"{name:18}{figure['median_ms']:10.2f}{figure['p10_ms']:10.2f}{figure['ratio_unjailed']:12.2f}{bwrap}")
    with open(output, "w", encoding="utf-8") as file:
        json.dump({"facts": facts, "launch": figures}, file, indent=2)
        file.write("\n")


main()
