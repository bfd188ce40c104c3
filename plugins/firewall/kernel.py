"""What the kernel's nftables and conntrack let pass: run in a network namespace of its own.

Arguments: a file of rules for nft, and one of packets, a line each: 0 (from inside) or 1, and the
packet in hexadecimal digits. Prints the numbers of those that pass; a packet carries its number in
the identification of IPv4 or in the last 16 bits of the flow label of IPv6.
"""

import os
import socket
import subprocess
import sys

ALL = 3  # ETH_P_ALL
OUTGOING = 4  # PACKET_OUTGOING
HOST = bytes.fromhex("020000000001")
ROUTER = [bytes.fromhex("0200000000aa"), bytes.fromhex("0200000000ab")]


def run(line):
    subprocess.run(line.split(), check=True)


def setting(name, value):
    with open(f"/proc/sys/net/{name}", "w") as file:
        file.write(value)


def set_up(rules):
    setting("ipv4/ip_forward", "1")
    setting("ipv6/conf/all/forwarding", "1")
    setting("ipv6/conf/default/accept_dad", "0")
    for kind in ("all", "default"):
        setting(f"ipv4/conf/{kind}/rp_filter", "0")
    for n, name in enumerate(("in", "out")):
        run(f"ip link add {name} type veth peer name {name}host")
        mac = ROUTER[n].hex(":")
        run(f"ip link set {name} address {mac} up")
        run(f"ip link set {name}host up")
        run(f"ip address add 10.0.{n}.1/24 dev {name}")
        net = "2001:db8::" if n == 0 else "2001:db8:1::"
        run(f"ip address add {net}1/64 dev {name} nodad")
        for host in range(2, 10):
            for address in (f"10.0.{n}.{host}", f"{net}{host}"):
                run(f"ip neighbor add {address} lladdr {HOST.hex(':')} dev {name}")
    run(f"nft -f {rules}")
    # Connections are followed from their beginning, and windows do not count.
    setting("netfilter/nf_conntrack_tcp_loose", "0")
    setting("netfilter/nf_conntrack_tcp_be_liberal", "1")
    # None ends by its age, however long the packets take.
    for name in os.listdir("/proc/sys/net/netfilter"):
        if name.startswith("nf_conntrack_") and "_timeout" in name:
            setting(f"netfilter/{name}", "100000")


def number(packet):
    at = 4 if packet[0] >> 4 == 4 else 2
    return int.from_bytes(packet[at : at + 2], "big")


def hosts():
    ends = []
    for name in ("inhost", "outhost"):
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        end.bind((name, ALL))
        end.setblocking(False)
        ends.append(end)
    return ends


def drain(end, seen):
    while True:
        try:
            frame, address = end.recvfrom(4096)
        except BlockingIOError:
            return
        if address[2] != OUTGOING and frame[:6] == HOST:
            seen.add(number(frame[14:]))


def main():
    rules, packets = sys.argv[1:]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    set_up(rules)
    ends, seen = hosts(), [set(), set()]
    with open(packets) as file:
        for line in file:
            side, packet = int(line[0]), bytes.fromhex(line[2:])
            kind = b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"
            ends[side].send(ROUTER[side] + HOST + kind + packet)
            drain(ends[1 - side], seen[1 - side])
            drain(ends[side], set())
    for end, of in zip(ends, seen):
        drain(end, of)
    print("\n".join(str(n) for n in sorted(seen[0] | seen[1])))


if __name__ == "__main__":
    main()
