"""How the kernel's nftables translates packets: run in a network namespace of its own.

The argument is a file of rules for nft. Reads packets from the standard input, a line each: 0 (from
inside) or 1, and the packet in hexadecimal digits. Answers each with a line: the packet that left
on the other side with the same identification, or nothing.
"""

import os
import select
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../firewall"))
import kernel  # noqa: E402 the firewall's, which sets the router up

# Follows each packet on its way: who sees it has seen what became of the packet.
MARK = [("2001:db8::2", "2001:db8:1::2"), ("2001:db8:1::2", "2001:db8::2")]


def mark(side):
    ends = b"".join(socket.inet_pton(socket.AF_INET6, end) for end in MARK[side])
    return b"\x60\0\0\0" + (8).to_bytes(2, "big") + bytes([59, 64]) + ends + bytes(8)


def next_packet(end):
    while True:
        if not select.select([end], [], [], 10)[0]:
            raise TimeoutError("the packet that follows did not arrive")
        frame, address = end.recvfrom(4096)
        if address[2] != kernel.OUTGOING and frame[:6] == kernel.HOST:
            return frame[14:]


def main():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    kernel.set_up(sys.argv[1])
    ends, marks = kernel.hosts(), [mark(0), mark(1)]
    for line in sys.stdin:
        side, packet = int(line[0]), bytes.fromhex(line[2:])
        for kind, bytes_ in ((b"\x08\x00", packet), (b"\x86\xdd", marks[side])):
            ends[side].send(kernel.ROUTER[side] + kernel.HOST + kind + bytes_)
        left = b""
        while (seen := next_packet(ends[1 - side]))[0] >> 4 == 4:
            if seen[4:6] == packet[4:6]:
                left = seen
        kernel.drain(ends[side], set())
        print(left.hex(), flush=True)


main()
