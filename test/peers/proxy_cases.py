#!/usr/bin/env python3
"""Cases for loom-egress proxy: a real proxy, real TLS origins and a name server of the test's, over loopback.

usage: proxy_cases.py CASE      environment: BIN, BUILT, PKI (a folder of make_pki, test/cli/origins.bash), WORK (a folder)
Ends with 0, or with the assertion that did not hold. What it starts ends with it.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

BIN, BUILT, PKI, WORK = (os.environ[name] for name in ("BIN", "BUILT", "PKI", "WORK"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
sys.dont_write_bytecode = True  # the tree may be anybody's
import registry  # noqa: E402

PATIENCE = 20  # seconds; only ever reached by a failure
started = []


def dies_with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


# --- what stands round the proxy


class Origin:
    """A TLS server that answers each request with what it saw; or, with `raw`, a TCP server that this function serves."""

    def __init__(self, raw=None, plain=False, family=socket.AF_INET):
        self.raw, self.plain, self.seen = raw, plain, []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(PKI + "/leaf.pem", PKI + "/leaf.key")
        here = "127.0.0.1" if family == socket.AF_INET else "::1"
        self.listener = socket.create_server((here, 0), family=family, backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            sock, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        with contextlib.suppress(OSError), sock:
            sock.settimeout(PATIENCE)
            if self.raw:
                return self.raw(sock)
            if not self.plain:
                sock = self.context.wrap_socket(sock, server_side=True)
            stream = sock.makefile("rb")
            head = []
            while (line := stream.readline()) not in (b"\r\n", b""):
                head.append(line.rstrip(b"\r\n").decode("latin-1"))
            fields = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in head[1:]}
            body = b""
            if fields.get("transfer-encoding") == "chunked":
                while size := int(stream.readline(), 16):
                    body += stream.read(size)
                    stream.readline()
                stream.readline()
            else:
                body = stream.read(int(fields.get("content-length", 0)))
            self.seen.append((head, body))
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nseen\n")


class Dns:
    def __init__(self, *answers):
        ready, self.log = os.path.join(WORK, f"dns{len(started)}"), os.path.join(WORK, f"dns{len(started)}.log")
        os.mkfifo(ready)
        process = subprocess.Popen(
            [BUILT + "/test/peers/dns_server", *answers, "--ready", ready, "--log", self.log], preexec_fn=dies_with_us
        )
        started.append(process)
        with open(ready, encoding="ascii") as lines:
            self.address = lines.readline().strip()

    def asked(self):
        with open(self.log, encoding="ascii") as lines:
            return [line.strip() for line in lines]


def config(path=None, ip_allow=("127.0.0.1/32",), resolver="127.0.0.1:9", deadline_ms=5000):
    path = path or os.path.join(WORK, "config.json")
    policy = {
        "v": 1, "origins": [], "secrets": {}, "redirects": "none", "deadline_ms": deadline_ms, "request_bytes": 0,
        "response_bytes": 1, "trust": {"roots": "system"}, "ip_allow": list(ip_allow), "resolver": resolver,
        "response_headers": [],
    }  # fmt: skip
    with open(path + ".new", "w", encoding="ascii") as file:
        json.dump({"v": 1, "policy": policy}, file)
    os.rename(path + ".new", path)
    return path


class Proxy:
    """One on a Unix socket, or with `tcp` on a loopback port that it is handed."""

    def __init__(self, *allow, tcp=False, settings=None, record=None, files=None, before=()):
        number = len(started)
        self.record_path = record or os.path.join(WORK, f"record{number}")
        read_end, write_end = os.pipe()
        argv = [*before, BIN + "/loom-egress", "proxy", "--record", self.record_path, "--ready-fd", str(write_end)]
        for entry in allow:
            argv += ["--allow", entry]
        if settings:
            argv += ["--config", settings]
        passed = [write_end]
        if tcp:
            listener = socket.create_server(("127.0.0.1", 0), backlog=512)
            self.address = listener.getsockname()
            argv += ["--listen-fd", str(listener.fileno())]
            passed.append(listener.fileno())
        else:
            folder = os.path.join(WORK, f"socket{number}")
            os.mkdir(folder, 0o700)
            self.address = folder + "/s"
            argv += ["--socket", self.address]

        def prepare():
            dies_with_us()
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        self.errors_path = os.path.join(WORK, f"errors{number}")
        with open(self.errors_path, "wb") as errors:
            self.process = subprocess.Popen(argv, pass_fds=passed, preexec_fn=prepare, stderr=errors)
        started.append(self.process)
        os.close(write_end)
        if tcp:
            listener.close()
        with os.fdopen(read_end, encoding="ascii") as lines:
            line = lines.readline()
        assert line.startswith("ready"), (line, self.errors())

    def connect(self):
        unix = isinstance(self.address, str)
        sock = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        sock.settimeout(PATIENCE)
        sock.connect(self.address)
        return sock

    def ask(self, head):
        """The whole answer to bytes that end in one."""
        with self.connect() as sock:
            sock.sendall(head if isinstance(head, bytes) else head.encode("latin-1"))
            return read_all(sock).decode("latin-1")

    def open(self, host, port):
        """A socket with an open tunnel."""
        sock = self.connect()
        sock.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())
        answer = read_head(sock)
        assert answer == "HTTP/1.1 200 Connection established\r\n\r\n", answer
        return sock

    def records(self, kind=None):
        with open(self.record_path, encoding="ascii") as lines:
            found = [json.loads(line) for line in lines]
        return [each for each in found if kind in (None, each["record"])]

    def errors(self):
        with open(self.errors_path, encoding="utf-8") as lines:
            return lines.read()

    def end(self):
        """In good order: afterwards every record is written."""
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0, self.errors()


def read_all(sock):
    data = bytearray()
    while piece := sock.recv(65536):
        data += piece
    return bytes(data)


def read_head(sock):
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        piece = sock.recv(1)
        if not piece:
            break
        data += piece
    return data.decode("latin-1")


def read_exactly(sock, count):
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        assert piece, f"{data!r} and no more"
        data += piece
    return data


def trusting():
    return ssl.create_default_context(cafile=PKI + "/root.pem")


def fetch(sock, name, context=None):
    with (context or trusting()).wrap_socket(sock, server_hostname=name) as tls:
        tls.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
        return read_all(tls)


def hello(name):
    """A ClientHello as a real client makes it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def in_records(record, size):
    body = record[5:]
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(piece)) + piece for piece in pieces)


def curl(proxy, *argv):
    environment = {"PATH": os.environ["PATH"], "HOME": WORK, "all_proxy": proxy}
    return subprocess.run(
        ["curl", "-sS", "-m", str(PATIENCE), "--cacert", PKI + "/root.pem", *argv],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def a_test(origin, *allow, **options):
    """A proxy that lets a.test be reached on the origin's port, and whatever else."""
    name_server = Dns("a.test=127.0.0.1", "b.test=127.0.0.1")
    settings = config(resolver=name_server.address)
    return Proxy(f"a.test:{origin.port}", *allow, settings=settings, **options), name_server


# --- the cases


def clients():
    origin, plain = Origin(), Origin(plain=True)
    proxy, _ = a_test(origin, f"http://b.test:{plain.port}", tcp=True)
    for scheme in ("http", "socks5h"):
        got = curl(f"{scheme}://127.0.0.1:{proxy.address[1]}", f"https://a.test:{origin.port}/x")
        assert (got.returncode, got.stdout) == (0, "seen\n"), got
    through = f"http://127.0.0.1:{proxy.address[1]}"
    got = curl(through, f"http://b.test:{plain.port}/y?z", "-H", "Proxy-Authorization: mine")
    assert (got.returncode, got.stdout) == (0, "seen\n"), got
    head, _ = plain.seen[0]
    assert head[:3] == ["GET /y?z HTTP/1.1", f"Host: b.test:{plain.port}", "Connection: close"], head
    assert not any("proxy" in line.lower() for line in head), head
    proxy.end()
    decisions = proxy.records("decision")
    assert [(each["front"], each["verdict"]) for each in decisions] == [
        ("connect", "allowed"), ("socks", "allowed"), ("http", "allowed"),
    ], decisions  # fmt: skip
    assert decisions[0]["addresses"] == ["127.0.0.1"] and decisions[0]["rule"] == f"a.test:{origin.port}", decisions
    closings = proxy.records("closing")
    assert len(closings) == 3 and all(each["error"] == "" for each in closings), closings
    assert all(each["up_bytes"] > 0 and each["down_bytes"] > 0 for each in closings), closings


def bodies():
    plain = Origin(plain=True)
    proxy, _ = a_test(plain, f"http://b.test:{plain.port}", tcp=True)
    big = os.path.join(WORK, "big")
    with open(big, "wb") as file:
        file.write(os.urandom(3 << 20))
    through = f"http://127.0.0.1:{proxy.address[1]}"
    for extra in ([], ["-H", "Transfer-Encoding: chunked"]):
        got = curl(through, f"http://b.test:{plain.port}/", "-H", "Expect:", "--data-binary", "@" + big, *extra)
        assert (got.returncode, got.stdout) == (0, "seen\n"), got
    with open(big, "rb") as file:
        sent = file.read()
    assert [body == sent for _, body in plain.seen] == [True, True]
    # A second request on the connection goes nowhere: it was never judged.
    head = f"GET http://b.test:{plain.port}/ HTTP/1.1\r\nHost: b.test:{plain.port}\r\n\r\n"
    answer = proxy.ask(head + head)
    assert answer.count("HTTP/1.1 200") == 1 and len(plain.seen) == 3, (answer, plain.seen)

    # An upstream that keeps its connection does not keep the client's: the next request comes on one of its own.
    def keep(sock):
        while not sock.recv(65536).endswith(b"\r\n\r\n"):
            pass
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\nkept")
        sock.recv(1)

    keeping = Origin(raw=keep)
    proxy, _ = a_test(plain, f"http://b.test:{keeping.port}", tcp=True)
    url = f"http://b.test:{keeping.port}/"
    got = curl(f"http://127.0.0.1:{proxy.address[1]}", url + "1", url + "2")
    assert (got.returncode, got.stdout) == (0, "keptkept"), got
    # One that closes without a word is a bad gateway.
    mute = Origin(raw=lambda sock: sock.recv(1))
    proxy, _ = a_test(plain, f"http://b.test:{mute.port}")
    assert proxy.ask(f"GET http://b.test:{mute.port}/ HTTP/1.0\r\n\r\n").startswith("HTTP/1.1 502 upstream\r\n")


def refusals():
    origin = Origin()
    proxy, name_server = a_test(origin, tcp=True)
    through = f"http://127.0.0.1:{proxy.address[1]}"
    got = curl(through, "https://other.test/")
    assert got.returncode == 56 and "403" in got.stderr, got
    got = curl(through, "-v", "https://other.test/")
    assert "403 not_allowed" in got.stderr, got
    got = curl(through, "http://a.test/")
    assert got.stdout.startswith("loom-egress: a.test:80 refused: not_allowed: "), got
    got = curl(f"socks5h://127.0.0.1:{proxy.address[1]}", "https://other.test/")
    assert got.returncode == 97 and "(2)" in got.stderr, got
    assert curl(through, f"https://a.test:{origin.port + 1 if origin.port < 65535 else 1}/").returncode == 56
    answer = proxy.ask("CONNECT a.test:22 HTTP/1.1\r\n\r\n")
    assert answer.startswith("HTTP/1.1 403 not_allowed\r\n") and "\r\nX-Loom-Reason: not_allowed\r\n" in answer, answer
    assert name_server.asked() == [], "an unlisted host causes no query"
    decisions = proxy.records("decision")
    assert all((each["verdict"], each["code"]) == ("refused", "not_allowed") for each in decisions), decisions
    assert (decisions[0]["host"], decisions[0]["port"]) == ("other.test", 443), decisions


def heads():
    proxy, _ = a_test(Origin())
    target = "CONNECT a.test:443 HTTP/1.1\r\n"
    for head in (
        target + "Host: a.test\nX: y\r\n\r\n",
        target + "Host: a.test\r\nHost: a.test\r\n\r\n",
        target + "X: y\r\n folded\r\n\r\n",
        target + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
        target + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
        target + "Transfer-Encoding: gzip, chunked\r\n\r\n",
        "CONNECT a.test\xe9:443 HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
        target + "X: " + "y" * 16384,
    ):
        answer = proxy.ask(head)
        assert answer.startswith("HTTP/1.1 400 bad_request\r\n"), (head[:80], answer)
        assert "\r\nConnection: close\r\n" in answer, answer
    answer = proxy.ask(target + "Host: other.test\r\n\r\n")
    assert answer.startswith("HTTP/1.1 403 host_differs\r\n"), answer


def old_http():
    origin = Origin()
    proxy, _ = a_test(origin)
    with proxy.connect() as sock:
        for byte in f"CONNECT a.test:{origin.port} HTTP/1.0\r\n\r\n".encode():
            sock.sendall(bytes([byte]))
        assert read_head(sock).startswith("HTTP/1.1 200 "), "pip's CONNECT"
        assert fetch(sock, "a.test").endswith(b"seen\n")
    record = proxy.records("decision")[0]
    assert record["peer_pid"] == os.getpid() and len(record["list"]) == 64, record


def socks():
    origin = Origin()
    proxy, _ = a_test(origin, f"127.0.0.1:{origin.port}")

    def ask(request, byte_by_byte=False):
        sock = proxy.connect()
        for piece in [bytes([byte]) for byte in b"\x05\x02\x02\x00"] if byte_by_byte else [b"\x05\x01\x00"]:
            sock.sendall(piece)
        assert read_exactly(sock, 2) == b"\x05\x00"
        for piece in [bytes([byte]) for byte in request] if byte_by_byte else [request]:
            sock.sendall(piece)
        reply = read_exactly(sock, 10)
        return reply[1], sock

    port = struct.pack(">H", origin.port)
    for request in (b"\x05\x01\x00\x03\x06a.test" + port, b"\x05\x01\x00\x01\x7f\x00\x00\x01" + port):
        for slow in (False, True):
            reply, sock = ask(request, slow)
            assert reply == 0, reply
            name = "a.test" if request[3] == 3 else "127.0.0.1"
            assert fetch(sock, name).endswith(b"seen\n")
    for request, wanted in (
        (b"\x05\x01\x00\x03\x0aother.test" + port, 2),
        (b"\x05\x01\x00\x04" + bytes(15) + b"\x01" + port, 2),
        (b"\x05\x01\x00\x03\x00" + port, 2),
        (b"\x05\x01\x00\x03\xff" + b"a" * 255 + port, 2),
        (b"\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", 7),
        (b"\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00", 7),
        (b"\x05\x01\x00\x07\x00\x00", 8),
    ):
        reply, sock = ask(request)
        assert reply == wanted and sock.recv(1) == b"", (request, reply)


def ipv6():
    origin = Origin(raw=lambda sock: sock.sendall(read_exactly(sock, 5)), family=socket.AF_INET6)
    name_server = Dns("a.test=127.0.0.1,::1")  # nobody listens on the first
    settings = config(ip_allow=["::1/128", "127.0.0.1/32"], resolver=name_server.address)
    proxy = Proxy(f"[::1]:{origin.port}", f"a.test:{origin.port}", settings=settings)
    bare, named = hello(None), hello("a.test")
    for host, first in (("[::1]", bare), ("[0:0::1]", bare), ("a.test", named)):
        with proxy.open(host, origin.port) as sock:
            sock.sendall(first)
            assert read_all(sock) == first[:5], host
    with proxy.connect() as sock:
        sock.sendall(b"\x05\x01\x00\x05\x01\x00\x04" + bytes(15) + b"\x01" + struct.pack(">H", origin.port))
        assert read_exactly(sock, 12)[3] == 0
        sock.sendall(bare)
        assert read_all(sock) == bare[:5]
    proxy.end()
    assert {each["address"] for each in proxy.records("closing")} == {"::1"}, proxy.records("closing")


def server_names():
    def echo(sock):
        while data := sock.recv(65536):
            sock.sendall(data)

    origin = Origin(raw=echo)
    proxy, _ = a_test(origin, f"127.0.0.1:{origin.port}")

    def through(first, host="a.test", pieces=None):
        """What comes back of the first bytes in a tunnel."""
        with proxy.open(host, origin.port) as sock:
            for piece in pieces or [first]:
                sock.sendall(piece)
            sock.shutdown(socket.SHUT_WR)
            return read_all(sock)

    good = hello("a.test")
    assert through(good) == good
    assert through(good, pieces=[bytes([byte]) for byte in good]) == good, "split over segments"
    split = in_records(good, 7)
    assert through(split) == split, "split over records"
    assert through(split, pieces=[split[at : at + 3] for at in range(0, len(split), 3)]) == split
    for first, code in (
        (hello("b.test"), "sni_differs"),
        (hello(None), "sni_missing"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not_tls"),
        (b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "not_tls"),
        (b"\x16\x03\x01\x00\x00", "not_tls"),
    ):
        assert through(first) == b"", code
        decision, closing = proxy.records()[-2:]
        assert (decision["record"], decision["verdict"], decision["code"]) == ("decision", "refused", code), decision
        assert (closing["record"], closing["error"]) == ("closing", code), closing
        assert decision["id"] == closing["id"] and closing["up_bytes"] == 0, closing
    assert through(b"") == b""
    assert proxy.records()[-1]["error"] == "hello_missing"
    # An address that was asked for: none, or itself.
    bare = hello(None)
    assert through(bare, "127.0.0.1") == bare
    assert through(good, "127.0.0.1") == b""
    assert proxy.records()[-1]["error"] == "sni_differs"


def half_close():
    def count(sock):
        data = read_all(sock)  # until the other side has said that this is all
        sock.sendall(str(len(data)).encode())
        sock.shutdown(socket.SHUT_WR)

    def greet(sock):
        sock.recv(1)
        sock.sendall(b"bye")
        sock.shutdown(socket.SHUT_WR)
        heard.append(read_all(sock))
        done.set()

    heard, done = [], threading.Event()
    counting, leaving = Origin(raw=count), Origin(raw=greet)
    name_server = Dns("a.test=127.0.0.1")
    settings = config(resolver=name_server.address)
    proxy = Proxy(f"a.test:{counting.port}", f"a.test:{leaving.port}", settings=settings)
    first, more = hello("a.test"), os.urandom(5 << 20)
    with proxy.open("a.test", counting.port) as sock:
        sock.sendall(first + more)
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == str(len(first + more)).encode()
    with proxy.open("a.test", leaving.port) as sock:
        sock.sendall(first)
        assert read_all(sock) == b"bye"
        sock.sendall(b"later")
        sock.shutdown(socket.SHUT_WR)
        assert done.wait(PATIENCE) and heard[0] == first[1:] + b"later", heard
    proxy.end()
    assert [each["error"] for each in proxy.records("closing")] == ["", ""], proxy.records("closing")


def slow_reader():
    """A side that does not read holds the other back, not the proxy's memory; nothing is lost."""
    size = 40 << 20

    def pour(sock):
        sock.recv(65536)
        block = bytes(range(256)) * 4096
        for _ in range(size // len(block)):
            sock.sendall(block)
        poured.set()

    poured = threading.Event()
    origin = Origin(raw=pour)
    proxy, _ = a_test(origin)
    with proxy.open("a.test", origin.port) as sock:
        sock.sendall(hello("a.test"))
        assert read_exactly(sock, 4) == b"\x00\x01\x02\x03"
        # As many other tunnels as it takes to know that the proxy has had its turns.
        for _ in range(20):
            proxy.ask("GET http://loom.invalid/ready HTTP/1.0\r\n\r\n")
        with open(f"/proc/{proxy.process.pid}/statm", encoding="ascii") as facts:
            resident = int(facts.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        assert not poured.is_set(), "the origin was held back"
        assert resident < 30 << 20, resident
        rest = read_all(sock)
        assert len(rest) == size - 4 and rest[:4] == b"\x04\x05\x06\x07", len(rest)


def answers():
    origin = Origin()
    name_server = Dns("mixed.test=8.8.8.8,127.0.0.2", "flips.test=127.0.0.1/10.0.0.1", "none.test=", "fails.test=SERVFAIL")
    settings = config(resolver=name_server.address)
    names = ("mixed", "flips", "none", "fails")
    proxy = Proxy(*[f"{name}.test:{origin.port}" for name in names], settings=settings)

    def status(name):
        return proxy.ask(f"CONNECT {name}.test:{origin.port} HTTP/1.1\r\n\r\n").split("\r\n")[0]

    assert status("mixed") == "HTTP/1.1 403 address_refused", "one bad address refuses the set"
    record = proxy.records("decision")[-1]
    assert (sorted(record["addresses"]), record["rule"]) == (["127.0.0.2", "8.8.8.8"], "loopback"), record
    # Judged and connected to is one answer: the second one, which would be another address, is not asked for.
    with proxy.open("flips.test", origin.port):
        assert sorted(each for each in name_server.asked() if "flips" in each) == ["A flips.test", "AAAA flips.test"]
    assert status("flips") == "HTTP/1.1 403 address_refused"
    assert status("none") == "HTTP/1.1 502 dns"
    assert status("fails") == "HTTP/1.1 502 dns"
    silent = config(resolver=Dns("slow.test=SILENT").address, deadline_ms=200)
    slow = Proxy("slow.test", settings=silent)
    assert slow.ask("CONNECT slow.test:443 HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 504 deadline\r\n")
    with slow.connect() as sock:
        sock.sendall(b"\x05\x01\x00\x05\x01\x00\x03\x09slow.test\x01\xbb")
        assert read_exactly(sock, 12)[3] == 4


def unreachable():
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    proxy = Proxy(f"127.0.0.1:{port}", settings=config())
    assert proxy.ask(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 502 connect\r\n")
    decision, closing = proxy.records()
    assert (decision["verdict"], closing["error"], closing["address"]) == ("allowed", "connect", "127.0.0.1"), closing
    with proxy.connect() as sock:
        sock.sendall(b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01" + struct.pack(">H", port))
        assert read_exactly(sock, 12)[3] == 5


def itself():
    own = Proxy(tcp=True).address[1]
    asked = Proxy(f"127.0.0.1:{own}", settings=config(ip_allow=["127.0.0.0/8"]))
    asked.open("127.0.0.1", own).close()  # another's is not its own
    mine = socket.create_server(("127.0.0.1", 0))
    mine_port = mine.getsockname()[1]
    argv = [BIN + "/loom-egress", "proxy", "--listen-fd", str(mine.fileno()), "--allow", f"127.0.0.1:{mine_port}",
            "--config", config(ip_allow=["127.0.0.0/8"])]  # fmt: skip
    started.append(subprocess.Popen(argv, pass_fds=[mine.fileno()], preexec_fn=dies_with_us))
    with socket.create_connection(("127.0.0.1", mine_port), PATIENCE) as sock:
        sock.sendall(f"CONNECT 127.0.0.1:{mine_port} HTTP/1.1\r\n\r\n".encode())
        answer = read_all(sock)
    assert answer.startswith(b"HTTP/1.1 403 address_refused\r\n") and b"(own_listener)" in answer, answer


def readiness():
    proxy = Proxy()
    answer = proxy.ask("GET http://loom.invalid/ready HTTP/1.1\r\nHost: loom.invalid\r\n\r\n")
    assert answer.startswith("HTTP/1.1 204 No Content\r\n"), answer
    # An empty list allows nothing, its own name included.
    for head in ("CONNECT a.test:443", "CONNECT 127.0.0.1:443", "CONNECT loom.invalid:443", "GET http://a.test/"):
        assert proxy.ask(head + " HTTP/1.0\r\n\r\n").startswith("HTTP/1.1 403 not_allowed\r\n"), head
    assert len(proxy.records()) == 4, proxy.records()


def configuration():
    origin = Origin()
    proxy, name_server = a_test(origin)
    settings = os.path.join(WORK, "config.json")
    head = f"CONNECT a.test:{origin.port} HTTP/1.1\r\n\r\n"
    before = proxy.open("a.test", origin.port)
    for break_it in (
        lambda: os.unlink(settings),
        lambda: open(settings, "w", encoding="ascii").close(),
        lambda: open(settings, "w", encoding="ascii").write('{"v":1,"policy":{},"surprise":1}'),
        lambda: (os.unlink(settings), os.mkdir(settings)),
    ):
        break_it()
        assert proxy.ask(head).startswith("HTTP/1.1 403 config_unreadable\r\n")
        assert proxy.ask("GET http://loom.invalid/ready HTTP/1.0\r\n\r\n").startswith("HTTP/1.1 403 config_unreadable")
    os.rmdir(settings)
    config(ip_allow=[], resolver=name_server.address)
    assert proxy.ask(head).startswith("HTTP/1.1 403 address_refused\r\n"), "not yesterday's"
    config(resolver=name_server.address)
    with proxy.open("a.test", origin.port) as sock:
        assert fetch(sock, "a.test").endswith(b"seen\n"), "today's"
    assert fetch(before, "a.test").endswith(b"seen\n"), "what was admitted stays"
    if os.getuid() != 0:
        os.chmod(settings, 0)
        assert proxy.ask(head).startswith("HTTP/1.1 403 config_unreadable\r\n")
        os.chmod(settings, 0o600)
    os.rename(proxy.record_path, proxy.record_path + ".1")
    os.mkdir(proxy.record_path)
    assert proxy.ask(head).startswith("HTTP/1.1 403 record_failed\r\n"), "a record that cannot be begun anew"
    os.rmdir(proxy.record_path)
    proxy.open("a.test", origin.port).close()
    assert proxy.records("decision")[0]["verdict"] == "allowed", "a record that was moved away is begun anew"
    told = proxy.errors().splitlines()
    assert told and all(line.startswith("loom-egress: ") for line in told), told


def full_disk():
    origin = Origin()
    disk = os.path.join(WORK, "disk")
    os.mkdir(disk)
    # A file system of one page, in a namespace of the proxy's own.
    before = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
              'mount -t tmpfs -o size=4k none "$0" && exec "$@"', disk]  # fmt: skip
    proxy, _ = a_test(origin, before=before, record=disk + "/record")
    statuses = []
    for _ in range(40):
        with proxy.connect() as sock:
            sock.sendall(f"CONNECT a.test:{origin.port} HTTP/1.1\r\n\r\n".encode())
            statuses.append(read_head(sock).split("\r\n")[0])
            if statuses[-1].endswith("record_failed"):
                break
    assert statuses[0] == "HTTP/1.1 200 Connection established", statuses
    assert statuses[-1] == "HTTP/1.1 403 record_failed", statuses
    assert proxy.ask("CONNECT other.test:443 HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 403 record_failed\r\n")
    assert "No space left" in proxy.errors(), proxy.errors()


def few_descriptors():
    origin = Origin()
    proxy, _ = a_test(origin, files=32)
    done = []

    def one():
        with proxy.open("a.test", origin.port) as sock:
            done.append(fetch(sock, "a.test").endswith(b"seen\n"))

    def used():
        with open(f"/proc/{proxy.process.pid}/stat", encoding="ascii") as facts:
            fields = facts.read().split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    idle = [proxy.connect() for _ in range(40)]  # more than it has descriptors for
    while "out of descriptors" not in proxy.errors():
        hello("a.test")
    # While others wait in its queue it does not run: we work for a while, and it has not.
    before, began = used(), time.process_time()
    while time.process_time() - began < 0.15:
        hello("a.test")
    assert used() - before < 0.05, used() - before
    threads = [threading.Thread(target=one) for _ in range(10)]
    for thread in threads:
        thread.start()
    for sock in idle:
        sock.close()
    for thread in threads:
        thread.join(PATIENCE)
    assert done == [True] * 10, (done, proxy.errors())
    assert proxy.errors().count("out of descriptors") == 1, proxy.errors()


def too_many():
    hold = threading.Event()
    origin = Origin(raw=lambda sock: hold.wait(PATIENCE))
    proxy, _ = a_test(origin, f"127.0.0.1:{origin.port}")
    held = [proxy.open("127.0.0.1", origin.port) for _ in range(256)]
    head = f"CONNECT 127.0.0.1:{origin.port} HTTP/1.1\r\n\r\n"
    assert proxy.ask(head).startswith("HTTP/1.1 503 too_many_tunnels\r\n")
    assert proxy.ask("GET http://loom.invalid/ready HTTP/1.0\r\n\r\n").startswith("HTTP/1.1 204 ")
    held.pop().close()
    while not proxy.records("closing"):
        proxy.ask("GET http://loom.invalid/ready HTTP/1.0\r\n\r\n")
    proxy.open("127.0.0.1", origin.port)
    hold.set()


def two_lists():
    origin = Origin()
    one, name_server = a_test(origin)
    other = Proxy(f"b.test:{origin.port}", settings=config(resolver=name_server.address))
    for name, open_one, shut_one in (("a.test", one, other), ("b.test", other, one)):
        with open_one.open(name, origin.port) as sock:
            assert fetch(sock, name).endswith(b"seen\n")
        assert " 403 not_allowed\r\n" in shut_one.ask(f"CONNECT {name}:{origin.port} HTTP/1.1\r\n\r\n")
    lists = [{each["list"] for each in proxy.records("decision")} for proxy in (one, other)]
    assert len(lists[0]) == len(lists[1]) == 1 and lists[0] != lists[1], lists


def killed():
    def echo(sock):
        while data := sock.recv(65536):
            sock.sendall(data)

    origin = Origin(raw=echo)
    proxy, _ = a_test(origin)
    sock = proxy.open("a.test", origin.port)
    first = hello("a.test")
    sock.sendall(first)
    assert read_exactly(sock, len(first)) == first
    proxy.process.kill()
    proxy.process.wait(PATIENCE)
    with contextlib.suppress(ConnectionResetError):
        assert sock.recv(1) == b""
    try:
        proxy.connect()
        raise AssertionError("somebody still listens")
    except ConnectionRefusedError:
        pass


def told_to_end():
    origin = Origin()
    proxy, _ = a_test(origin)
    held = proxy.open("a.test", origin.port)
    proxy.end()
    assert held.recv(1) == b"" and not os.path.exists(proxy.address)
    assert proxy.records("closing")[0]["error"] == "proxy_ended", proxy.records()


def owner_gone():
    listener = socket.create_server(("127.0.0.1", 0))
    argv = [BIN + "/loom-egress", "proxy", "--listen-fd", str(listener.fileno())]
    # The owner starts it, tells its number once it is ready, and ends.
    owner = (
        "import os, subprocess, sys\n"
        "r, w = os.pipe()\n"
        "p = subprocess.Popen(sys.argv[1:] + ['--ready-fd', str(w)], pass_fds=[int(sys.argv[4]), w])\n"
        "os.close(w)\n"
        "os.read(r, 100)\n"
        "print(p.pid, flush=True)\n"
        "sys.stdin.read()\n"
        "os._exit(0)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", owner, *argv], pass_fds=[listener.fileno()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    started.append(process)
    pid = int(process.stdout.readline())
    pidfd = os.pidfd_open(pid)
    process.stdin.close()
    process.wait(PATIENCE)
    assert select.select([pidfd], [], [], PATIENCE)[0], "it outlived its owner"


def usage():
    def run(*argv):
        return subprocess.run([BIN + "/loom-egress", "proxy", *argv], capture_output=True, text=True, check=False, timeout=PATIENCE)

    for argv, told in (
        ([], "either --socket PATH or --listen-fd N"),
        (["--socket", WORK + "/s", "--listen-fd", "3"], "either --socket PATH or --listen-fd N"),
        (["--socket", WORK + "/s", "--allow", "*"], "a bare * would allow every host"),
        (["--socket", WORK + "/s", "--allow", "https://a.test"], "a scheme other than http://"),
        (["--listen-fd", "77"], "no listening stream socket"),
        (["--listen-fd", "x"], "want the number of a descriptor"),
        (["--socket", WORK + "/s", "--config", WORK + "/absent"], "absent: No such file"),
        (["--socket", WORK + "/s", "--record", WORK + "/absent/file"], "cannot open it"),
    ):
        got = run(*argv)
        assert got.returncode == 2 and told in got.stderr and got.stdout == "", (argv, got)
        assert not os.path.exists(WORK + "/s"), argv


def file_origin(*argv):
    """test/peers/origin.py with the leaf; answers its port."""
    ready, log = os.path.join(WORK, "ready"), os.path.join(WORK, "log")
    os.mkfifo(ready)
    tree = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    started.append(subprocess.Popen(
        [sys.executable, tree + "/test/peers/origin.py", "--ready", ready, "--log", log, "--cert", PKI + "/leaf.pem",
         "--key", PKI + "/leaf.key", *argv]))  # fmt: skip
    with open(ready, encoding="ascii") as lines:
        return int(lines.readline())


def run_client(proxy, argv, **extra):
    through = f"http://127.0.0.1:{proxy.address[1]}"
    environment = {"PATH": os.environ["PATH"], "HOME": WORK, "https_proxy": through, "HTTPS_PROXY": through, **extra}
    return subprocess.run(argv, env=environment, cwd=WORK, capture_output=True, text=True, check=False, timeout=120)


def served_registry():
    """A proxy that leads to a registry of the test's (test/support/registry.py), and the registry's place."""
    files = os.path.join(WORK, "files")
    os.mkdir(files)
    port = file_origin("--files", files)
    url = f"https://registry.test:{port}/files/"
    registry.fill(files, url)
    name_server = Dns("registry.test=127.0.0.1")
    return Proxy(f"registry.test:{port}", tcp=True, settings=config(resolver=name_server.address)), url


def npm():
    proxy, url = served_registry()
    argv = ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--registry", url, "tiny"]
    got = run_client(proxy, argv, npm_config_cafile=PKI + "/root.pem", npm_config_cache=WORK + "/cache")
    assert got.returncode == 0 and os.path.exists(WORK + "/node_modules/tiny/package.json"), got
    assert {each["verdict"] for each in proxy.records("decision")} == {"allowed"}, proxy.records()


def pip():
    proxy, url = served_registry()
    argv = [sys.executable, "-m", "pip", "download", "-q", "--no-index", "--no-deps", "--disable-pip-version-check",
            "--retries", "0", "--find-links", url + "links.html", "tiny"]  # fmt: skip
    got = run_client(proxy, argv, PIP_CERT=PKI + "/root.pem")
    assert got.returncode == 0 and os.path.exists(os.path.join(WORK, registry.WHEEL)), got


def git():
    folder = os.path.join(WORK, "git")
    port = file_origin("--git", folder)
    name_server = Dns("git.test=127.0.0.1")
    proxy = Proxy(f"git.test:{port}", tcp=True, settings=config(resolver=name_server.address))
    settings = {"GIT_SSL_CAINFO": PKI + "/root.pem", "GIT_CONFIG_NOSYSTEM": "1"}
    clone = ["git", "clone", "-q", f"https://git.test:{port}/repo.git", WORK + "/clone"]
    got = run_client(proxy, clone, **settings)
    assert got.returncode == 0 and os.path.exists(WORK + "/clone/file"), got
    clone[-2:] = [f"https://other.test:{port}/repo.git", WORK + "/other"]
    got = run_client(proxy, clone, **settings)
    assert got.returncode != 0 and "403" in got.stderr, got


def main():
    try:
        globals()[sys.argv[1]]()
    finally:
        for process in started:
            process.kill()
            process.wait()


main()
