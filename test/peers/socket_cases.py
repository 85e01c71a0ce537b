#!/usr/bin/env python3
"""Plays what meets a broker's socket: many clients, half-open ones, slow ones, a supervisor.

usage: socket_cases.py CASE SOCKET [COMMAND...]
  idle N            opens N connections that say hello and nothing more; prints "held"; ends with its stdin
  open N            opens N connections that say nothing; prints "held"; ends with its stdin
  half-open         says nothing; prints the error that comes and "closed"
  slow              a hello and a snapshot request, one byte at a time; prints "answered"
  huge              a frame of 16 MiB of nils, and one whose length is over the cap; prints what comes
  listen COMMAND    makes the socket, passes it as a supervisor does and becomes COMMAND
  notify COMMAND    a supervisor's notification socket for COMMAND: prints each state that is told
"""
import os
import resource
import signal
import socket
import struct
import subprocess
import sys

CASE, PATH, REST = sys.argv[1], sys.argv[2], sys.argv[3:]
PATIENCE = 20


def text(value):
    return bytes([0xA0 | len(value)]) + value.encode()


def frame(number, kind, body):
    payload = b"\x84" + text("v") + b"\x01" + text("id") + bytes([number]) + text("kind") + text(kind) + text("body") + body
    return struct.pack(">I", len(payload)) + payload


HELLO = frame(0, "hello", b"\x83" + text("proto") + b"\x01" + text("peer") + text("t") + text("features") + b"\x90")


def connect():
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect(PATH)
    return client


def read(client, count):
    data = b""
    while len(data) < count:
        part = client.recv(count - len(data))
        if not part:
            return None
        data += part
    return data


def next_frame(client):
    header = read(client, 4)
    return None if header is None else read(client, struct.unpack(">I", header)[0])


def hold(count, says_hello):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    clients = [connect() for _ in range(count)]
    for client in clients if says_hello else []:
        next_frame(client)
        client.sendall(HELLO)
    print("held", flush=True)
    sys.stdin.read()


def half_open():
    client = connect()
    next_frame(client)
    answer = next_frame(client)
    print("protocol_violation" if answer and b"protocol_violation" in answer else answer)
    print("closed" if next_frame(client) is None else "more")


def slow():
    client = connect()
    next_frame(client)
    for byte in HELLO + frame(7, "snapshot", b"\x80"):
        client.sendall(bytes([byte]))
    answer = next_frame(client)
    print("answered" if answer and b"incarnation" in answer else answer)


def huge():
    count = (16 << 20) - 200
    body = b"\x81" + text("x") + b"\xdd" + struct.pack(">I", count) + b"\xc0" * count
    for what in (frame(7, "snapshot", body), struct.pack(">I", (16 << 20) + 1)):
        client = connect()
        next_frame(client)
        try:
            client.sendall(HELLO + what)
        except OSError:
            pass
        answer = next_frame(client)
        print("malformed_frame" if answer and b"malformed_frame" in answer else answer)
        print("closed" if next_frame(client) is None else "more")


def listen():
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(PATH)
    listening.listen(64)
    os.dup2(listening.fileno(), 3)
    os.set_inheritable(3, True)
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
    os.execv(REST[0], REST)


def notify():
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(PATH)
    told.settimeout(PATIENCE)
    child = subprocess.Popen(REST, env=dict(os.environ, NOTIFY_SOCKET=PATH))
    while True:
        state = told.recv(4096).decode()
        print(state, flush=True)
        if "READY=1" in state:
            child.send_signal(signal.SIGTERM)
        if "STOPPING=1" in state:
            break
    print("left", child.wait(PATIENCE))


if CASE in ("idle", "open"):
    hold(int(REST[0]), CASE == "idle")
else:
    {"half-open": half_open, "slow": slow, "huge": huge, "listen": listen, "notify": notify}[CASE]()
