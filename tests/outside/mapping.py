"""Customers of MAP-E and MAP-T made of scapy, and a host that talks to them.

usage: mapping.py serve e|t INTERFACE FILE     answers what comes for customers; faults go to FILE
       mapping.py ask ADDRESS-PREFIX           asks customers by UDP and TCP

The rule, as the router has it: 192.0.2.0/24 and 2001:db8:ce00::/40, 16 bits of which are 8 of the address
and 8 of the port set, at offset 6. The relay is 2001:db8:ffff::1, or the prefix 2001:db8:ffff::/64.
"""

import ctypes
import fcntl
import ipaddress
import socket
import struct
import sys

IP6_PREFIX = int(ipaddress.ip_address("2001:db8:ce00::"))
RELAY = "2001:db8:ffff::1"
OFFSET, PSID_BITS = 6, 8
TALKS = 40
PATIENCE = 20


def set_of(port):
    """The port set of a port (RFC 7597 section 5.1)."""
    return port >> (16 - OFFSET - PSID_BITS) & ((1 << PSID_BITS) - 1)


def customer(address, port):
    """The address of the customer who has a port of an address (RFC 7597 section 6)."""
    four, psid = int(ipaddress.ip_address(address)), set_of(port)
    bits = (four & 0xFF) << PSID_BITS | psid
    return str(ipaddress.ip_address(IP6_PREFIX | bits << (128 - 40 - 16) | four << 16 | psid))


def embedded(address):
    """An address behind the relay's prefix of 64 bits (RFC 6052 section 2.2)."""
    prefix = int(ipaddress.ip_address("2001:db8:ffff::"))
    return str(ipaddress.ip_address(prefix | int(ipaddress.ip_address(address)) << 24))


def serve(kind, interface, path):
    """Answers UDP with the same, and TCP with what a server of echoes sends."""
    from scapy.all import IP, TCP, UDP, AsyncSniffer, Ether, IPv6, Raw, sendp

    faults = open(path, "w", buffering=1)
    faults.write("")

    def is_summed(packet):
        """Whether scapy makes the same sums of it."""
        again = packet.copy()
        for layer in (IP, TCP, UDP):
            if layer in again:
                del again[layer].chksum
        return bytes(again.__class__(bytes(again))) == bytes(packet)

    def answer(upper):
        """The upper layer of the answer."""
        data = bytes(upper.payload)
        if UDP in upper:
            return UDP(sport=upper.dport, dport=upper.sport) / Raw(data)
        ends = {"sport": upper.dport, "dport": upper.sport}
        if upper.flags.S:
            return TCP(flags="SA", seq=1000, ack=upper.seq + 1, **ends)
        if data:
            return TCP(flags="PA", seq=upper.ack, ack=upper.seq + len(data), **ends) / Raw(data)
        if upper.flags.F:
            return TCP(flags="FA", seq=upper.ack, ack=upper.seq + 1, **ends)
        return None

    def received(frame):
        six = frame[IPv6]
        if ipaddress.ip_address(six.dst) not in ipaddress.ip_network("2001:db8:ce00::/40"):
            return
        inner = six[IP] if kind == "e" else six
        upper = inner[TCP] if TCP in inner else inner[UDP]
        four = ipaddress.ip_address(int(ipaddress.ip_address(six.dst)) >> 16 & 0xFFFFFFFF)
        if kind == "e":
            four, host = ipaddress.ip_address(inner.dst), inner.src
            source = RELAY
        else:
            host = "10.1.1.2"
            source = embedded(host)
        if (six.src, six.dst) != (source, customer(four, upper.dport)) or not is_summed(inner):
            faults.write(frame.show(dump=True))
            return
        back = answer(upper)
        if back is None:
            return
        inside = IP(src=str(four), dst=host) / back if kind == "e" else back
        ether = Ether(src=frame.dst, dst=frame.src)
        sendp(ether / IPv6(src=six.dst, dst=six.src) / inside, iface=interface, verbose=False)

    sniffer = AsyncSniffer(
        iface=interface,
        lfilter=lambda frame: IPv6 in frame and (TCP in frame or UDP in frame),
        prn=received,
        store=False,
        started_callback=lambda: open(path + ".ready", "w").close(),
    )
    sniffer.start()
    sniffer.join()


def complete_sums(interface):
    """Has the kernel complete sums itself, not the device, as there is none."""
    words = ctypes.create_string_buffer(struct.pack("II", 0x17, 0))
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(words))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8946, request + bytes(16))


def ask(prefix):
    """Talks to many ports of many addresses."""
    complete_sums("eth0")
    done = 0
    for n in range(TALKS):
        end = (f"{prefix}.{1 + n * 6}", 1024 + n * 1601)
        kind = socket.SOCK_STREAM if n % 4 == 3 else socket.SOCK_DGRAM
        with socket.socket(socket.AF_INET, kind) as talk:
            talk.settimeout(PATIENCE)
            talk.connect(end)
            words = b"talk %d " % n * (1 + n)
            talk.send(words)
            done += talk.recv(4096) == words
    print(f"{done} of {TALKS} talks")


if sys.argv[1] == "serve":
    serve(*sys.argv[2:5])
else:
    ask(sys.argv[2])
