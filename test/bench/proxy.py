"""loom-egress proxy against a relay that judges nothing: bytes a second, TLS connections a second (a whole handshake, one byte,
the end: what tunnels carry) and bare ones (the first bytes of a handshake, one byte), interleaved.

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
KINDS = {"bytes_per_s": ("MB/s", 1e6), "tls_opens_per_s": ("TLS/s", 1), "opens_per_s": ("bare/s", 1)}
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


def certificate(folder):
    names = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=bench",
                    "-days", "2", "-out", names[0], "-keyout", names[1]], check=True, stderr=subprocess.DEVNULL)  # fmt: skip
    return names


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
            ports = []
            for argv in (["origin"], ["tls-origin", *certificate(folder)]):
                started.append(subprocess.Popen([load, *argv], stdout=subprocess.PIPE, text=True))
                ports.append(started[-1].stdout.readline().strip())
            relays = [str(listening([os.path.join(peers, "plain_relay"), "FD", port], started)) for port in ports]
            allow = [word for host in ("127.0.0.1", "localhost") for port in ports for word in ("--allow", f"{host}:{port}")]
            tool = os.path.join(binaries, "loom-egress")
            proxy = str(listening([tool, "proxy", "--listen-fd", "FD", "--config", config, *allow], started))
            # For each contender where the bare origin and the TLS one are reached.
            contenders = {"relay": [[port] for port in relays]}
            for name, host in (("proxy", "127.0.0.1"), ("proxy by name", "localhost")):
                contenders[name] = [[proxy, f"{host}:{port}"] for port in ports]
            figures = {kind: {name: [] for name in contenders} for kind in KINDS}
            for turn in range(rounds + 1):
                for name, ((at, *target), (tls_at, *tls_target)) in contenders.items():
                    values = (
                        measured(load, "rate", at, str(BYTES), *target),
                        measured(load, "tls-opens", tls_at, str(OPENS), str(CLIENTS), *tls_target),
                        measured(load, "opens", at, str(OPENS), str(CLIENTS), *target),
                    )
                    for kind, value in zip(KINDS, values):
                        if turn > 0:  # the first warms the caches
                            figures[kind][name].append(value)
        finally:
            for process in started:
                process.kill()
                process.wait()
    table = {kind: {name: summary(values) for name, values in rows.items()} for kind, rows in figures.items()}
    print(f"{'through the proxy':18}" + "".join(f"{unit:>10}{'x relay':>10}" for unit, _ in KINDS.values()))
    for name in contenders:
        cells = []
        for kind, (_, unit) in KINDS.items():
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
