"""The journal on SQLite: commits on one thread, reads on another, so that no reader can hold up a decision.

A batch is one transaction of a write-ahead log, synced before it is acknowledged (synchronous=FULL). What waits
together is committed together. Files: NAME, NAME-wal, NAME-shm, NAME.reserve, all 0600 in a directory of 0700.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self

from anyio import to_thread

from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.meter.reading import UsageSample
from phoenixd.core.mutes.state import Mute
from phoenixd.core.seat.state import Seat
from phoenixd.core.tasks.state import Tasks
from phoenixd.core.treatment.case import Cases
from phoenixd.core.undo.state import Undoable
from phoenixd.directories import make_private
from phoenixd.documents import older
from phoenixd.documents.codec import Undecodable, decode
from phoenixd.drivers.journal.case_rows import OneCase, Treatments
from phoenixd.drivers.journal.lives import storable
from phoenixd.drivers.journal.markers import MarksOf
from phoenixd.drivers.journal.migration import Migrated, raised_copy
from phoenixd.drivers.journal.newest import MOST_ROWS, Newest
from phoenixd.drivers.journal.past_lives import LivesOf
from phoenixd.drivers.journal.reader import READ_LIMIT, HandoffsOf, Query, Question, Reader
from phoenixd.drivers.journal.reserve import RESERVE_BYTES, Reserve
from phoenixd.drivers.journal.retention import ENTRIES_PER_AGENT, KEEP_SECONDS
from phoenixd.drivers.journal.rows import (
    SpecRows,
    batch_rows,
    sealed,
)
from phoenixd.drivers.journal.salvage import Damage
from phoenixd.drivers.journal.samples import SamplesOf
from phoenixd.drivers.journal.schema import (
    Damaged,
    connect,
    forget_read,
    load_agents,
    load_retired,
    meta,
    version_of,
)
from phoenixd.drivers.journal.tables import (
    CASES_KEY,
    EPOCH_KEY,
    MUTES_KEY,
    SAVED_KEY,
    SCHEMA_VERSION,
    TASKS_KEY,
    UNDO_KEY,
)
from phoenixd.drivers.journal.thread import DatabaseThread
from phoenixd.drivers.journal.writer import Fact, Touch, Writer
from phoenixd.errors import JournalFailed, UnsafeFile
from phoenixd.ports.journal import Batch, KeptCase, KeptLife, KeptMark, KeptTreatment, Saved, StoredEntry

BOOT_KEY = "boot_id"


class SqliteJournal:
    """Implements ports.Journal. One process at a time may write; the caller holds the state directory's lock."""

    def __init__(
        self,
        path: Path,
        *,
        reserve_bytes: int = RESERVE_BYTES,
        entries_per_agent: int = ENTRIES_PER_AGENT,
        keep_seconds: float = KEEP_SECONDS,
    ) -> None:
        """Open the journal, or begin one; a damaged one is kept aside and salvaged, which `damage` then tells.

        Raises ConfigurationError when a newer version wrote it, UnsafeFile, JournalFailed.
        """
        _require_private_directory(path.parent)
        self._path = path
        self._reserve = Reserve(path.with_name(path.name + ".reserve"), reserve_bytes)
        self._writer = Writer(path, self._reserve, entries_per_agent, keep_seconds)
        self._reader = Reader(path)
        self._specs = SpecRows()
        self._newest = Newest(min(MOST_ROWS, entries_per_agent))
        self._writing = DatabaseThread("journal-writer", self._writer.write, self._writer.rest)
        self._reading = DatabaseThread("journal-reader", self._reader.answer, largest_group=1)

    @property
    def damage(self) -> Damage | None:
        """What was salvaged in this process's time; None when the journal was sound."""
        return self._writer.damage

    @property
    def migrated(self) -> Migrated | None:
        """What became of a journal of an older version in this process's time; None where it was of this one."""
        return self._writer.migrated

    @property
    def trouble(self) -> str | None:
        """What housekeeping last failed at, while commits went on."""
        return self._writer.trouble

    def load(self) -> Saved:
        """Read the snapshot. Specifications come without environment: that stands in the configuration."""
        try:
            with closing(connect(self._path, readonly=True)) as connection:
                if version_of(connection) == SCHEMA_VERSION:
                    return _saved(connection)
                # The disk has no room to migrate it, and what it says is known all the same.
                with closing(raised_copy(connection)) as copy:
                    return _saved(copy)
        except (sqlite3.Error, OSError, Damaged, Undecodable) as error:
            raise JournalFailed(f"the journal's snapshot cannot be read: {error}") from error
        finally:
            forget_read()

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        """Make a batch durable and return the row numbers of its entries; raises JournalFailed.

        A batch that failed, or whose commit was cancelled, may still be there after a restart: whole, never half.
        """
        rows = batch_rows(batch, self._specs)
        numbers = await self._writing.ask(rows)
        self._newest.wrote(numbers, rows.entries)
        return numbers

    async def read(
        self,
        *,
        agent: str | Sequence[str] | None = None,
        after: int = 0,
        since_wall: float | None = None,
        limit: int = 1000,
        newest: bool = False,
        story: bool = False,
        before: int | None = None,
    ) -> list[StoredEntry]:
        """Read entries in order of their row number; `newest` takes the last `limit` ones, still in order.

        agent: whose, of several names where it is a seat's. story: only rows of that weight. before: only rows below
        that number.
        """
        if agent is None and before is None and not newest:
            known = self._newest.read(after, since_wall, min(limit, READ_LIMIT), story=story)
            if known is not None:
                return known
        named = (agent,) if isinstance(agent, str) else tuple(agent) if agent is not None else None
        found: list[StoredEntry] = await self._ask(
            Query(named, after, since_wall, min(limit, READ_LIMIT), newest, story, before)
        )
        return found

    async def lives(self, names: Sequence[str], limit: int) -> list[KeptLife]:
        """The runs of these agents, the newest first."""
        found: list[KeptLife] = await self._ask(LivesOf(tuple(names), limit))
        return found

    async def usage(self, names: Sequence[str], since: float | None, limit: int) -> list[UsageSample]:
        """How full the context of these agents was: the newest samples, the oldest of them first."""
        found: list[UsageSample] = await self._ask(SamplesOf(tuple(names), since, limit))
        return found

    async def treatments(self) -> list[KeptTreatment]:
        """Every treatment that is kept, the oldest first."""
        found: list[KeptTreatment] = await self._ask(Treatments())
        return found

    async def case(self, case_id: str) -> KeptCase | None:
        """What is kept of a Case; None where nothing is."""
        found: KeptCase | None = await self._ask(OneCase(case_id))
        return found

    async def _ask(self, question: Question) -> Any:
        try:
            return await self._reading.ask(question)
        except JournalFailed:
            # Somebody may have taken the file away, and only the writer still has it.
            await self._writing.ask(Touch())
            return await self._reading.ask(question)

    async def marks(self, names: Sequence[str], limit: int) -> list[KeptMark]:
        """What became of the marker of these agents, the newest first."""
        found: list[KeptMark] = await self._ask(MarksOf(tuple(names), limit))
        return found

    async def handoffs(self, seat: str, limit: int) -> list[Handoff]:
        """A seat's handoffs that are over, the newest first."""
        found: list[Handoff] = await self._ask(HandoffsOf(seat, limit))
        return found

    async def remember(self, key: str, value: str) -> None:
        """Keep a small fact; durable on return."""
        if key.startswith("#"):
            raise ValueError(f"{key} is a name of the journal's own")
        await self._writing.ask(Fact(sealed("meta", storable(key), storable(value))))

    async def recall(self, key: str) -> str | None:
        """A fact that was remembered."""
        found: str | None = await self._ask(storable(key))
        return found

    def release_reserve(self) -> bool:
        """Free the space held back for orders that end processes; whether there was any. Never blocks on the writer."""
        return self._reserve.release()

    async def shortage(self) -> str | None:
        """Why every further write may be the last, or None; takes the reserve back where there is room for it."""
        return await to_thread.run_sync(self._reserve.ensure)

    def close(self) -> None:
        """Commit what waits, and close. Blocks until it is done."""
        for thread in (self._reading, self._writing):
            thread.close()
        self._reader.close()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _saved(connection: sqlite3.Connection) -> Saved:
    saved = json.loads(meta(connection, SAVED_KEY) or "{}")
    return Saved(
        at=saved.get("at", 0.0),
        wall=saved.get("wall", 0.0),
        boot_id=meta(connection, BOOT_KEY) or "",
        agents=load_agents(connection),
        next_item=saved.get("next_item", 1),
        alerts=tuple(decode(StandingAlert, older.alert(one)) for one in saved.get("alerts", [])),
        retired=load_retired(connection),
        epoch=int(meta(connection, EPOCH_KEY) or 0),
        tasks=decode(Tasks, json.loads(meta(connection, TASKS_KEY) or "{}")),
        cases=decode(Cases, json.loads(meta(connection, CASES_KEY) or "{}")),
        mutes={one.agent: one for one in _mutes(connection)},
        undoable=tuple(_known_acts(json.loads(meta(connection, UNDO_KEY) or "[]"))),
        seats=tuple(decode(Seat, one) for one in saved.get("seats", [])),
    )


def _mutes(connection: sqlite3.Connection) -> tuple[Mute, ...]:
    return tuple(decode(Mute, one) for one in json.loads(meta(connection, MUTES_KEY) or "[]"))


def _known_acts(stored: Iterable[Any]) -> Iterator[Undoable]:
    for one in stored:
        with suppress(Undecodable):
            # A newer version lets more be taken back; what this one does not know it cannot, and says so.
            yield decode(Undoable, one)


def _require_private_directory(directory: Path) -> None:
    make_private(directory)
    found = os.stat(directory)
    if found.st_uid != os.geteuid():
        raise UnsafeFile(f"{directory} belongs to uid {found.st_uid}, not to uid {os.geteuid()}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        directory.chmod(0o700)
