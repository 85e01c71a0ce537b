"""Latency of one request: `loom-egress request` against curl, to the same TLS origin, interleaved. Both start, verify the same
chain, ask once and end.

usage: request.py BIN OUTPUT.json [ROUNDS]
Prints a table and adds its figures to OUTPUT.json. Ratios are what can be compared; the target is 1.1 x curl. Fails only when
something could not be measured.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def make_chain(folder):
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *key, "-subj", "/CN=bench root", "-days", "2", "-keyout", "root.key", "-out", "root.pem")
    openssl("req", "-new", *key, "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "leaf.key", "-out", "leaf.csr")
    openssl("x509", "-req", "-in", "leaf.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-copy_extensions", "copy",
            "-days", "1", "-out", "leaf.pem")


def start_origin(folder):
    ready = os.path.join(folder, "ready")
    os.mkfifo(ready)
    program = os.path.join(TREE, "test", "peers", "origin.py")
    process = subprocess.Popen([sys.executable, program, "--ready", ready, "--cert", "leaf.pem", "--key", "leaf.key"], cwd=folder)
    with open(ready, encoding="ascii") as line:
        return process, int(line.readline())


def write_documents(folder, port):
    origin = f"https://127.0.0.1:{port}"
    policy = {
        "v": 1,
        "origins": [{"origin": origin, "methods": ["GET"], "path_prefixes": ["/"], "headers": [], "secrets": []}],
        "secrets": {}, "redirects": "none", "deadline_ms": 30000, "request_bytes": 0, "response_bytes": 65536,
        "trust": {"roots": ["root.pem"]}, "ip_allow": ["127.0.0.1/32"], "resolver": "system", "response_headers": [],
    }
    for name, document in {"policy.json": policy, "request.json": {"url": origin + "/text/hello", "method": "GET"}}.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(document, file)
    return origin + "/text/hello"


def once(argv, folder):
    began = time.perf_counter()
    done = subprocess.run(argv, cwd=folder, capture_output=True, check=False)
    took = (time.perf_counter() - began) * 1000
    if done.returncode != 0 or b"hello" not in done.stdout:
        sys.exit(f"bench: {' '.join(argv)}: ended with {done.returncode}, nothing was measured: {done.stderr.decode()}")
    return took


def measure(binaries, folder, rounds):
    process, port = start_origin(folder)
    try:
        url = write_documents(folder, port)
        named = {
            "curl": ["curl", "-sS", "--http1.1", "--noproxy", "*", "--cacert", "root.pem", url],
            "loom-egress request": [os.path.join(os.path.abspath(binaries), "loom-egress"), "request", "--policy", "policy.json",
                                    "--request", "request.json"],
        }
        times = {name: [] for name in named}
        for turn in range(rounds + 2):
            for name, argv in named.items():
                took = once(argv, folder)
                if turn >= 2:  # the first two warm the caches
                    times[name].append(took)
        return times
    finally:
        process.kill()
        process.wait()


def main():
    binaries, output = sys.argv[1], sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    with tempfile.TemporaryDirectory() as folder:
        make_chain(folder)
        times = measure(binaries, folder, rounds)
    figures = {name: {"median_ms": statistics.median(values), "p10_ms": statistics.quantiles(values, n=10)[0], "runs": len(values)}
               for name, values in times.items()}
    curl = figures["curl"]
    print(f"{'':22}{'median ms':>10}{'p10 ms':>10}{'x curl':>10}{'target':>10}")
    for name, figure in figures.items():
        figure["ratio_curl"] = figure["median_ms"] / curl["median_ms"]
        target = "" if figure is curl else "1.1"
        print(f"{name:22}{figure['median_ms']:10.2f}{figure['p10_ms']:10.2f}{figure['ratio_curl']:10.2f}{target:>10}")
    kept = {}
    if os.path.exists(output):
        with open(output, encoding="utf-8") as file:
            kept = json.load(file)
    kept["request"] = figures
    with open(output, "w", encoding="utf-8") as file:
        json.dump(kept, file, indent=2)
        file.write("\n")


main()
