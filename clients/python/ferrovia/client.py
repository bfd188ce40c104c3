"""A connection to a router."""

from __future__ import annotations

import socket
from collections import deque
from typing import Any, Iterable, Iterator

from .codec import Message
from .messages import ControlPing
from .protocol import Protocol, Refused, checked

# Most requests without an answer.
WINDOW = 1024


class Client:
    """A connection to a router. Not for several threads; each may have its own."""

    def __init__(self, path: str = "/run/vpp/api.sock", name: str = "python", timeout: float = 10):
        self._protocol = Protocol()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        self._waiting: deque[bytes] = deque()
        self._events: deque[Message] = deque()
        try:
            self._socket.connect(path)
            self._socket.sendall(self._protocol.hello(name))
            self._protocol.welcome(self._next())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Disconnects."""
        self._socket.close()

    def call(self, request: Message) -> Any:
        """Asks and waits for the reply. Raises Refused when that has an error number."""
        context, data = self._protocol.request(request)
        self._socket.sendall(data)
        return checked(self._answer({context})[1])

    def calls(self, requests: Iterable[Message]) -> Iterator[Any]:
        """Asks many times without waiting for each; gives replies in order, a Refused for those
        that have an error number. All of them have to be taken."""
        contexts: deque[int] = deque()
        batch = bytearray()
        source = iter(requests)
        is_more = True
        while is_more or contexts:
            while is_more and len(contexts) < WINDOW:
                request = next(source, None)
                if request is None:
                    is_more = False
                    break
                context, data = self._protocol.request(request)
                contexts.append(context)
                batch += data
            self._socket.sendall(batch)
            batch.clear()
            for _ in range(len(contexts) if not is_more else WINDOW // 2):
                reply = self._answer({contexts.popleft()})[1]
                number = getattr(reply, "retval", 0)
                yield Refused(reply.NAME, number) if number else reply

    def dump(self, request: Message) -> list[Any]:
        """All rows of a table."""
        return self.stream(request)[0]

    def stream(self, request: Message) -> tuple[list[Any], Any]:
        """All rows of a table, and the reply behind them, also when it has an error number."""
        rows, last = self._protocol.kinds(request)
        if rows is None:
            raise TypeError(f"{request.NAME} has no rows: call() it")
        context, data = self._protocol.request(request)
        if request.REPLY is None:
            data += self._protocol.request(ControlPing(), context)[1]
        self._socket.sendall(data)
        found = []
        while True:
            message = self._answer({context})[1]
            if isinstance(message, last):
                return found, message
            found.append(message)

    def event(self, timeout: float = 10) -> Any:
        """The next event; None when none comes in time."""
        if self._events:
            return self._events.popleft()
        before = self._socket.gettimeout()
        self._socket.settimeout(timeout)
        try:
            while True:
                decoded = self._protocol.decode(self._next())
                if decoded:
                    return decoded[1]
        except TimeoutError:
            return None
        finally:
            self._socket.settimeout(before)

    def _answer(self, contexts: set[int]) -> tuple[int, Message]:
        while True:
            decoded = self._protocol.decode(self._next())
            if decoded is None:
                continue
            context, message = decoded
            if context in contexts:
                return context, message
            self._events.append(message)

    def _next(self) -> bytes:
        while not self._waiting:
            data = self._socket.recv(1 << 18)
            if not data:
                raise ConnectionResetError("the router has gone")
            self._waiting.extend(self._protocol.split(data))
        return self._waiting.popleft()
