"""What hosts send to groups, and what members of groups get.

usage: multicast.py send SOURCE GROUP COUNT SIZE HOPS    prints length and checksum of each datagram
       multicast.py receive FILE GROUP...                writes a line for each datagram into FILE, and all frames to
                                                         groups that come in by eth0 into FILE.pcap, until it is killed
"""

import select
import socket
import struct
import sys
import zlib

PORT = 5000
DEVICE = socket.if_nametoindex("eth0")
# Numbers that the socket module does not have everywhere.
IP_MTU_DISCOVER, IP_RECVTTL, SO_RCVBUFFORCE = 10, 12, 33
ETH_P_ALL, PACKET_OUTGOING = 3, 4
# Room for all that is sent at once.
ROOM = 1 << 23


def member(group):
    """A socket that gets what is sent to a group."""
    if ":" in group:
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        request = socket.inet_pton(socket.AF_INET6, group) + struct.pack("@I", DEVICE)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, request)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        request = socket.inet_aton(group) + socket.inet_aton("0.0.0.0") + struct.pack("@I", DEVICE)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
        s.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
    s.bind((group, PORT))
    return s


def receive(path, groups):
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    wire.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
    wire.bind(("eth0", ETH_P_ALL))
    members = {member(group): group for group in groups}
    with open(path, "w") as out, open(f"{path}.pcap", "wb") as frames:
        frames.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65536, 1))
        print("ready", file=out, flush=True)
        while True:
            for s in select.select([wire, *members], [], [])[0]:
                if s is wire:
                    frame, where = s.recvfrom(65536)
                    is_ours = frame[:3] == b"\x01\x00\x5e" or frame[:2] == b"\x33\x33"
                    if is_ours and where[2] != PACKET_OUTGOING:
                        frames.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
                        frames.flush()
                    continue
                data, control, _, source = s.recvmsg(65536, 64)
                hops = struct.unpack("@i", control[0][2])[0]
                line = f"{members[s]} from {source[0]} hops {hops}: {len(data)} {zlib.crc32(data)}"
                print(line, file=out, flush=True)


def send(source, group, count, size, hops):
    if ":" in group:
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, DEVICE)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, hops)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(source))
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, hops)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        # Who sends to a group lets routers cut what is too long.
        s.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, 0)
    s.bind((source, 0))
    for number in range(count):
        data = bytes((number * 7 + i) % 251 for i in range(size))
        s.sendto(data, (group, PORT))
        print(f"{size} {zlib.crc32(data)}")


if sys.argv[1] == "send":
    send(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:7]))
else:
    receive(sys.argv[2], sys.argv[3:])
