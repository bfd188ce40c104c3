"""A supervisor that starts the router, sends packets through it, looks at them and stops it, again and again.

usage: rig.py PROGRAM FOLDER-OF-JSON FOLDER ROUNDS LIMIT
"""

import ipaddress
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

from vpp_papi import VPPApiClient

PROGRAM, JSON, FOLDER, ROUNDS = sys.argv[1:5]
# Seconds that anything may take.
LIMIT = float(sys.argv[5])
PACKETS = 600


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(mac, number):
    """A UDP packet to 20.0.0.0/8."""
    payload = struct.pack(">I", number) * 5
    udp = struct.pack(">HHHH", 1234, 5678, 8 + len(payload), 0) + payload
    addresses = ipaddress.ip_address("10.0.0.2").packed + ipaddress.ip_address("20.1.2.3").packed
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0) + addresses
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    return bytes(mac) + bytes.fromhex("020000000001") + b"\x08\x00" + head + udp


def write(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65536, 1))
        for data in frames:
            file.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


def read(path):
    with open(path, "rb") as file:
        assert struct.unpack("<IHHiIII", file.read(24))[0] == 0xA1B2C3D4
        frames = []
        while head := file.read(16):
            frames.append(file.read(struct.unpack("<IIII", head)[2]))
        return frames


def start(folder):
    text = (
        f"unix {{ nodaemon nosyslog full-coredump coredump-size unlimited runtime-dir {folder} "
        f"cli-listen {folder}/cli.sock }} api-trace {{ on }} api-segment {{ prefix rig }} "
        f"cpu {{ main-core 0 }} memory {{ main-heap-size 1G }} physmem {{ max-size 32m }} "
        f"statseg {{ socket-name {folder}/stats.sock size 64M per-node-counters on "
        f"update-interval 1 }} socksvr {{ socket-name {folder}/api.sock }} "
        f"node {{ default {{ variant icl 100 }} }} api-fuzz {{ off }} "
        f"buffers {{ buffers-per-numa 16384 default data-size 2048 page-size 4k }} "
        f"plugins {{ path /nowhere plugin dpdk_plugin.so {{ disable }} plugin x.so {{enable}} }} "
        f"session {{ enable }}"
    )
    began = time.monotonic()
    with open(f"{folder}/output", "w") as output:
        process = subprocess.Popen([PROGRAM, text], stdout=output, stderr=output)
    while not os.path.exists(f"{folder}/api.sock"):
        assert process.poll() is None, open(f"{folder}/output").read()
        assert time.monotonic() < began + LIMIT, "no api.sock"
        time.sleep(0.005)
    client = VPPApiClient(apidir=JSON, server_address=f"{folder}/api.sock", read_timeout=LIMIT)
    client.connect("rig.py")
    assert client.api.show_version().retval == 0
    return process, client, time.monotonic() - began


def path(interface, address):
    hop = {"address": {"ip4": ipaddress.ip_address(address).packed}, "via_label": 1 << 20}
    hop |= {"obj_id": 0, "classify_table_index": 0xFFFFFFFF}
    label = {"is_uniform": 0, "label": 0, "ttl": 0, "exp": 0}
    return {
        "sw_if_index": interface, "table_id": 0, "rpf_id": 0xFFFFFFFF, "weight": 1,
        "preference": 0, "type": 0, "flags": 0, "proto": 0, "nh": hop, "n_labels": 0,
        "label_stack": [label] * 16,
    }  # fmt: skip


def configure(api):
    numbers = []
    for i in range(2):
        numbers.append(api.pg_create_interface_v3(interface_id=i).sw_if_index)
        assert api.sw_interface_set_flags(sw_if_index=numbers[i], flags=1).retval == 0
        added = api.sw_interface_add_del_address(
            sw_if_index=numbers[i], is_add=1, prefix=f"10.0.{i}.1/24"
        )
        assert added.retval == 0, added
    neighbor = {
        "sw_if_index": numbers[1], "flags": 1,
        "mac_address": "02:00:00:00:00:bb", "ip_address": "10.0.1.2",
    }  # fmt: skip
    assert api.ip_neighbor_add_del(is_add=1, neighbor=neighbor).retval == 0
    paths = [path(numbers[1], "10.0.1.2")]
    route = {"table_id": 0, "prefix": "20.0.0.0/8", "n_paths": 1, "paths": paths}
    assert api.ip_route_add_del(is_add=1, is_multipath=0, route=route).retval == 0
    routes = api.ip_route_dump(table={"table_id": 0, "is_ip6": 0})
    assert "20.0.0.0/8" in [str(r.route.prefix) for r in routes]
    details = [i for i in api.sw_interface_dump() if i.sw_if_index == numbers[0]]
    return details[0].l2_address.packed


def burst(api, folder, mac):
    def cli(line, good=True):
        reply = api.cli_inband(cmd=line + "\n")
        assert (reply.retval == 0) is good, (line, reply.reply)
        return reply.reply

    sent = [frame(mac, number) for number in range(PACKETS)]
    write(f"{folder}/in.pcap", sent)
    captured = f"{folder}/out.pcap"
    cli(f"packet-generator capture pg1 pcap {captured} disable")
    cli(f"packet-generator capture pg1 pcap {captured}")
    assert not os.path.exists(captured), "a capture of nothing"
    cli(f"packet-generator new pcap {folder}/in.pcap source pg0 name burst")
    cli("clear trace")
    cli("trace add pg-input 1000")
    cli("pa en")
    end = time.monotonic() + LIMIT
    while "Yes" in cli("show packet-generator"):
        assert time.monotonic() < end, "the stream does not end"
        time.sleep(0.01)
    cli("packet-generator delete burst")
    came = read(captured)
    assert len(came) == PACKETS, len(came)
    assert [p[-4:] for p in came] == [p[-4:] for p in sent], "order"
    assert all(p[:6] == bytes.fromhex("0200000000bb") and p[22] == 63 for p in came)
    trace = cli("show trace max 1")
    assert "ip4-rewrite" in trace and "pg1-tx" in trace, trace
    cli(f"packet-generator capture pg1 pcap {captured} disable")
    os.remove(captured)


def round_of(number):
    folder = f"{FOLDER}/{number}"
    os.makedirs(folder)
    process, client, took = start(folder)
    try:
        mac = configure(client.api)
        burst(client.api, folder, mac)
        burst(client.api, folder, mac)
        client.disconnect()
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0, process.returncode
    finally:
        process.kill()
        process.wait()
    assert not os.path.exists(f"{folder}/stats.sock")
    assert not os.path.exists(f"{folder}/api.sock")
    shutil.rmtree(folder)
    return took


slowest = max(round_of(number) for number in range(int(ROUNDS)))
print(f"{ROUNDS} rounds, slowest start to first reply {slowest * 1000:.0f} ms", file=sys.stderr)
print("done")
