#!/usr/bin/env python3
# Misdeed: a program of the host is reached through its loopback, where the network is off
# Witness: it has a loopback of its own
import os, socket, sys
from lib import allowed, forbidden, finish

pair = socket.socketpair()
allowed("a local pair", lambda: pair[0].send(b"x") == 1)
port = int(sys.argv[4])
forbidden("connect", lambda: socket.create_connection(("127.0.0.1", port), 5))
forbidden("connect by name", lambda: socket.create_connection(("localhost", port), 5))
forbidden("by the shell", lambda: os.system(f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>/dev/null") == 0)
finish()
