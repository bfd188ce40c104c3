"""What goes over the socket, whoever reads and writes it."""

from __future__ import annotations

import struct

from . import messages
from .codec import Message

HEADER = struct.Struct(">QII")
CREATE = 15


class Refused(Exception):
    """The router answered with an error number, which is negative."""

    def __init__(self, name: str, number: int):
        super().__init__(f"{name}: error {number}")
        self.number = number


class Unknown(Exception):
    """The router has no such message, or has it with other fields."""


class Protocol:
    """Requests to bytes and bytes to messages. `take` wants all bytes that came, in order."""

    def __init__(self) -> None:
        self._by_name = {m.NAME: m for m in messages.MESSAGES}
        self._ids: dict[str, int] = {}
        self._by_id: dict[int, type[Message]] = {}
        self._index = 0
        self._context = 0
        self._input = bytearray()

    def hello(self, name: str) -> bytes:
        """The first request."""
        out = bytearray(struct.pack(">HI", CREATE, 0))
        messages.SockclntCreate.put(messages.SockclntCreate(name=name), out)
        return frame(out)

    def welcome(self, message: bytes) -> None:
        """Takes its answer."""
        reply, _ = messages.SockclntCreateReply.take(message, 2 + 4 * messages.SockclntCreateReply.HEAD)
        if reply.response:
            raise Refused("sockclnt_create", reply.response)
        self._index = reply.index
        self._ids = {entry.name: entry.index for entry in reply.message_table}
        for kind in messages.MESSAGES:
            number = self._ids.get(f"{kind.NAME}_{kind.CRC}")
            if number is not None:
                self._by_id[number] = kind

    def request(self, message: Message, context: int | None = None) -> tuple[int, bytes]:
        """Its context and what to send."""
        number = self._ids.get(f"{message.NAME}_{message.CRC}")
        if number is None:
            raise Unknown(f"the router has no {message.NAME}_{message.CRC}")
        if context is None:
            self._context = context = (self._context + 1) & 0xFFFFFFFF
        out = bytearray(struct.pack(">HII", number, self._index, context))
        message.put(message, out)
        return context, frame(out)

    def kinds(self, message: Message) -> tuple[type[Message] | None, type[Message]]:
        """What its rows are, and what comes last."""
        rows = self._by_name[message.ROWS] if message.ROWS else None
        last = self._by_name[message.REPLY] if message.REPLY else messages.ControlPingReply
        return rows, last

    def split(self, data: bytes) -> list[bytes]:
        """The messages that are whole now."""
        self._input += data
        at, whole = 0, []
        while len(self._input) - at >= HEADER.size:
            _, size, _ = HEADER.unpack_from(self._input, at)
            end = at + HEADER.size + size
            if end > len(self._input):
                break
            whole.append(bytes(self._input[at + HEADER.size : end]))
            at = end
        del self._input[:at]
        return whole

    def decode(self, message: bytes) -> tuple[int | None, Message] | None:
        """Its context, if it has one, and the message; None when it is not known here."""
        (number,) = struct.unpack_from(">H", message)
        kind = self._by_id.get(number)
        if kind is None:
            return None
        at = 2 + 4 * kind.HEAD
        context = struct.unpack_from(">I", message, at - 4)[0] if kind.HEAD else None
        return context, kind.take(message, at)[0]


def frame(message: bytes) -> bytes:
    """With its header."""
    return HEADER.pack(0, len(message), 0) + message


def checked(message: Message) -> Message:
    """The reply, unless it has an error number."""
    number = getattr(message, "retval", 0)
    if number:
        raise Refused(message.NAME, number)
    return message
