"""Counters, read from memory that the router shares, without asking it.

    stats = Stats("/run/vpp/stats.sock")
    stats.names()                      every entry
    stats["/if/rx"]                    by thread and interface: (packets, bytes)
    stats.sum("/interfaces/pg0/rx")    over all threads
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import time
from typing import Any, Callable, TypeVar

ENTRY = struct.Struct("=II8s128s")
Result = TypeVar("Result")


class Stats:
    """The router's counters."""

    def __init__(self, path: str = "/run/vpp/stats.sock", timeout: float = 10):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stream:
            stream.settimeout(timeout)
            stream.connect(path)
            _, descriptors, _, _ = socket.recv_fds(stream, 1, 1)
        if not descriptors:
            raise ConnectionResetError("the router sent no statistics")
        try:
            self._memory = mmap.mmap(descriptors[0], 0, prot=mmap.PROT_READ)
        finally:
            os.close(descriptors[0])
        if self._word(0) != 2:
            raise ValueError("statistics of another version")
        self._base = self._word(8)

    def close(self) -> None:
        """Lets go of the memory."""
        self._memory.close()

    def names(self, prefix: str = "") -> list[str]:
        """Names of all entries that begin so."""
        names = self._consistent(lambda: list(self._directory()[0]))
        return sorted(name for name in names if name.startswith(prefix))

    def __getitem__(self, name: str) -> Any:
        """What an entry says: a number; a list by thread of lists by column, of numbers or of
        (packets, bytes); a list of names. KeyError when there is none."""

        def read() -> Any:
            by_name, entries = self._directory()
            return self._value(*by_name[name], entries)

        return self._consistent(read)

    def sum(self, name: str, column: int = 0) -> Any:
        """Sum of a column over all threads: a number, or (packets, bytes)."""
        values = [row[column] for row in self[name] if column < len(row)]
        if values and isinstance(values[0], tuple):
            return tuple(sum(part) for part in zip(*values))
        return sum(values)

    def _consistent(self, read: Callable[[], Result]) -> Result:
        end = time.monotonic() + 1
        while time.monotonic() < end:
            epoch = self._word(16)
            if self._word(24):
                time.sleep(0)
                continue
            # What is read while the layout changes may make no sense at all.
            failure, result = None, None
            try:
                result = read()
            except (struct.error, IndexError, KeyError, ValueError, TypeError) as error:
                failure = error
            if not self._word(24) and self._word(16) == epoch:
                if failure:
                    raise failure
                return result  # type: ignore[return-value]
        raise TimeoutError("the layout of the statistics does not stand still")

    def _word(self, at: int) -> int:
        return struct.unpack_from("=Q", self._memory, at)[0]

    def _vector(self, pointer: int) -> tuple[int, int]:
        """Where a vector is, and how many elements it has."""
        start = pointer - self._base
        if start < 4096:
            raise ValueError("statistics make no sense")
        return start, struct.unpack_from("=I", self._memory, start - 8)[0]

    def _numbers(self, pointer: int) -> tuple[int, ...]:
        start, count = self._vector(pointer)
        return struct.unpack_from(f"={count}Q", self._memory, start)

    def _directory(self) -> tuple[dict[str, tuple[int, bytes]], list[tuple[int, bytes]]]:
        start, count = self._vector(self._word(32))
        by_name, entries = {}, []
        for number in range(count):
            kind, _, value, name = ENTRY.unpack_from(self._memory, start + number * ENTRY.size)
            entries.append((kind, value))
            if kind not in (0, 5):
                by_name[name.split(b"\0", 1)[0].decode(errors="replace")] = (kind, value)
        return by_name, entries

    def _value(self, kind: int, value: bytes, entries: list[tuple[int, bytes]]) -> Any:
        (number,) = struct.unpack("=Q", value)
        if kind in (1, 9):
            return number
        if kind in (2, 7):
            return [list(self._numbers(row)) for row in self._numbers(number)]
        if kind == 3:
            return [self._pairs(row) for row in self._numbers(number)]
        if kind == 4:
            return [self._text(name) for name in self._numbers(number)]
        if kind == 6:
            target, column = struct.unpack("=II", value)
            rows = self._value(*entries[target], entries)
            return [[row[column]] for row in rows]
        raise ValueError(f"entries of type {kind} are not known")

    def _pairs(self, pointer: int) -> list[tuple[int, int]]:
        start, count = self._vector(pointer)
        numbers = struct.unpack_from(f"={2 * count}Q", self._memory, start)
        return list(zip(numbers[::2], numbers[1::2]))

    def _text(self, pointer: int) -> str:
        if not pointer:
            return ""
        start, count = self._vector(pointer)
        return self._memory[start : start + count].split(b"\0", 1)[0].decode(errors="replace")
