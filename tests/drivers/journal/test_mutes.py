"""Mutes outlive the daemon, and samples of contexts can be read back."""

from __future__ import annotations

from pathlib import Path

from phoenixd.core.events.orders import MuteRequested
from phoenixd.core.meter.reading import UsageSample
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.ports.journal import Batch
from phoenixd.runtime.recovery import restore
from tests.core.story import Story, claude

WALL = 1.7e9


async def test_a_mute_stands_after_a_restart_of_the_daemon(tmp_path: Path) -> None:
    story = Story(claude()).works()
    story.tell(MuteRequested("a", 60.0, "ada"))
    mutes = story.fleet.mutes
    path = tmp_path / "state" / "journal.sqlite3"
    with SqliteJournal(path) as journal:
        assert journal.load().mutes == {}
        await journal.commit(Batch(1.0, WALL, mutes=mutes))
        await journal.commit(Batch(2.0, WALL, mutes=mutes))

    with SqliteJournal(path) as journal:
        saved = journal.load()
        assert saved.mutes == mutes
        assert restore(saved, {}, story.fleet.limits).mutes == mutes
        await journal.commit(Batch(3.0, WALL))

    with SqliteJournal(path) as journal:
        assert journal.load().mutes == {}


async def test_the_newest_samples_of_an_agent_are_read_back_in_their_order(tmp_path: Path) -> None:
    samples = tuple(UsageSample(name, 1, "s", tokens, None, "model", WALL + tokens)
                    for tokens in range(5) for name in ("a", "b"))  # fmt: skip
    with SqliteJournal(tmp_path / "state" / "journal.sqlite3") as journal:
        await journal.commit(Batch(1.0, WALL, usage=samples))
        assert [one.tokens for one in await journal.usage(("a",), None, 3)] == [2, 3, 4]
        assert await journal.usage(("a",), WALL + 4, 10) == [samples[8]]
        assert await journal.usage(("c",), None, 10) == []
