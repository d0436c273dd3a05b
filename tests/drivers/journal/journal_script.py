"""A process that writes numbered batches and says which ones were acknowledged: what the crash tests kill and starve.

`python -m tests.drivers.journal.journal_script PATH COUNT` prints `open`, then `acked N` or `failed N` for each batch.
Exit status 3: the journal could not be opened, which was said in an orderly way.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import Mode, Run
from phoenixd.core.agent.state import Starting
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.errors import JournalFailed, PhoenixdError
from phoenixd.ports.journal import Batch, Entry, StoredEntry
from tests.agents import an_agent

ATTEMPTS = 3


def numbered_batch(number: int) -> Batch:
    """Batch N: one to four entries that name it, and two agents that carry its number."""
    size = 1 + number % 4
    run = Run(number, f"run-{number}", Mode.FRESH, f"session-{number}", PromptKind.GOAL, float(number), 1e9 + number)
    state = Starting(run, Activity(turn_open=False, evidence_at=0.0, evidence_wall=0.0), ready_by=number + 30.0)
    return Batch(
        at=float(number),
        wall=1e9 + number,
        entries=tuple(
            Entry(float(number), 1e9 + number, "ab"[part % 2], number, "HookSeen", {"batch": number, "of": size})
            for part in range(size)
        ),
        changed=(an_agent("a", restarts=number, state=state), an_agent("b", restarts=number)),
        next_item=number,
    )


def last_whole_batch(journal: SqliteJournal, entries: list[StoredEntry]) -> int:
    """The number of the newest batch; fails where any batch is there in part, twice, or out of order."""
    saved = journal.load()
    numbers = [stored.entry.detail["batch"] for stored in entries]
    assert numbers == [n for n in range(1, max(numbers, default=0) + 1) for _ in range(1 + n % 4)]
    last = numbers[-1] if numbers else 0
    assert {agent.name: agent.restarts for agent in saved.agents} == ({"a": last, "b": last} if last else {})
    assert (saved.at, saved.next_item) == ((float(last), last) if last else (0.0, 1))
    return last


async def write(journal: SqliteJournal, count: int) -> None:
    entries = await journal.read(newest=True, limit=1)
    first = 1 + (entries[0].entry.detail["batch"] if entries else 0)
    for number in range(first, first + count):
        for _ in range(ATTEMPTS):
            try:
                await journal.commit(numbered_batch(number))
            except JournalFailed:
                say(f"failed {number}")
            else:
                say(f"acked {number}")
                break
        else:
            return


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def main() -> int:
    path, count = Path(sys.argv[1]), int(sys.argv[2])
    try:
        journal = SqliteJournal(path, reserve_bytes=65536)
    except PhoenixdError as error:
        say(f"refused {error}")
        return 3
    say("open")
    try:
        asyncio.run(write(journal, count))
    except JournalFailed as error:
        say(f"refused {error}")
    journal.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
