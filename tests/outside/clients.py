"""What programs written for the original do, with their own unmodified library.

usage: clients.py SOCKET FOLDER-OF-JSON
"""

import queue
import sys

from vpp_papi import VPPApiClient


def connect(**more):
    client = VPPApiClient(server_address=sys.argv[1], use_socket=True, **more)
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
    name, event = events.get(timeout=5)
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
