"""A terminal that a program reads is heard of when it reads, and no other word wakes anybody."""

from __future__ import annotations

import contextlib
import os
import pty
import tty
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from phoenixd.drivers.files.reads import FileReads


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends: a person types at the first, and a program reads the second."""
    ends = pty.openpty()
    tty.setraw(ends[1])
    yield ends
    for end in ends:
        os.close(end)


async def heard(reads: FileReads) -> frozenset[str]:
    with anyio.fail_after(60):
        return await reads.next()


async def is_quiet(reads: FileReads) -> bool:
    with anyio.move_on_after(0.2):
        await reads.next()
        return False
    return True


def typed(terminal: tuple[int, int]) -> None:
    """A key, and the program that reads it."""
    os.write(terminal[0], b"y")
    os.read(terminal[1], 10)


async def test_a_key_is_heard_of_when_the_program_reads_it(terminal: tuple[int, int]) -> None:
    reads, path = FileReads(), os.ttyname(terminal[1])
    assert reads.watch(path)
    os.write(terminal[0], b"y")
    os.write(terminal[1], b"what the program draws")
    assert await is_quiet(reads)
    os.read(terminal[1], 10)
    assert await heard(reads) == {path}
    reads.close()


def is_watched(path: str) -> bool:
    """Whether the kernel would wake this process for it."""
    told = ""
    for descriptor in Path("/proc/self/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            told += descriptor.read_text()
    return f" ino:{os.stat(path).st_ino:x} " in told


async def test_what_is_forgotten_is_not_heard_of_and_can_be_watched_again(terminal: tuple[int, int]) -> None:
    reads, path = FileReads(), os.ttyname(terminal[1])
    reads.watch(path)
    assert is_watched(path)
    reads.forget(path)
    assert not is_watched(path)
    reads.forget(path)
    typed(terminal)
    assert await is_quiet(reads)
    reads.watch(path)
    typed(terminal)
    assert await heard(reads) == {path}
    reads.close()


async def test_a_terminal_that_went_away_is_no_failure(terminal: tuple[int, int]) -> None:
    reads, gone = FileReads(), pty.openpty()
    reads.watch(path := os.ttyname(gone[1]))
    for end in gone:
        os.close(end)
    assert await is_quiet(reads)
    reads.forget(path)
    assert not reads.watch(f"{path}-never")
    assert reads.watch(os.ttyname(terminal[1]))
    typed(terminal)
    assert await heard(reads) == {os.ttyname(terminal[1])}
    reads.close()
