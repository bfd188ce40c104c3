#!/usr/bin/env python3
"""Makes routed.pcap and local.pcap anew: what the tests send into pg0 of the router.

The router is 10.0.0.1 and 2001:db8::1 (02:00:00:00:00:aa) on pg0, the sender 10.0.0.2 and 2001:db8::2
(02:00:00:00:00:01). See README.md for what is in the files.
"""
import ipaddress
import os
import struct

HOST, ROUTER = bytes.fromhex("020000000001"), bytes.fromhex("0200000000aa")
ICMP, TCP, UDP, ICMP6 = 1, 6, 17, 58


def address(text):
    return ipaddress.ip_address(text).packed


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def sealed(src, dst, protocol, segment, at):
    """The segment with its checksum at offset `at`."""
    pseudo = b"" if protocol == ICMP else src + dst + struct.pack(">II", len(segment), protocol)
    total = checksum(pseudo + segment) or (0xFFFF if protocol == UDP else 0)
    return segment[:at] + struct.pack(">H", total) + segment[at + 2 :]


def ip(src, dst, protocol, segment, at, ttl=64, more=0, offset=0, dst_mac=ROUTER):
    """An Ethernet frame with an IPv4 or IPv6 packet."""
    src, dst = address(src), address(dst)
    if at is not None:
        segment = sealed(src, dst, protocol, segment, at)
    if len(src) == 4:
        fragment = more << 13 | offset
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 7, fragment, ttl, protocol, 0)
        head += src + dst
        head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
        return dst_mac + HOST + b"\x08\x00" + head + segment
    head = struct.pack(">IHBB", 6 << 28, len(segment), protocol, ttl)
    return dst_mac + HOST + b"\x86\xdd" + head + src + dst + segment


def udp(src, dst, size, **more):
    segment = struct.pack(">HHHH", 40000, 50000, 8 + size, 0) + bytes(i % 256 for i in range(size))
    return ip(src, dst, UDP, segment, 6, **more)


def tcp(src, dst, flags, size=0):
    segment = struct.pack(">HHIIBBHHH", 1234, 80, 1000, 2000, 0x50, flags, 65535, 0, 0) + b"x" * size
    return ip(src, dst, TCP, segment, 16)


def echo(src, dst, size, **more):
    is_4 = "." in src
    head = struct.pack(">BBHHH", 8 if is_4 else 128, 0, 0, 77, 1)
    return ip(src, dst, ICMP if is_4 else ICMP6, head + b"e" * size, 2, **more)


def fragments(src, dst):
    """A datagram of 128 bytes in two halves."""
    whole = udp(src, dst, 120)[34:]
    first = ip(src, dst, UDP, whole[:64], None, more=1)
    return [first, ip(src, dst, UDP, whole[64:], None, offset=8)]


def arp_request(ask):
    body = HOST + address("10.0.0.2") + bytes(6) + address(ask)
    return b"\xff" * 6 + HOST + b"\x08\x06" + struct.pack(">HHBBH", 1, 0x800, 6, 4, 1) + body + bytes(18)


def solicitation(ask):
    low = address(ask)[13:]
    group = "ff02::1:ff%02x:%02x%02x" % tuple(low)
    segment = struct.pack(">BBHI", 135, 0, 0, 0) + address(ask) + b"\x01\x01" + HOST
    dst_mac = bytes.fromhex("3333ff") + low
    return ip("2001:db8::2", group, ICMP6, segment, 2, ttl=255, dst_mac=dst_mac)


H4, H6, SYN, ACK = "10.0.0.2", "2001:db8::2", 2, 16
FILES = {
    "routed": [
        udp(H4, "16.0.0.1", 22),
        udp(H4, "16.1.2.3", 1458),
        udp(H4, "16.255.255.254", 3, ttl=2),
        tcp(H4, "16.0.0.2", SYN),
        tcp(H4, "16.0.0.2", ACK, 100),
        echo(H4, "16.0.0.3", 56),
        *fragments(H4, "16.0.0.4"),
        udp(H6, "2001:db8:ff::1", 22),
        udp(H6, "2001:db8:ff::2", 1432, ttl=255),
        tcp(H6, "2001:db8:ff:ffff::3", SYN),
        tcp(H6, "2001:db8:ff::4", ACK, 7),
        echo(H6, "2001:db8:ff::5", 56, ttl=2),
    ],
    "local": [
        arp_request("10.0.0.1"),
        solicitation("2001:db8::1"),
        echo(H4, "10.0.0.1", 56),
        echo(H4, "10.0.0.1", 1457),
        echo(H6, "2001:db8::1", 56),
        udp(H4, "16.0.0.1", 22, ttl=1),
        udp(H6, "2001:db8:ff::1", 22, ttl=1),
        udp(H4, "10.0.0.1", 22),
        udp(H6, "2001:db8::1", 22),
        udp(H4, "10.0.1.77", 22),
        udp(H6, "2001:db8:1::77", 22),
        udp(H4, "99.0.0.1", 22),
        udp(H6, "2001:db8:99::1", 22),
    ],
}

here = os.path.dirname(os.path.abspath(__file__))
for name, frames in FILES.items():
    with open(os.path.join(here, name + ".pcap"), "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(frames):
            file.write(struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame)
