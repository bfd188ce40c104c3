"""Serves and asks lines over many TCP connections at a time.

serving.py serve ADDRESS PORT
serving.py ask ADDRESS PORT CONNECTIONS SECONDS
"""

import asyncio
import sys
import time

BODY = b"x" * 1000 + b"\n"


async def answer(reader, writer):
    peer = writer.get_extra_info("peername")[0].encode()
    while line := await reader.readline():
        writer.write(line.rstrip() + b" " + peer + b" " + BODY)
        await writer.drain()
    writer.close()


async def serve(address, port):
    server = await asyncio.start_server(answer, address, port, backlog=4096)
    await server.serve_forever()


async def ask_one(number, address, port, until, peers):
    """Requests that were answered, one after the other, and what went wrong."""
    answered = 0
    try:
        wait = asyncio.open_connection(address, port)
        reader, writer = await asyncio.wait_for(wait, 60)
        while time.monotonic() < until or answered == 0:
            request = b"%d-%d" % (number, answered)
            writer.write(request + b"\n")
            line = await asyncio.wait_for(reader.readline(), 60)
            words = line.split(b" ")
            if len(words) != 3 or words[0] != request or words[2] != BODY:
                return answered, "a wrong answer to %r: %r" % (request, line[:40])
            peers.add(words[1].decode())
            answered += 1
            await asyncio.sleep(0.1)
        writer.close()
        return answered, None
    except (OSError, asyncio.TimeoutError) as error:
        return answered, "connection %d after %d requests: %r" % (number, answered, error)


async def ask(address, port, connections, seconds):
    until, peers = time.monotonic() + seconds, set()
    all = [ask_one(n, address, port, until, peers) for n in range(connections)]
    done = await asyncio.gather(*all)
    failures = [failure for _, failure in done if failure]
    for failure in failures[:10]:
        print(failure)
    answered = sum(count for count, _ in done)
    print(f"connections {connections} requests {answered} failures {len(failures)}"
          f" peers {','.join(sorted(peers))}")


def main():
    what, address, port, *rest = sys.argv[1:]
    if what == "serve":
        asyncio.run(serve(address, int(port)))
    else:
        asyncio.run(ask(address, int(port), int(rest[0]), float(rest[1])))


main()
