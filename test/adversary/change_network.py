#!/usr/bin/env python3
# Misdeed: addresses or routes of the host are changed, where its network is open
# Witness: they can be listed
# Run: network=full
import socket, struct, sys
sys.path.insert(0, sys.path[0])
from lib import allowed, forbidden, finish

def ask(kind, flags, body):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.settimeout(5)
        link.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        answer = link.recv(65536)
        if struct.unpack("=H", answer[4:6])[0] == 2 and struct.unpack("=i", answer[16:20])[0] != 0:
            raise OSError("refused")

allowed("list the links", lambda: ask(18, 0x301, b"\0" * 16))
forbidden("switch the loopback off", lambda: ask(16, 5, struct.pack("=BxHiII", 0, 0, 1, 0, 1)))
forbidden("a dummy link", lambda: ask(16, 0x605, b"\0" * 16 + struct.pack("=HH", 16, 18) + struct.pack("=HH6sxx", 10, 1, b"dummy\0")))
finish()
