"""The kernel's word on files: it wakes the loop when something happened to them, and at no other time."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator

import anyio

HEADER = struct.Struct("iIII")
READ_SIZE = 64 * 1024

_libc = ctypes.CDLL(None, use_errno=True)


class Inotify:
    """One descriptor, opened when it is first needed."""

    def __init__(self) -> None:
        self._descriptor = -1

    def open(self) -> int:
        """Have a descriptor; 0, or the error number."""
        if self._descriptor < 0:
            self._descriptor = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        return ctypes.get_errno() if self._descriptor < 0 else 0

    def add(self, path: bytes, mask: int) -> tuple[int, int]:
        """Watch a path: the number of its watch, or below 0 and the error number."""
        number = _libc.inotify_add_watch(self._descriptor, path, mask)
        return number, ctypes.get_errno() if number < 0 else 0

    def remove(self, number: int) -> None:
        """End a watch; one that has ended by itself is no failure."""
        _libc.inotify_rm_watch(self._descriptor, number)

    async def next(self) -> list[tuple[int, int, bytes]]:
        """Wait for what the kernel says: watch, mask and name of each."""
        await anyio.wait_readable(self._descriptor)
        return list(self._read())

    def close(self) -> None:
        """Watch nothing any more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _read(self) -> Iterator[tuple[int, int, bytes]]:
        try:
            data = os.read(self._descriptor, READ_SIZE)
        except BlockingIOError:
            return
        at = 0
        while at + HEADER.size <= len(data):
            number, mask, _, length = HEADER.unpack_from(data, at)
            name = data[at + HEADER.size : at + HEADER.size + length].rstrip(b"\0")
            at += HEADER.size + length
            yield number, mask, name
