"""What can be taken back stands in the journal, and is written where it changed."""

from __future__ import annotations

from pathlib import Path

from phoenixd.core.undo.state import Undoable
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.ports.journal import Batch
from phoenixd.runtime.recovery import restore
from tests.core.story import Story, claude

WALL = 1.7e9


async def test_what_was_done_can_be_taken_back_after_a_restart_of_the_daemon(tmp_path: Path) -> None:
    story = Story(claude()).works()
    story.stop(act="1", by="ada")
    acts = story.fleet.undoable
    path = tmp_path / "state" / "journal.sqlite3"
    with SqliteJournal(path) as journal:
        assert journal.load().undoable == ()
        await journal.commit(Batch(1.0, WALL, undoable=acts))
        await journal.commit(Batch(2.0, WALL, undoable=(*acts, Undoable("2", "stop", "b", WALL, "ada"))))
        await journal.commit(Batch(3.0, WALL, undoable=acts))

    with SqliteJournal(path) as journal:
        saved = journal.load()

    assert saved.undoable == acts
    assert acts[0].session is not None
    assert restore(saved, {}, story.fleet.limits).undoable == acts
