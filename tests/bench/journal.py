"""What a commit of the journal costs, against the least that a durable record can cost on the same disk.

`python -m tests.bench.journal [--commits N] [--writers N]`
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from phoenixd.drivers.journal.reserve import Reserve
from phoenixd.drivers.journal.rows import SpecRows, batch_rows
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.journal.writer import Writer
from phoenixd.ports.journal import Batch, Entry
from tests.agents import an_agent
from tests.bench.arena import Figures

AGENT = an_agent()
RECORD = b"x" * 399 + b"\n"


def a_batch(number: int) -> Batch:
    """One decision: one entry of about 400 bytes and one agent's snapshot of about 1000."""
    entry = Entry(
        float(number), 1e9 + number, "a", number, "HookSeen", {"kind": "stop", "text": "x" * 120}, "running",
        "the turn ended", (("age", 1.5), ("turn_open", 0)), ("Deliver",),
    )  # fmt: skip
    return Batch(float(number), 1e9 + number, (entry,), (replace(AGENT, restarts=number),))


def timed(count: int, once: Callable[[int], object]) -> Figures:
    samples = []
    for number in range(count):
        started = time.perf_counter()
        once(number)
        samples.append((time.perf_counter() - started) * 1000)
    return Figures(samples)


def append_and_sync(directory: Path, count: int) -> Figures:
    descriptor = os.open(directory / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def once(_: int) -> None:
        os.write(descriptor, RECORD)
        os.fdatasync(descriptor)

    try:
        return timed(count, once)
    finally:
        os.close(descriptor)


def replace_atomically(directory: Path, count: int) -> Figures:
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)

    def once(_: int) -> None:
        descriptor = os.open(directory / "new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(descriptor, RECORD)
        os.fsync(descriptor)
        os.close(descriptor)
        os.rename(directory / "new", directory / "record")
        os.fsync(folder)

    try:
        return timed(count, once)
    finally:
        os.close(folder)


def write_directly(directory: Path, count: int) -> Figures:
    """The writer without its thread: what is left to the hop is the difference to the next line."""
    writer = Writer(directory / "direct" / "journal.sqlite3", Reserve(directory / "direct" / "reserve", 4096))

    specs = SpecRows()

    def once(number: int) -> None:
        writer.write([batch_rows(a_batch(number), specs)])
        writer.rest(lambda: True)

    try:
        return timed(count, once)
    finally:
        writer.close()


def commit(directory: Path, count: int, entries: int = 1) -> Figures:
    """One task, as the supervisor is: it gathers what waits into one batch."""

    async def all_of_them(journal: SqliteJournal) -> Figures:
        samples = []
        for number in range(count):
            batch = a_batch(number)
            batch = replace(batch, entries=batch.entries * entries)
            started = time.perf_counter()
            await journal.commit(batch)
            samples.append((time.perf_counter() - started) * 1000)
        return Figures(samples)

    with SqliteJournal(directory / f"commit-{entries}" / "journal.sqlite3") as journal:
        return asyncio.run(all_of_them(journal))


def commit_together(directory: Path, count: int, writers: int) -> tuple[Figures, float]:
    """Many tasks at once; each one's latency, and commits a second of all together."""
    samples: list[float] = []

    async def one(journal: SqliteJournal, commits: int) -> None:
        for number in range(commits):
            batch = a_batch(number)
            started = time.perf_counter()
            await journal.commit(batch)
            samples.append((time.perf_counter() - started) * 1000)

    async def all_of_them(journal: SqliteJournal) -> float:
        started = time.perf_counter()
        await asyncio.gather(*[one(journal, count // writers) for _ in range(writers)])
        return len(samples) / (time.perf_counter() - started)

    with SqliteJournal(directory / "group" / "journal.sqlite3") as journal:
        rate = asyncio.run(all_of_them(journal))
    return Figures(samples), rate


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.journal", description=__doc__)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=50)
    given = parser.parse_args(arguments)
    directory = Path(tempfile.mkdtemp(prefix="phx-bench-"))
    (directory / "direct").mkdir()
    try:
        floor = append_and_sync(directory, given.commits)
        rows = {
            "append + fdatasync": floor,
            "tmp, fsync, rename, fsync dir": replace_atomically(directory, given.commits),
            "journal, same thread": write_directly(directory, given.commits),
            "journal, awaited": commit(directory, given.commits),
            "journal, 50 entries a commit": commit(directory, given.commits, entries=50),
        }
        together, rate = commit_together(directory, given.commits * 4, given.writers)
    finally:
        shutil.rmtree(directory)
    print("one durable record: median / p99 in ms, ratio to append + fdatasync of this run")
    for name, figures in (rows | {f"journal, {given.writers} writers at once": together}).items():
        print(f"{name:32}{figures.text():>22}   {figures.median / floor.median:.2f} x")
    atomic = 1000 / rows["tmp, fsync, rename, fsync dir"].median
    gathered = 50 * 1000 / rows["journal, 50 entries a commit"].median
    print(f"{given.writers} writers: {rate:.0f} commits/s, {rate / atomic:.1f} x the rate of atomic files")
    print(f"one writer, 50 entries a commit: {gathered:.0f} entries/s, {gathered / atomic:.1f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
