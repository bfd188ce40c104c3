"""A connection to a router, for asyncio. Several tasks may ask at once."""

from __future__ import annotations

import asyncio
from typing import Any

from .codec import Message
from .messages import ControlPing
from .protocol import Protocol, checked


class Client:
    """Made by `await Client.connect(path)`."""

    def __init__(self) -> None:
        self._protocol = Protocol()
        self._asked: dict[int, tuple[type[Message], list[Message], asyncio.Future]] = {}
        self._events: asyncio.Queue[Message] = asyncio.Queue()

    @classmethod
    async def connect(cls, path: str = "/run/vpp/api.sock", name: str = "python") -> Client:
        """Connects."""
        client = cls()
        client._reader, client._writer = await asyncio.open_unix_connection(path)
        client._writer.write(client._protocol.hello(name))
        welcome: list[bytes] = []
        while not welcome:
            data = await client._reader.read(1 << 18)
            if not data:
                raise ConnectionResetError("the router has gone")
            welcome = client._protocol.split(data)
        client._protocol.welcome(welcome[0])
        client._task = asyncio.create_task(client._read())
        return client

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        """Disconnects."""
        self._task.cancel()
        self._writer.close()
        await self._writer.wait_closed()

    async def call(self, request: Message) -> Any:
        """Asks and waits for the reply. Raises Refused when that has an error number."""
        return checked((await self._ask(request))[1])

    async def dump(self, request: Message) -> list[Any]:
        """All rows of a table."""
        return (await self._ask(request))[0]

    async def stream(self, request: Message) -> tuple[list[Any], Any]:
        """All rows of a table, and the reply behind them, also when it has an error number."""
        return await self._ask(request)

    async def event(self) -> Any:
        """The next event."""
        return await self._events.get()

    async def _ask(self, request: Message) -> tuple[list[Any], Any]:
        if self._task.done():
            raise ConnectionResetError("the router has gone")
        rows, last = self._protocol.kinds(request)
        context, data = self._protocol.request(request)
        if rows is not None and request.REPLY is None:
            data += self._protocol.request(ControlPing(), context)[1]
        future = asyncio.get_running_loop().create_future()
        self._asked[context] = (last, [], future)
        self._writer.write(data)
        await self._writer.drain()
        return await future

    async def _read(self) -> None:
        failure: BaseException = ConnectionResetError("the router has gone")
        try:
            while data := await self._reader.read(1 << 18):
                for message in self._protocol.split(data):
                    decoded = self._protocol.decode(message)
                    if decoded:
                        self._answer(*decoded)
        except (OSError, ValueError) as error:
            failure = error
        finally:
            for _, _, future in self._asked.values():
                if not future.done():
                    future.set_exception(failure)

    def _answer(self, context: int | None, message: Message) -> None:
        asked = self._asked.get(context) if context is not None else None
        if asked is None:
            self._events.put_nowait(message)
            return
        last, rows, future = asked
        if not isinstance(message, last):
            rows.append(message)
            return
        del self._asked[context]
        if not future.done():
            future.set_result((rows, message))
