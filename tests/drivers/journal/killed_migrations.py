"""A migration that is killed at each of its statements in turn, and what is found each time.

`python -m tests.drivers.journal.killed_migrations PATH` does so to copies of a journal of version 1; it forks, and so
runs in a process of its own. It prints how often the old journal and the new one were met.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import sys
from collections import Counter
from pathlib import Path

from phoenixd.drivers.journal import writer
from phoenixd.drivers.journal.migration import Migrated, bring_up
from phoenixd.drivers.journal.reserve import Reserve
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.ports.journal import Batch, Saved
from tests.drivers.journal.older import content


def migrate_and_die(path: Path, statement: int) -> None:
    """Open the journal, and die when SQLite begins with that statement of the migration; in a child."""
    begun = 0

    def begin(_: str) -> None:
        nonlocal begun
        begun += 1
        if begun == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(connection: sqlite3.Connection, path: Path) -> Migrated | None:
        connection.set_trace_callback(begin)
        return bring_up(connection, path)

    writer.bring_up = watched
    writer.Writer(path, Reserve(path.with_name("reserve"), 4096)).close()


def died(path: Path, statement: int) -> bool:
    child = os.fork()
    if child == 0:
        migrate_and_die(path, statement)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0, status
    return os.WIFSIGNALED(status)


def look(path: Path) -> Saved:
    """What the next start makes of it; it is a journal that takes commits."""
    with SqliteJournal(path, reserve_bytes=4096) as journal:
        assert journal.damage is None
        saved = journal.load()
        assert len(asyncio.run(journal.read())) == 7
        asyncio.run(journal.commit(Batch(100.0, 1e9)))
        return saved


def main(path: Path) -> None:
    before = content(path)
    patient = path.parent.with_name("patient") / path.name
    met, statement, goes_on, whole = Counter[int](), 0, True, None
    while goes_on:
        statement += 1
        shutil.copytree(path.parent, patient.parent)
        goes_on = died(patient, statement)
        left = content(patient)
        met[left["version"]] += 1
        assert left["version"] != 1 or left == before, f"killed at statement {statement}: it is neither"
        saved = look(patient)
        whole = whole or saved
        assert saved == whole, f"killed at statement {statement}: something is forgotten"
        shutil.rmtree(patient.parent)
    print(f"old {met[1]} new {met.total() - met[1]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
