"""The newest rows are told from memory as the file tells them, and only where none is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.facts import RunBegan
from phoenixd.drivers.journal.newest import Newest
from phoenixd.drivers.journal.rows import batch_rows
from phoenixd.drivers.journal.sqlite import Query, Reader, SqliteJournal
from phoenixd.ports.journal import Batch, Entry

BEGAN = RunBegan(1, Mode.FRESH, PromptKind.NONE)
HARD_TO_TELL: list[Entry] = [
    Entry(
        1.5, 1e9, "a", 7, "AgentExited", {"code": 1}, "stopped", "why", (("n", 1.5), ("t", None)), ("Start",), "story"
    ),
    Entry(2, 1e9 + 1, None, 0, "Tick", {}, weight="detail"),
    Entry(3.0, 1e9 + 2, "b", 1, "Hook", {"long": "x" * 100_000}, reason="\udc80" + "y" * 10_000, weight="story"),
    Entry(4.0, 1e9 + 3, "b", 1, "Hook", {"a": (1, 2), "path": Path("/x"), "5": {"ä": "\udc80"}}, weight="story"),
    Entry(5.0, 1e9 + 4, "a", 8, "SpawnRequested", {}, "starting", weight="story", facts=(BEGAN,)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite3"


@pytest.fixture
def journal(path: Path) -> Iterator[SqliteJournal]:
    with SqliteJournal(path) as opened:
        yield opened


async def commit(journal: SqliteJournal, *entries: Entry) -> tuple[int, ...]:
    return await journal.commit(Batch(at=1.0, wall=1e9, entries=entries))


@pytest.mark.parametrize("story", [True, False])
@pytest.mark.parametrize("since_wall", [None, 1e9 + 2])
async def test_who_follows_reads_in_memory_what_stands_in_the_file(
    path: Path, journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch, story: bool, since_wall: float | None
) -> None:
    for entry in HARD_TO_TELL:
        await commit(journal, entry)
    await commit(journal, *HARD_TO_TELL)
    reader = Reader(path)

    async def asked(question: object) -> object:
        raise AssertionError(f"the file was asked for {question}")

    monkeypatch.setattr(journal._reading, "ask", asked)
    for after in range(1, 11):
        for limit in (1, 3, 100):
            (stands,) = reader.answer([Query(None, after, since_wall, limit, newest=False, story=story)])
            assert await journal.read(after=after, since_wall=since_wall, limit=limit, story=story) == stands
    reader.close()


async def test_what_is_older_than_the_rows_in_memory_is_read_from_the_file(path: Path) -> None:
    with SqliteJournal(path) as journal:
        journal._newest.most = 3
        for number in range(6):
            await commit(journal, replace(HARD_TO_TELL[0], incarnation=number))

        assert [len(await journal.read(after=after)) for after in range(7)] == [6, 5, 4, 3, 2, 1, 0]
        assert journal._newest.read(2, None, 10, story=False) is None
    with SqliteJournal(path) as journal:
        assert len(await journal.read(after=1)) == 5, "nothing was committed by this process"
        await commit(journal, HARD_TO_TELL[0])
        assert len(await journal.read(after=1)) == 6


async def test_rows_of_which_this_process_was_not_told_are_never_left_out(journal: SqliteJournal) -> None:
    await commit(journal, HARD_TO_TELL[0])
    await journal._writing.ask(batch_rows(Batch(at=1.0, wall=1e9, entries=(HARD_TO_TELL[0],))))
    await commit(journal, HARD_TO_TELL[0])

    assert [stored.seq for stored in await journal.read(after=1)] == [2, 3]


def test_commits_that_are_told_of_in_another_order_are_left_to_the_file() -> None:
    newest = Newest()
    for numbers in ((4, 5), (8, 9), (6, 7)):
        newest.wrote(numbers, [(), ()])

    assert [newest.read(after, None, 10, story=False) for after in (5, 6, 7, 8)] == [None] * 4
    assert newest.read(9, None, 10, story=False) == []
