"""Drives a router: drive.py API-SOCKET STATS-SOCKET."""

import asyncio
import sys

from ferrovia import Client, Refused, aio
from ferrovia.messages import (
    Address, AddressFamily, AddressUnion, CreateLoopback, FibPath,
    IfStatusFlags, IpRouteAddDelV2, IpRouteV2, IpRouteV2Dump, Prefix, ShowVersion,
    SwInterfaceAddDelAddress, SwInterfaceDump, SwInterfaceEvent, SwInterfaceSetFlags,
    WantInterfaceEvents,
)
from ferrovia.stats import Stats

ALL = 0xFFFFFFFF


def prefix(text: str) -> Prefix:
    address, size = text.split("/")
    family = AddressFamily.ADDRESS_IP6 if ":" in address else AddressFamily.ADDRESS_IP4
    arm = "ip6" if ":" in address else "ip4"
    return Prefix(Address(family, AddressUnion.make(arm, address)), int(size))


def route(number: int, on: int) -> IpRouteAddDelV2:
    path = FibPath(sw_if_index=on, weight=1)
    to = prefix(f"16.{number >> 16}.{number >> 8 & 255}.{number & 255}/32")
    return IpRouteAddDelV2(route=IpRouteV2(prefix=to, paths=[path]))


def sync(path: str) -> int:
    with Client(path) as client:
        assert client.call(ShowVersion()).program == "ferrovia"
        on = client.call(CreateLoopback()).sw_if_index
        address = SwInterfaceAddDelAddress(sw_if_index=on, is_add=True, prefix=prefix("10.0.0.1/24"))
        client.call(address)
        client.call(WantInterfaceEvents(enable_disable=1, pid=3))
        up = IfStatusFlags.IF_STATUS_API_FLAG_ADMIN_UP
        client.call(SwInterfaceSetFlags(sw_if_index=on, flags=up))
        event = client.event()
        assert isinstance(event, SwInterfaceEvent) and event.sw_if_index == on, event
        replies = list(client.calls(route(n, 77 if n == 9 else on) for n in range(3000)))
        assert [n for n, reply in enumerate(replies) if isinstance(reply, Refused)] == [9]
        rows = client.dump(IpRouteV2Dump())
        own = [row.route for row in rows if row.route.prefix.address.un.startswith(b"\x10")]
        assert len(own) == 2999 and own[0].paths[0].sw_if_index == on
        names = [row.interface_name for row in client.dump(SwInterfaceDump(sw_if_index=ALL))]
        assert names == ["local0", "loop0"], names
        try:
            client.call(SwInterfaceSetFlags(sw_if_index=77, flags=up))
        except Refused as refused:
            assert refused.number == -2, refused
        else:
            raise AssertionError("interface 77 is up")
        return on


async def asynchronous(path: str, on: int) -> None:
    async with await aio.Client.connect(path) as client:
        versions = await asyncio.gather(*(client.call(ShowVersion()) for _ in range(100)))
        assert {version.program for version in versions} == {"ferrovia"}
        await client.call(WantInterfaceEvents(enable_disable=1, pid=4))
        await client.call(SwInterfaceSetFlags(sw_if_index=on, flags=0))
        event = await asyncio.wait_for(client.event(), 10)
        assert event.sw_if_index == on and event.pid == 4, event
        assert len(await client.dump(SwInterfaceDump(sw_if_index=ALL))) == 2


def counters(path: str, on: int) -> None:
    stats = Stats(path)
    assert stats["/if/names"][on] == "loop0"
    earlier, later = stats.sum("/interfaces/loop0/rx"), stats.sum("/if/rx", on)
    assert len(earlier) == 2 and earlier <= later, (earlier, later)
    assert stats["/sys/boottime"] > 1_500_000_000
    assert len(stats.names("/interfaces/loop0/")) == 17
    for name in stats.names():
        if "/session" not in name:
            stats[name]
    stats.close()


if __name__ == "__main__":
    on = sync(sys.argv[1])
    asyncio.run(asynchronous(sys.argv[1], on))
    counters(sys.argv[2], on)
    print("driven")
