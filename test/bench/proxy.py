"""loom-egress proxy against a relay that judges nothing: bytes a second and connections a second, interleaved.

usage: proxy.py BIN PEERS OUTPUT.json [ROUNDS]
Adds "proxy" to the figures in OUTPUT.json. Ratios are what can be compared. Fails only when nothing could be measured.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile

BYTES = 256 << 20
OPENS = 400
CLIENTS = 4


def listening(argv, number):
    """Starts a program with a listening socket, whose number stands for "FD" in its arguments."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    words = [str(listener.fileno()) if word == "FD" else word for word in argv]
    process = subprocess.Popen(words, pass_fds=[listener.fileno()])
    port = listener.getsockname()[1]
    listener.close()
    number.append(process)
    return port


def measured(load, *argv):
    done = subprocess.run([load, *argv], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(argv)}: {done.stderr.strip()}, nothing was measured")
    return float(done.stdout)


def summary(values):
    return {"median": statistics.median(values), "p10": statistics.quantiles(values, n=10)[0], "runs": len(values)}


def main():
    binaries, peers, output = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 7
    load = os.path.join(peers, "tunnel_load")
    started = []
    with tempfile.TemporaryDirectory() as folder:
        policy = {
            "v": 1, "origins": [], "secrets": {}, "redirects": "none", "deadline_ms": 5000, "request_bytes": 0, "response_bytes": 1,
            "trust": {"roots": "system"}, "ip_allow": ["127.0.0.1/32"], "resolver": "system", "response_headers": [],
        }  # fmt: skip
        config = os.path.join(folder, "config.json")
        with open(config, "w", encoding="ascii") as file:
            json.dump({"v": 1, "policy": policy, "record": "calls.jsonl"}, file)
        try:
            origin = subprocess.Popen([load, "origin"], stdout=subprocess.PIPE, text=True)
            started.append(origin)
            port = origin.stdout.readline().strip()
            relay = listening([os.path.join(peers, "plain_relay"), "FD", port], started)
            targets = [f"127.0.0.1:{port}", f"localhost:{port}"]
            allow = [word for target in targets for word in ("--allow", target)]
            tool = os.path.join(binaries, "loom-egress")
            proxy = listening([tool, "proxy", "--listen-fd", "FD", "--config", config, *allow], started)
            contenders = {"relay": [str(relay)], "proxy": [str(proxy), targets[0]], "proxy by name": [str(proxy), targets[1]]}
            figures = {kind: {name: [] for name in contenders} for kind in ("bytes_per_s", "opens_per_s")}
            for turn in range(rounds + 1):
                for name, (at, *target) in contenders.items():
                    rate = measured(load, "rate", at, str(BYTES), *target)
                    opens = measured(load, "opens", at, str(OPENS), str(CLIENTS), *target)
                    if turn > 0:  # the first warms the caches
                        figures["bytes_per_s"][name].append(rate)
                        figures["opens_per_s"][name].append(opens)
        finally:
            for process in started:
                process.kill()
                process.wait()
    table = {kind: {name: summary(values) for name, values in rows.items()} for kind, rows in figures.items()}
    print(f"{'through the proxy':18}{'MB/s':>10}{'x relay':>10}{'opens/s':>10}{'x relay':>10}")
    for name in contenders:
        cells = []
        for kind, unit in (("bytes_per_s", 1e6), ("opens_per_s", 1)):
            figure = table[kind][name]
            figure["ratio_relay"] = figure["median"] / table[kind]["relay"]["median"]
            cells.append(f"{figure['median'] / unit:10.0f}{figure['ratio_relay']:10.2f}")
        print(f"{name:18}{''.join(cells)}")
    figures = {}
    if os.path.exists(output):
        with open(output, encoding="utf-8") as file:
            figures = json.load(file)
    figures["proxy"] = table
    with open(output, "w", encoding="utf-8") as file:
        json.dump(figures, file, indent=2)
        file.write("\n")


main()
