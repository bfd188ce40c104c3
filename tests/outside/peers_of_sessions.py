"""Peers of the host stack that are sockets of the kernel.

usage: peers_of_sessions.py client|server|reset|half|many|flood|noise ADDRESS PORT NUMBER
"""

import os
import random
import socket
import struct
import sys
import threading
import time

KIND, ADDRESS, PORT, NUMBER = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
FAMILY = socket.AF_INET6 if ":" in ADDRESS else socket.AF_INET
LIMIT = 60


def connected():
    s = socket.socket(FAMILY, socket.SOCK_STREAM)
    s.settimeout(LIMIT)
    s.connect((ADDRESS, PORT))
    return s


def read(s, count):
    got = bytearray()
    while len(got) < count:
        part = s.recv(1 << 16)
        if not part:
            break
        got += part
    return bytes(got)


def client():
    """Sends bytes to an echo, both ways at once, and closes when all has come back."""
    data = random.randbytes(NUMBER)
    s = connected()
    sender = threading.Thread(target=s.sendall, args=(data,))
    sender.start()
    got = read(s, NUMBER)
    sender.join()
    s.shutdown(socket.SHUT_WR)
    assert got == data, f"{len(got)} bytes of {NUMBER}, others than were sent"
    assert s.recv(1) == b"", "the echo has closed"
    print("ok", NUMBER)


def server():
    """Echoes so many connections."""
    listening = socket.socket(FAMILY, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((ADDRESS, PORT))
    listening.listen(128)
    listening.settimeout(LIMIT)
    for _ in range(NUMBER):
        s, _ = listening.accept()
        s.settimeout(LIMIT)

        def echo(s):
            while part := s.recv(1 << 16):
                s.sendall(part)
            s.close()

        threading.Thread(target=echo, args=(s,)).start()


def reset():
    """Ends connections with a reset, amid data."""
    for _ in range(NUMBER):
        s = connected()
        s.sendall(b"x" * 1000)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    print("ok", NUMBER)


def half():
    """Closes its direction before it reads."""
    for _ in range(NUMBER):
        s = connected()
        s.sendall(b"hello")
        s.shutdown(socket.SHUT_WR)
        assert read(s, 6) == b"hello"
    print("ok", NUMBER)


def many():
    """Connections at the same time, each with a message of its own."""
    all = [connected() for _ in range(NUMBER)]
    for n, s in enumerate(all):
        s.sendall(b"%08d" % n)
    for n, s in enumerate(all):
        assert read(s, 8) == b"%08d" % n
    for s in all:
        s.close()
    print("ok", NUMBER)


def checksum(data):
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def segment(source, flags, rest=b"", options=b""):
    """An IPv4 packet with a segment from a source that may not exist."""
    target = socket.inet_aton(ADDRESS)
    port, seq, ack = random.randrange(1024, 65536), random.getrandbits(32), random.getrandbits(32)
    words = 5 + (len(options) + 3) // 4
    options = options.ljust(4 * (words - 5), b"\0")
    head = struct.pack(">HHIIBBHHH", port, PORT, seq, ack, words << 4, flags, 1000, 0, 0)
    tcp = head + options + rest
    pseudo = source + target + struct.pack(">HH", 6, len(tcp))
    tcp = tcp[:16] + struct.pack(">H", checksum(pseudo + tcp)) + tcp[18:]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0) + source + target
    return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + tcp


def raw():
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    network = socket.inet_aton(ADDRESS)[:3]
    return s, lambda: network + bytes([random.randrange(2, 255)])


def flood():
    """SYNs from many sources, that none answers for."""
    s, source = raw()
    mss = b"\2\4\5\xb4"
    for _ in range(NUMBER):
        s.sendto(segment(source(), 2, options=mss), (ADDRESS, 0))
    print("ok", NUMBER)


def noise():
    """Segments with any flags, options and data."""
    s, source = raw()
    for _ in range(NUMBER):
        flags = random.choice([1, 2, 4, 16, 17, 18, 20, 24, 63, 0, random.getrandbits(8)])
        options = os.urandom(random.randrange(0, 41))
        rest = os.urandom(random.choice([0, 1, 100, 1000]))
        s.sendto(segment(source(), flags, rest, options), (ADDRESS, 0))
    print("ok", NUMBER)


globals()[KIND]()
