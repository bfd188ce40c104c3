"""Segments through interfaces that join them, with the clients' own unmodified library.

usage: gro.py SOCKET FOLDER-OF-JSON FOLDER
"""

import ipaddress
import os
import struct
import sys
import time

from vpp_papi import VPPApiClient

SOCKET, JSON, FOLDER = sys.argv[1:4]
LIMIT = 60
ACK, PSH = 0x10, 0x08

client = VPPApiClient(apidir=JSON, server_address=SOCKET, read_timeout=LIMIT)
client.connect("gro.py")
api = client.api


def checksum(data):
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def segment(mac, is_ip6, seq, ack, data, flags=ACK, padding=0):
    """A TCP segment that comes to pg0 for the host behind pg2."""
    source, target = ("2001:db8::2", "2001:db8:2::2") if is_ip6 else ("10.0.0.2", "10.0.2.2")
    addresses = ipaddress.ip_address(source).packed + ipaddress.ip_address(target).packed
    tcp = struct.pack(">HHIIBBHHH", 1234, 4321, seq, ack, 0x50, flags, 8192, 0, 0) + data
    total = checksum(addresses + struct.pack(">II", len(tcp), 6) + tcp)
    tcp = tcp[:16] + struct.pack(">H", total) + tcp[18:]
    if is_ip6:
        kind, head = 0x86DD, struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + addresses
    else:
        kind = 0x0800
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0x4000, 64, 6, 0) + addresses
        head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    ethernet = mac + bytes.fromhex("020000000001") + struct.pack(">H", kind)
    return ethernet + head + tcp + bytes(padding)


def datagram(mac):
    """A UDP datagram that comes to pg0 for the host behind pg2."""
    addresses = bytes([10, 0, 0, 2, 10, 0, 2, 2])
    head = struct.pack(">BBHHHBBH", 0x45, 0, 28, 1, 0x4000, 64, 17, 0) + addresses
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    udp = struct.pack(">HHHH", 1234, 4321, 8, 0)
    return mac + bytes.fromhex("0200000000010800") + head + udp + bytes(18)


def write(path, frames):
    """A capture file of these frames."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65536, 1))
        for data in frames:
            file.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


def cli(line):
    reply = api.cli_inband(cmd=line + "\n")
    assert reply.retval == 0, (line, reply.reply)
    return reply.reply


def interface(number, flags=0, size=0):
    made = api.pg_create_interface_v3(interface_id=number, pg_flags=flags, gso_size=size)
    index = made.sw_if_index
    assert api.sw_interface_set_flags(sw_if_index=index, flags=1).retval == 0
    for prefix in [f"10.0.{number}.1/24", f"2001:db8:{number or ''}::1/64".replace(":::", "::")]:
        added = api.sw_interface_add_del_address(sw_if_index=index, is_add=1, prefix=prefix)
        assert added.retval == 0, added
    for address in [f"10.0.{number}.2", f"2001:db8:{number or ''}::2".replace(":::", "::")]:
        neighbor = {
            "sw_if_index": index, "flags": 1,
            "mac_address": "02:00:00:00:00:bb", "ip_address": address,
        }  # fmt: skip
        assert api.ip_neighbor_add_del(is_add=1, neighbor=neighbor).retval == 0
    return index


def row(data):
    """Length of the data of a TCP packet, its acknowledgment and data. None of another packet."""
    is_ip6 = data[12:14] == b"\x86\xdd"
    if (data[20] if is_ip6 else data[23]) != 6:
        return None
    tcp = 54 if is_ip6 else 34
    # IPv6 counts what follows its header; 20 bytes are TCP's header.
    length = struct.unpack_from(">H", data, 18 if is_ip6 else 16)[0] - (20 if is_ip6 else 40)
    return length, struct.unpack_from(">I", data, tcp + 8)[0], data[tcp + 20 :]


def captured(path):
    """The rows of a capture file."""
    found = []
    with open(path, "rb") as file:
        file.read(24)
        while head := file.read(16):
            found.append(row(file.read(struct.unpack("<IIII", head)[2])))
    return [each for each in found if each]


def length(rows):
    """Length of the data of all."""
    return sum(each[0] for each in rows)


def through(frames):
    """The rows of the packets that come out when these go in."""
    source, out, after = (f"{FOLDER}/{name}.pcap" for name in ("in", "out", "after"))
    write(source, frames)
    write(after, [datagram(mac)])
    cli(f"packet-generator capture pg2 pcap {out}")
    cli(f"packet-generator new pcap {source} source pg0 name burst")
    cli("packet-generator enable")
    end, came = time.monotonic() + LIMIT, []
    while length(came) < length(map(row, frames)):
        assert time.monotonic() < end, f"{len(came)} packets have not all the data"
        # What waits for more to be joined leaves ahead of the next packets.
        cli(f"packet-generator new pcap {after} source pg0 name after")
        cli("packet-generator enable-stream after")
        cli("packet-generator delete after")
        time.sleep(0.01)
        came = captured(out) if os.path.exists(out) else []
    cli("packet-generator delete burst")
    cli(f"packet-generator capture pg2 pcap {out} disable")
    os.remove(out)
    return came


def joined(frames, expected):
    """The rows of the packets that come out, as many as expected.

    A router that waits for a processor within a burst ends what it joins: then it is tried again.
    """
    for _ in range(10):
        came = through(frames)
        counted[0] += len(frames)
        counted[1] += len(came)
        if len(came) == expected:
            return came
    raise AssertionError(f"{len(came)} packets, not {expected}")


counted = [0, 0]
inner, outer = interface(0), interface(2, 2, 1460)
details = [i for i in api.sw_interface_dump() if i.sw_if_index == inner]
mac = details[0].l2_address.packed

stream = [segment(mac, False, n * 1460, n, bytes([n]) * 1460) for n in range(124)]
assert [each[0] for each in through(stream)] == [1460] * 124, "not asked for yet"
assert api.pg_interface_enable_disable_coalesce(sw_if_index=outer, coalesce_enabled=1).retval == 0
assert api.pg_interface_enable_disable_coalesce(sw_if_index=99, coalesce_enabled=1).retval == -2

# 44 segments are what fits, and the last one says what is acknowledged.
came = joined(stream, 3)
assert [each[:2] for each in came] == [(64240, 43), (64240, 87), (52560, 123)], came
# A capture has so much of a packet; 54 bytes are headers.
most, whole = 9216 - 54, b"".join(bytes([n]) * 1460 for n in range(124))
parts = [whole[n * 44 * 1460 :][: 44 * 1460][:most] for n in range(3)]
assert [each[2] for each in came] == parts
stream = [segment(mac, True, n * 1460, n, bytes(1460)) for n in range(88)]
assert [each[:2] for each in joined(stream, 2)] == [(64240, 43), (64240, 87)]

# Each second one pushes, or is short and has padding behind it.
pairs = []
for n in range(62):
    pairs.append(segment(mac, False, n * 2800, 2 * n, bytes(1460)))
    pairs.append(segment(mac, False, n * 2800 + 1460, 2 * n + 1, bytes(1340), ACK | PSH))
assert [each[:2] for each in joined(pairs, 62)] == [(2800, 2 * n + 1) for n in range(62)]
pairs = []
for n in range(62):
    pairs.append(segment(mac, False, n * 1460, 2 * n, bytes(1459)))
    pairs.append(segment(mac, False, n * 1460 + 1459, 2 * n + 1, b"x", padding=5))
assert [each[:2] for each in joined(pairs, 62)] == [(1460, 2 * n + 1) for n in range(62)]
shown = cli("show packet-generator interface pg2")
assert "coalesce: enabled" in shown and f"{counted[0]} segments joined to {counted[1]} packets" in shown, shown

assert api.pg_interface_enable_disable_coalesce(sw_if_index=outer, coalesce_enabled=0).retval == 0
assert len(through(pairs)) == 124
client.disconnect()
print("done")
