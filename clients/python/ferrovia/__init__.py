"""Drives a router through its binary API.

    from ferrovia import Client
    from ferrovia.messages import CreateLoopback, SwInterfaceDump

    with Client("/run/vpp/api.sock") as client:
        loopback = client.call(CreateLoopback()).sw_if_index
        for row in client.dump(SwInterfaceDump(sw_if_index=0xFFFFFFFF)):
            print(row.sw_if_index, row.interface_name)

`ferrovia.aio.Client` is the same for asyncio, `ferrovia.stats.Stats` reads counters.
"""

from .client import Client
from .protocol import Refused, Unknown

__all__ = ["Client", "Refused", "Unknown"]
