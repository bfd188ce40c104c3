"""What agents of other projects ask before they start, and what vppcfg does.

agents.py messages SOCKET
"""

import sys

from vpp_papi import VPPApiClient

UNSUPPORTED = -126


def messages(socket):
    """The requests that ligato's vpp-agent wants to be there, and those that it begins with."""
    vpp = VPPApiClient(server_address=socket, bootstrapapi=True)
    vpp.connect("agents")
    api = vpp.api
    version = api.show_version()
    assert (version.retval, version.program) == (0, "ferrovia"), version
    assert api.control_ping().retval == 0
    assert api.show_vpe_system_time().retval == 0
    assert api.show_threads().count >= 1
    assert api.get_node_index(node_name="ip4-lookup").retval == 0
    assert api.cli_inband(cmd="show version").reply.startswith("ferrovia")
    assert api.sw_interface_dump()[0].interface_name == "local0"
    # Pointers into the original's shared memory, and telemetry that is not there.
    assert api.cli(cmd_in_shmem=0).retval == UNSUPPORTED
    assert api.get_node_graph().retval == UNSUPPORTED
    assert api.ioam_enable(id=1).retval == UNSUPPORTED
    assert api.ioam_disable(id=1).retval == UNSUPPORTED
    # Sessions of classifier tables by IPFIX.
    stream = api.ipfix_classify_stream_dump()
    assert [(s.domain_id, s.src_port) for s in stream] == [(1, 4739)], stream
    assert api.set_ipfix_classify_stream(domain_id=7, src_port=4000).retval == 0
    stream = api.ipfix_classify_stream_dump()
    assert [(s.domain_id, s.src_port) for s in stream] == [(7, 4000)], stream
    add = {"ip_version": 0, "transport_protocol": 17, "is_add": True}
    assert api.ipfix_classify_table_add_del(table_id=5, **add).retval != 0
    mask = bytes(16) + bytes(10) + b"\xff" * 4 + bytes(2)
    table = api.classify_add_del_table(
        is_add=True, table_index=0xFFFFFFFF, nbuckets=2, memory_size=1 << 20, match_n_vectors=1,
        skip_n_vectors=1, next_table_index=0xFFFFFFFF, miss_next_index=0xFFFFFFFF,
        mask_len=16, mask=mask[16:])
    assert table.retval == 0, table
    number = table.new_table_index
    assert api.ipfix_classify_table_add_del(table_id=number, **add).retval == 0
    tables = api.ipfix_classify_table_dump()
    assert [(t.table_id, t.transport_protocol) for t in tables] == [(number, 17)], tables
    gone = {**add, "is_add": False}
    assert api.ipfix_classify_table_add_del(table_id=number, **gone).retval == 0
    assert api.ipfix_classify_table_dump() == []
    vpp.disconnect()
    print("ok")


if __name__ == "__main__":
    messages(sys.argv[2])
