#!/usr/bin/env python3
"""A web origin for tests: TLS with a certificate that the test made, and every misbehaviour by its path.

usage: origin.py --ready FIFO [--log FILE] [--host ADDRESS] [--port N] [--cert PEM --key KEY] [--tls 1.1|1.2] [--files DIR] [--git DIR]
                 [--mode serve|keep|handshake-drip|not-tls|full|deaf]
Without --cert it speaks plain HTTP. Binds 127.0.0.1 unless told another, writes its port to FIFO when it listens, and ends with its parent.
Each request becomes one line of JSON in the log: {connection, sni, tls, resumed, method, target, headers: [[name, value]],
body}; a handshake that failed becomes {"failed": why}. Every answer closes its connection, but in mode keep.

  /echo              200, the logged line as JSON
  /text/WORDS        200 text/plain, the words
  /status/N          N, no body
  /redirect/N?URL    N with Location: URL (as it stands; %XX are decoded)
  /raw?BASE64URL     exactly these bytes, then close
  /cut?BASE64URL     the same, but the TCP connection is cut without a TLS close
  /reflect           200 text/plain: every header of the request, one a line
  /reflect-binary    the same between bytes that are no UTF-8; /reflect-gzip, the same compressed
  /drip/head, /drip/body   a byte every 50 ms, for ever (a body of 1000 bytes is announced)
  /flood             chunked, without an end
  /flood/head, /flood/line     header lines without an end, one without an end
  /big/N             N bytes with a Content-Length      /hang         nothing, for ever
  /gzip              10 MiB of zeros, gzipped, Content-Encoding: gzip
  /files/PATH        from --files (a FIFO there is answered when somebody has written to it)
                                                        /NAME.git/... from --git by git http-backend
"""

import argparse
import base64
import ctypes
import gzip
import itertools
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse


KEEP = False


class Log:
    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if path else -1

    def write(self, entry):
        if self.fd >= 0:
            os.write(self.fd, (json.dumps(entry) + "\n").encode())


class Request:
    """One request as it came; what the handlers answer from."""

    def __init__(self, stream):
        self.stream = stream
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline(65537)
            if not line:
                raise EOFError
            head += line
        lines = head.decode("latin-1").split("\r\n")[:-2]
        self.method, self.target, _ = lines[0].split(" ", 2)
        self.headers = [[part.strip() for part in line.split(":", 1)] for line in lines[1:]]
        self.body = self.read_body()

    def header(self, name):
        return next((value for key, value in self.headers if key.lower() == name), None)

    def read_body(self):
        if (self.header("transfer-encoding") or "").lower() == "chunked":
            body = b""
            while size := int(self.stream.readline().split(b";")[0], 16):
                body += self.stream.read(size)
                self.stream.readline()
            self.stream.readline()
            return body
        return self.stream.read(int(self.header("content-length") or 0))

    def described(self, sock, number):
        tls = isinstance(sock, ssl.SSLSocket)
        return {
            "connection": number,
            "sni": getattr(sock, "asked_name", None),
            "tls": sock.version() if tls else None,
            "resumed": sock.session_reused if tls else None,
            "method": self.method,
            "target": self.target,
            "headers": self.headers,
            "body": self.body.decode("latin-1"),
        }


def head(status, *headers, reason="As Asked"):
    lines = [f"HTTP/1.1 {status} {reason}", *headers, *([] if KEEP else ["Connection: close"]), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def whole(body, kind="text/plain", status=200, *headers):
    return head(status, f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers) + body


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def drip(sock, before, piece):
    sock.sendall(before)
    while True:
        time.sleep(0.05)  # the misbehaviour itself: nobody waits for this to be over
        sock.sendall(piece)


def flood(sock, before, piece):
    sock.sendall(before)
    while True:
        sock.sendall(piece)


def cut(sock, data):
    sock.sendall(data)
    raw = sock.detach()  # no close_notify
    os.close(raw)


def git(sock, request, options):
    path, _, query = request.target.partition("?")
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": options.git,
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.header("content-type") or "",
        "CONTENT_LENGTH": str(len(request.body)),
        "HTTP_CONTENT_ENCODING": request.header("content-encoding") or "",
        "GIT_PROTOCOL": request.header("git-protocol") or "",
        "REMOTE_ADDR": "127.0.0.1",
    }
    done = subprocess.run(["git", "http-backend"], input=request.body, env=environment, capture_output=True, check=False)
    fields, _, body = done.stdout.partition(b"\r\n\r\n")
    lines = fields.decode("latin-1").split("\r\n") if fields else []
    status = next((line.split(":", 1)[1].split()[0] for line in lines if line.lower().startswith("status:")), "200")
    kept = [line for line in lines if not line.lower().startswith("status:")]
    sock.sendall(head(status, *kept, f"Content-Length: {len(body)}") + body)


def files(sock, path, options):
    name = os.path.realpath(os.path.join(options.files, urllib.parse.unquote(path)))
    if not name.startswith(os.path.realpath(options.files) + "/") or os.path.isdir(name) or not os.path.exists(name):
        return sock.sendall(whole(b"no such file\n", status=404))
    kinds = {".html": "text/html", ".json": "application/json", ".txt": "text/plain"}
    with open(name, "rb") as file:
        return sock.sendall(whole(file.read(), kinds.get(os.path.splitext(name)[1], "application/octet-stream")))


def answer(sock, request, options, described):
    path, _, query = request.target.partition("?")
    word, _, rest = path[1:].partition("/")
    shown = "\n".join(f"{name}: {value}" for name, value in request.headers).encode("latin-1")
    if word.endswith(".git") and options.git:
        git(sock, request, options)
    elif word == "echo":
        sock.sendall(whole(json.dumps(described).encode(), "application/json"))
    elif word == "text":
        sock.sendall(whole(urllib.parse.unquote(rest).encode()))
    elif word == "status":
        sock.sendall(head(int(rest), "Content-Length: 0"))
    elif word == "redirect":
        sock.sendall(whole(b"elsewhere\n", "text/plain", int(rest), "Location: " + urllib.parse.unquote(query)))
    elif word == "raw":
        sock.sendall(decoded(query))
    elif word == "cut":
        cut(sock, decoded(query))
    elif word == "reflect":
        sock.sendall(whole(shown))
    elif word == "reflect-binary":
        sock.sendall(whole(b"\xff\xfe" + shown + b"\xff"))
    elif word == "reflect-gzip":
        sock.sendall(whole(gzip.compress(shown), "text/plain", 200, "Content-Encoding: gzip"))
    elif path == "/drip/head":
        drip(sock, b"HTTP/1.1 200 OK\r\nX-Slow: ", b"y")
    elif path == "/drip/body":
        drip(sock, head(200, "Content-Length: 1000"), b"y")
    elif path == "/flood":
        flood(sock, head(200, "Transfer-Encoding: chunked"), b"1000\r\n" + b"x" * 4096 + b"\r\n")
    elif path == "/flood/head":
        flood(sock, b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"y" * 1000 + b"\r\n")
    elif path == "/flood/line":
        flood(sock, b"HTTP/1.1 200 OK\r\nX-More: ", b"y" * 1000)
    elif word == "big":
        sock.sendall(whole(b"x" * int(rest)))
    elif word == "gzip":
        sock.sendall(whole(gzip.compress(bytes(10 << 20)), "text/plain", 200, "Content-Encoding: gzip"))
    elif word == "hang":
        threading.Event().wait()
    elif word == "files" and options.files:
        files(sock, rest, options)
    else:
        sock.sendall(whole(b"not here\n", status=404))


def serve(sock, number, context, options, log):
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if options.mode == "handshake-drip":
            return drip(sock, b"", b"\x16\x03\x03\x40\x00" + bytes(11))
        if options.mode == "not-tls":
            return sock.sendall(b"220 this is no TLS\r\n")
        if context:
            sock = context.wrap_socket(sock, server_side=True)
        if options.mode == "deaf":
            threading.Event().wait()
        stream = sock.makefile("rb")
        while True:
            request = Request(stream)
            described = request.described(sock, number)
            log.write(described)
            answer(sock, request, options, described)
            if not KEEP:
                break
        if isinstance(sock, ssl.SSLSocket) and sock.fileno() >= 0:
            sock = sock.unwrap()
    except ssl.SSLError as error:
        log.write({"failed": error.reason or "?"})
    except (OSError, EOFError):
        pass  # the client has left, as it may
    finally:
        sock.close()


def make_context(options):
    if not options.cert:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.cert, options.key)
    if options.tls == "1.1":
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1_1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    elif options.tls == "1.2":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.sni_callback = lambda sock, name, _: setattr(sock, "asked_name", name)
    return context


def fill_queue(listener):
    """Whoever connects from now on waits for ever: the queue is full and nobody accepts."""
    waiting = []
    while True:
        sock = socket.socket()
        sock.settimeout(0.2)
        waiting.append(sock)
        try:
            sock.connect(listener.getsockname())
        except OSError:
            return waiting


def main():
    global KEEP
    parser = argparse.ArgumentParser()
    for name in ("--ready", "--log", "--cert", "--key", "--tls", "--files", "--git"):
        parser.add_argument(name)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--mode", default="serve")
    options = parser.parse_args()
    KEEP = options.mode == "keep"
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    listener = socket.socket(socket.AF_INET6 if ":" in options.host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((options.host, options.port))
    listener.listen(0 if options.mode == "full" else 128)
    held = fill_queue(listener) if options.mode == "full" else []
    context = make_context(options)
    log = Log(options.log)
    if options.ready:
        with open(options.ready, "w", encoding="ascii") as ready:
            ready.write(f"{listener.getsockname()[1]}\n")
    if held:
        threading.Event().wait()
    for number in itertools.count(1):
        sock, _ = listener.accept()
        threading.Thread(target=serve, args=(sock, number, context, options, log), daemon=True).start()


main()
