"""What programs written for the original do, with their own unmodified library.

usage: clients.py SOCKET FOLDER-OF-JSON SOCKET-OF-STATISTICS [DEVICE]

DEVICE is one of the host, for an interface on it; with it a tap is made too.
"""

import queue
import sys

from vpp_papi import VPPApiClient
from vpp_papi.vpp_stats import VPPStats


def connect(**more):
    client = VPPApiClient(server_address=sys.argv[1], use_socket=True, read_timeout=30, **more)
    client.connect("clients.py")
    return client


client = connect(apidir=sys.argv[2])
api = client.api

version = api.show_version()
assert version.retval == 0 and version.program == "ferrovia", version
assert api.control_ping().vpe_pid > 0
reply = api.cli_inband(cmd="show version\n")
assert reply.retval == 0 and reply.reply.startswith("ferrovia v"), reply
reply = api.cli_inband(cmd="bogus cmd")
assert reply.retval == -1 and reply.reply == "unknown input `bogus cmd'\n", reply
assert api.get_node_index(node_name="ip4-lookup").node_index > 0
assert api.get_node_index(node_name="nosuch").retval == -63

# interfaces, and events about them
events = queue.Queue()
client.register_event_callback(lambda name, event: events.put((name, event)))
assert api.want_interface_events(enable_disable=True, pid=77).retval == 0
loop = api.create_loopback(mac_address="02:00:00:00:00:07")
assert loop.retval == 0, loop
index = loop.sw_if_index
assert api.sw_interface_set_flags(sw_if_index=index, flags=1).retval == 0
while True:
    name, event = events.get(timeout=30)
    if event.sw_if_index == index and event.flags:
        break
assert (name, event.pid, event.flags, event.deleted) == ("sw_interface_event", 77, 3, False), event
assert api.sw_interface_set_flags(sw_if_index=4242, flags=1).retval == -2
dump = api.sw_interface_dump(name_filter="loop", name_filter_valid=True)
assert [(i.interface_name, str(i.l2_address)) for i in dump] == [("loop0", "02:00:00:00:00:07")]
assert len(api.sw_interface_dump()) >= 4

# addresses, neighbours, tables and routes
prefix = "10.9.0.1/24"
assert api.sw_interface_add_del_address(sw_if_index=index, prefix=prefix, is_add=1).retval == 0
assert "10.9.0.1/24" in api.cli_inband(cmd="show interface address loop0").reply
neighbor = {
    "sw_if_index": index,
    "flags": 1,
    "mac_address": "02:00:00:00:00:99",
    "ip_address": "10.9.0.2",
}
assert api.ip_neighbor_add_del(is_add=1, neighbor=neighbor).retval == 0
found = api.ip_neighbor_dump(sw_if_index=index, af=0)
assert [str(n.neighbor.ip_address) for n in found] == ["10.9.0.2"], found
assert api.cli_inband(cmd="ip route add 20.0.0.0/8 via 10.9.0.2 loop0").retval == 0

# tables and what is in them
VRF = 7
assert api.ip_table_add_del(is_add=1, table={"table_id": VRF, "name": "seven"}).retval == 0
assert (VRF, "seven") in [(row.table.table_id, row.table.name) for row in api.ip_table_dump()]
pg = api.pg_create_interface(interface_id=9)
assert pg.retval == 0, pg
assert api.sw_interface_set_table(sw_if_index=pg.sw_if_index, vrf_id=VRF).retval == 0
assert api.sw_interface_get_table(sw_if_index=pg.sw_if_index).vrf_id == VRF
on_pg = {"sw_if_index": pg.sw_if_index, "prefix": "10.7.0.1/24", "is_add": 1}
assert api.sw_interface_add_del_address(**on_pg).retval == 0
assert api.sw_interface_set_flags(sw_if_index=pg.sw_if_index, flags=1).retval == 0
addresses = api.ip_address_dump(sw_if_index=pg.sw_if_index, is_ipv6=False)
assert [str(row.prefix) for row in addresses] == ["10.7.0.1/24"], addresses
path = {
    "sw_if_index": pg.sw_if_index,
    "table_id": VRF,
    "weight": 1,
    "n_labels": 0,
    "nh": {"address": {"ip4": "10.7.0.2"}},
    "label_stack": [{}] * 16,
}
route = {"table_id": VRF, "prefix": "21.0.0.0/8", "n_paths": 1, "paths": [path]}
assert api.ip_route_add_del(is_add=1, route=route).retval == 0
dumped = api.ip_route_dump(table={"table_id": VRF, "is_ip6": False})
found = {str(row.route.prefix): row.route for row in dumped}
assert found["21.0.0.0/8"].paths[0].sw_if_index == pg.sw_if_index, found
looked = api.ip_route_lookup(table_id=VRF, exact=0, prefix="21.1.2.3/32")
assert (looked.retval, str(looked.route.prefix)) == (0, "21.0.0.0/8"), looked

# news of neighbours
news = {"enable": True, "pid": 5, "ip": "0.0.0.0", "sw_if_index": 0xFFFFFFFF}
assert api.want_ip_neighbor_events_v2(**news).retval == 0
learned = {**neighbor, "sw_if_index": pg.sw_if_index, "flags": 0, "ip_address": "10.7.0.2"}
assert api.ip_neighbor_add_del(is_add=1, neighbor=learned).retval == 0
while True:
    name, event = events.get(timeout=30)
    if name == "ip_neighbor_event_v2":
        break
assert (str(event.neighbor.ip_address), event.pid) == ("10.7.0.2", 5), event

# devices
stats = VPPStats(sys.argv[3])
stats.connect()
names = {index: "loop0"}
if len(sys.argv) > 4:
    tap = api.tap_create_v2(id=5, use_random_mac=True, host_if_name_set=True, host_if_name="vt5")
    assert tap.retval == 0, tap
    host = api.af_packet_create_v3(mode=1, host_if_name=sys.argv[4], use_random_hw_addr=True)
    assert host.retval == 0, host
    names |= {tap.sw_if_index: "tap5", host.sw_if_index: f"host-{sys.argv[4]}"}
    assert [row.host_if_name for row in api.sw_interface_tap_v2_dump(sw_if_index=0xFFFFFFFF)] == ["vt5"]
    assert [row.host_if_name for row in api.af_packet_dump()] == [sys.argv[4]]
    for at in (tap.sw_if_index, host.sw_if_index):
        assert api.sw_interface_set_flags(sw_if_index=at, flags=1).retval == 0
rows = {row.sw_if_index: row.interface_name for row in api.sw_interface_dump()}
assert names.items() <= rows.items(), rows
for at, name in names.items():
    assert stats["/if/names"][at] == name
    assert stats["/if/rx"][:, at].sum_packets() >= 0
if len(sys.argv) > 4:
    assert api.tap_delete_v2(sw_if_index=tap.sw_if_index).retval == 0
    assert api.af_packet_delete(host_if_name=sys.argv[4]).retval == 0
stats.disconnect()

# many requests
for _ in range(500):
    assert api.control_ping().retval == 0

assert api.delete_loopback(sw_if_index=index).retval == 0
client.disconnect()

# without files: the router describes its messages
client = connect(bootstrapapi=True)
assert client.api.show_version().program == "ferrovia"
client.disconnect()
print("done")
