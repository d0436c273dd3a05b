"""What becomes of the documents while nothing happens but heartbeats: state.json follows, cheaply."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phoenixd.config.tables import ConfigurationTable
from phoenixd.documents.resolved import render_resolution, resolution
from phoenixd.drivers.files import plain as files
from phoenixd.memory.desk import BEAT_SPACING, BRIEF_SPACING, Desk
from tests.memory.desk import LOOP
from tests.start.places import NOW, Room


class Written:
    """The desk of a running agent whose documents were published once."""

    def __init__(self, root: Path) -> None:
        self.room = Room(root)
        self.directory = self.room.state
        self.directory.mkdir(parents=True)
        (self.directory / "state.json").write_text(json.dumps({"agent": "a", "open_loops": [LOOP]}))
        self.desk = Desk.of("a", self.directory, files, ConfigurationTable())
        self.publish(NOW)

    def publish(self, now: float) -> None:
        agent = self.room.running(self.room.agent())
        state = self.desk.settle(agent, now)
        self.desk.shelf.write_session(agent)
        self.desk.write_brief(agent, state, now)

    def beat(self, stamp: str) -> None:
        (self.directory / "heartbeat.json").write_text(json.dumps({"agent": "a", "timestamp": stamp}))

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.directory / "state.json").read_bytes())
        return found

    def others(self) -> dict[str, tuple[int, bytes]]:
        """Each other document: its inode, which a writing changes, and its content."""
        found = [path for path in self.directory.iterdir() if path.name not in ("state.json", "heartbeat.json")]
        return {path.name: (path.stat().st_ino, path.read_bytes()) for path in found}


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


def test_p36_a_heartbeat_alone_moves_last_active_and_no_other_document_is_written(written: Written) -> None:
    before, others = written.document(), written.others()
    written.beat("2026-11-21T10:00:30Z")
    assert written.desk.fold(NOW + BEAT_SPACING - 1) is False
    assert written.document() == before, "each writing waits for the disk"

    assert written.desk.fold(NOW + BEAT_SPACING) is False

    assert written.document() == {**before, "last_active": "2026-11-21T10:00:30Z"}
    assert written.others() == others


def test_p36_a_heartbeat_that_is_written_elsewhere_moves_last_active_whatever_it_says(
    written: Written, tmp_path: Path
) -> None:
    """A write by any hand is a sign of life. No decision is made for one, so that the desk hears of none."""
    elsewhere = tmp_path / "beats"
    agent = written.desk.agent
    assert agent is not None
    written.desk.agent = replace(agent, spec=replace(agent.spec, heartbeat_file=str(elsewhere)))
    assert written.desk.fold(NOW + 20) is False
    before, others = written.document(), written.others()
    elsewhere.write_text("beat\n")
    os.utime(elsewhere, (NOW + 30, NOW + 30))

    assert written.desk.fold(NOW + BEAT_SPACING) is False

    assert written.document() == {**before, "last_active": "2026-11-21T10:00:30Z"}
    assert written.others() == others
    os.utime(elsewhere, (NOW + 9000, NOW + 9000))
    written.desk.fold(NOW + 2 * BEAT_SPACING)
    assert written.document()["last_active"] == "2026-11-21T10:10:00Z", "a clock that is ahead tells no future"


def test_our_own_fold_is_no_edit_of_another_hand(written: Written) -> None:
    written.beat("2026-11-21T10:00:30Z")
    written.desk.fold(NOW + BEAT_SPACING)

    assert not written.desk.shelf.was_touched()
    assert written.desk.fold(NOW + 2 * BEAT_SPACING) is False


def test_without_a_newer_sign_of_life_nothing_is_written(written: Written) -> None:
    inode = (written.directory / "state.json").stat().st_ino
    written.beat("2026-11-21T09:00:00Z")

    assert written.desk.fold(NOW + 60) is False

    assert (written.directory / "state.json").stat().st_ino == inode


def test_a_brief_follows_heartbeats_in_time(written: Written) -> None:
    """Else it would pass for one that nobody keeps up to date, while its agent lives."""
    written.beat("2026-11-21T10:29:59Z")
    assert written.desk.fold(NOW + BRIEF_SPACING - 1) is False
    written.beat("2026-11-21T10:30:00Z")

    assert written.desk.fold(NOW + BRIEF_SPACING) is True

    written.publish(NOW + BRIEF_SPACING)
    assert "Last active: 2026-11-21T10:30:00Z" in (written.directory / "brief.md").read_text()
    written.beat("2026-11-21T10:30:30Z")
    assert written.desk.fold(NOW + BRIEF_SPACING + 60) is False


def test_f_st_5_an_edit_is_never_folded_over(written: Written) -> None:
    (written.directory / "state.json").write_text(json.dumps({**written.document(), "owner": "ops"}))
    written.beat("2026-11-21T10:00:30Z")

    assert written.desk.fold(NOW + 60) is True

    assert written.document()["owner"] == "ops"
    written.publish(NOW + 60)
    found = written.document()
    assert (found["owner"], found["last_active"]) == ("ops", "2026-11-21T10:00:30Z")


def test_a_loop_that_another_hand_resolved_asks_for_all_documents(written: Written) -> None:
    line = render_resolution(resolution("auth-flow", "tested", NOW, "a")) + b"\n"
    (written.directory / "resolved.jsonl").write_bytes(line)
    written.beat("2026-11-21T10:00:30Z")

    assert written.desk.fold(NOW + 60) is True

    written.publish(NOW + 60)
    assert written.document()["open_loops"] == []


def test_a_new_day_asks_for_all_documents(written: Written) -> None:
    assert written.desk.fold(NOW + 86400) is True


def test_what_could_not_be_folded_is_folded_the_next_time(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    written.beat("2026-11-21T10:00:30Z")
    with monkeypatch.context() as full:
        full.setattr(files, "refresh", fails)
        with pytest.raises(OSError, match="No space left"):
            written.desk.fold(NOW + BEAT_SPACING)

    assert written.desk.fold(NOW + BEAT_SPACING + 60) is False
    assert written.document()["last_active"] == "2026-11-21T10:00:30Z"
