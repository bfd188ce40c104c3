"""Values as bytes: big endian, packed; floating point in host order.

A layout is a tuple of (name, type). Types have `put(value, out, record)` and
`take(data, at, record)`, which returns the value and where it ends.
"""

from __future__ import annotations

import ipaddress
import struct
from typing import Any, ClassVar


class Number:
    """A number of one form of `struct`."""

    def __init__(self, form: str):
        self._form = struct.Struct(form)

    def put(self, value: Any, out: bytearray, record: Any) -> None:
        out += self._form.pack(value)

    def take(self, data: bytes, at: int, record: Any) -> tuple[Any, int]:
        return self._form.unpack_from(data, at)[0], at + self._form.size


U8, I8, U16, I16 = Number(">B"), Number(">b"), Number(">H"), Number(">h")
U32, I32, U64, I64 = Number(">I"), Number(">i"), Number(">Q"), Number(">q")
F64, BOOL = Number("=d"), Number(">?")


class Numbers:
    """Numbers with names. A number without a name stays a number."""

    def __init__(self, base: Number, names: type):
        self._base, self._names = base, names

    def put(self, value: Any, out: bytearray, record: Any) -> None:
        self._base.put(int(value), out, record)

    def take(self, data: bytes, at: int, record: Any) -> tuple[Any, int]:
        value, end = self._base.take(data, at, record)
        try:
            return self._names(value), end
        except ValueError:
            return value, end


class Text:
    """A string in `size` bytes, padded with NULs."""

    def __init__(self, size: int):
        self._size = size

    def put(self, value: str, out: bytearray, record: Any) -> None:
        data = value.encode()
        if len(data) >= self._size:
            raise ValueError(f"longer than {self._size - 1} bytes: {value!r}")
        out += data.ljust(self._size, b"\0")

    def take(self, data: bytes, at: int, record: Any) -> tuple[str, int]:
        end = at + self._size
        _enough(data, end)
        return data[at:end].split(b"\0", 1)[0].decode(errors="replace"), end


class VarText:
    """A string behind its length."""

    def put(self, value: str, out: bytearray, record: Any) -> None:
        data = value.encode()
        U32.put(len(data), out, record)
        out += data

    def take(self, data: bytes, at: int, record: Any) -> tuple[str, int]:
        size, at = U32.take(data, at, record)
        _enough(data, at + size)
        return data[at : at + size].decode(errors="replace"), at + size


class Bytes:
    """Bytes: so many, or as many as an earlier field says."""

    def __init__(self, size: int | str):
        self._size = size

    def put(self, value: bytes, out: bytearray, record: Any) -> None:
        if isinstance(self._size, int):
            if len(value) > self._size:
                raise ValueError(f"more than {self._size} bytes")
            value = value.ljust(self._size, b"\0")
        out += value

    def take(self, data: bytes, at: int, record: Any) -> tuple[bytes, int]:
        size = self._size if isinstance(self._size, int) else record[self._size]
        _enough(data, at + size)
        return bytes(data[at : at + size]), at + size


class Ip4:
    """An IPv4 address as text."""

    FORM, SIZE = ipaddress.IPv4Address, 4

    def put(self, value: Any, out: bytearray, record: Any) -> None:
        out += self.FORM(value).packed

    def take(self, data: bytes, at: int, record: Any) -> tuple[str, int]:
        _enough(data, at + self.SIZE)
        return str(self.FORM(bytes(data[at : at + self.SIZE]))), at + self.SIZE


class Ip6(Ip4):
    """An IPv6 address as text."""

    FORM, SIZE = ipaddress.IPv6Address, 16


class Mac:
    """A MAC address as text."""

    def put(self, value: str, out: bytearray, record: Any) -> None:
        data = bytes.fromhex(value.replace(":", "").replace("-", ""))
        if len(data) != 6:
            raise ValueError(f"not a MAC address: {value!r}")
        out += data

    def take(self, data: bytes, at: int, record: Any) -> tuple[str, int]:
        _enough(data, at + 6)
        return bytes(data[at : at + 6]).hex(":"), at + 6


class Array:
    """So many of a type; fewer are filled up with what is first by default."""

    def __init__(self, element: Any, count: int):
        self._element, self._count = element, count

    def put(self, value: list, out: bytearray, record: Any) -> None:
        if len(value) > self._count:
            raise ValueError(f"more than {self._count}")
        for one in value:
            self._element.put(one, out, record)
        filler = self._element() if isinstance(self._element, type) else 0
        for _ in range(self._count - len(value)):
            self._element.put(filler, out, record)

    def take(self, data: bytes, at: int, record: Any) -> tuple[list, int]:
        return _several(self._element, self._count, data, at)


class Counted:
    """As many of a type as an earlier field says."""

    def __init__(self, element: Any, counter: str):
        self._element, self._counter = element, counter

    def put(self, value: list, out: bytearray, record: Any) -> None:
        for one in value:
            self._element.put(one, out, record)

    def take(self, data: bytes, at: int, record: Any) -> tuple[list, int]:
        return _several(self._element, record[self._counter], data, at)


class Counter:
    """The field that counts another. It is no attribute: the other's length is sent."""

    def __init__(self, base: Number, counted: str):
        self.base, self.counted = base, counted


class Union:
    """Bytes that are one of several types: `union.make("ip4", …)`, `union.read("ip4", bytes)`."""

    def __init__(self, name: str, size: int, arms: tuple):
        self.name, self._size, self._arms = name, size, dict(arms)

    def make(self, arm: str, value: Any) -> bytes:
        out = bytearray()
        self._arms[arm].put(value, out, None)
        return bytes(out).ljust(self._size, b"\0")

    def read(self, arm: str, data: bytes) -> Any:
        return self._arms[arm].take(data, 0, None)[0]

    def put(self, value: bytes, out: bytearray, record: Any) -> None:
        out += (value or b"").ljust(self._size, b"\0")

    def take(self, data: bytes, at: int, record: Any) -> tuple[bytes, int]:
        _enough(data, at + self._size)
        return bytes(data[at : at + self._size]), at + self._size


class Record:
    """Fields one after the other."""

    LAYOUT: ClassVar[tuple] = ()

    @staticmethod
    def put(value: Any, out: bytearray, record: Any = None) -> None:
        for name, form in value.LAYOUT:
            try:
                if isinstance(form, Counter):
                    form.base.put(len(getattr(value, form.counted)), out, value)
                else:
                    form.put(getattr(value, name), out, value)
            except (struct.error, TypeError, ValueError) as error:
                raise ValueError(f"{type(value).__name__}.{name}: {error}") from None

    @classmethod
    def take(cls, data: bytes, at: int, record: Any = None) -> tuple[Any, int]:
        read: dict[str, Any] = {}
        counters = []
        for name, form in cls.LAYOUT:
            if isinstance(form, Counter):
                counters.append(name)
                form = form.base
            read[name], at = form.take(data, at, read)
        for name in counters:
            del read[name]
        return cls(**read), at


class Message(Record):
    """A message."""

    NAME: ClassVar[str] = ""
    CRC: ClassVar[str] = ""
    HEAD: ClassVar[int] = 0
    REPLY: ClassVar[str | None] = None
    ROWS: ClassVar[str | None] = None


def _several(element: Any, count: int, data: bytes, at: int) -> tuple[list, int]:
    values = []
    for _ in range(count):
        value, at = element.take(data, at, None)
        values.append(value)
    return values, at


def _enough(data: bytes, end: int) -> None:
    if end > len(data):
        raise ValueError("too short")
