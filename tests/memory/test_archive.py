"""P52: a brief run moves the resolved loops that it has read to an archive, and nothing of them is lost on the way."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.briefing import Cause, Due
from phoenixd.ctl import unattended
from phoenixd.documents.resolved import ARCHIVE, ASIDE, LOG
from phoenixd.errors import WriterFailed
from tests.memory.desk import LOOP, Desk, ids, place, says
from tests.start.places import Room

IDS = ("auth-flow", "other", "third")


@pytest.fixture
def desk(desk: Desk) -> Desk:
    place(desk.room, open_loops=[{**LOOP, "id": name, "text": f"The {name} is not tested"} for name in IDS])
    return desk


def named(room: Room, name: str) -> list[str]:
    path = room.state / name
    return [json.loads(line)["id"] for line in path.read_text().splitlines()] if path.exists() else []


async def generate(desk: Desk) -> None:
    desk.writer.answers = [says(open_loops=[{"id": name, "text": "x"} for name in IDS])] * 2
    await desk.room.papers.briefing.generate(desk.agent())


async def test_p52_after_a_run_the_log_is_empty_and_the_archive_has_its_lines_as_they_were(desk: Desk) -> None:
    for name in IDS[:2]:
        assert await desk.room.papers.resolve(desk.agent(), name, "done") == "resolved"
    before, inode = desk.room.text(LOG), (desk.room.state / LOG).stat().st_ino

    await generate(desk)

    assert (named(desk.room, LOG), desk.room.text(ARCHIVE)) == ([], before)
    assert not (desk.room.state / ASIDE).exists()
    assert await desk.room.papers.resolve(desk.agent(), "third", "done") == "resolved"
    assert (desk.room.state / LOG).stat().st_ino != inode or not desk.room.text(LOG).startswith(before)
    assert await desk.room.papers.resolve(desk.agent(), "auth-flow", "again") == "already"
    await generate(desk)
    assert named(desk.room, ARCHIVE) == list(IDS)
    assert desk.room.text(ARCHIVE).startswith(before), "the archive only grows"
    assert desk.writer.asked[-1][0].resolutions[-1].id == "third", "a writer is told of all of them"
    assert [made.id for made in desk.writer.asked[-1][0].resolutions] == list(IDS)


async def test_p52_f_st_9_what_is_resolved_while_the_writer_thinks_is_kept_for_the_next_run(desk: Desk) -> None:
    agent = desk.agent()
    await desk.room.papers.resolve(agent, "auth-flow", "done")

    def meanwhile(material: Any) -> str:
        line = {"id": "other", "reason": "by hand", "ts": "2026-11-21T10:00:00Z", "domain": "a"}
        with (desk.room.state / LOG).open("a") as log:
            log.write(json.dumps(line) + "\n")
        return says(open_loops=[{"id": name, "text": "x"} for name in IDS])(material)

    desk.writer.answers = [meanwhile]
    await desk.room.papers.briefing.generate(agent)

    assert (named(desk.room, LOG), named(desk.room, ARCHIVE)) == (["auth-flow", "other"], [])
    await generate(desk)
    assert (named(desk.room, LOG), named(desk.room, ARCHIVE)) == ([], ["auth-flow", "other"])
    assert ids(desk.room) == ["third"]


async def test_p52_a_run_that_cannot_be_switched_in_archives_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = desk.agent()
    await desk.room.papers.resolve(agent, "auth-flow", "done")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("phoenixd.memory.desk.begin_switch", full)
        desk.writer.answers = [says(), says()]
        with pytest.raises(OSError, match="No space"):
            await desk.room.papers.briefing.generate(agent)

    assert (named(desk.room, LOG), named(desk.room, ARCHIVE)) == (["auth-flow"], [])
    desk.writer.answers = [WriterFailed("exit status 1")]
    await desk.room.papers.briefing.generate(agent)
    assert named(desk.room, LOG) == [], "a page without a model is one all the same"


async def test_p52_runs_between_them_leave_the_log_as_it_is(desk: Desk) -> None:
    agent = desk.plain()
    await desk.room.papers.resolve(agent, "auth-flow", "done")

    for cause in (Cause.TURN, Cause.CHANGE, Cause.DEATH, Cause.LEFT):
        await desk.room.papers.briefing._runs.write(agent, Due(desk.room.clock.wall, cause, ""))

    assert (named(desk.room, LOG), named(desk.room, ARCHIVE)) == (["auth-flow"], [])


@pytest.mark.parametrize("step", ["renamed", "copied"])
async def test_p52_p76_a_crash_in_the_middle_loses_nothing_and_closes_nothing_twice(
    desk: Desk, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = desk.agent()
    await desk.room.papers.resolve(agent, "auth-flow", "done")
    line = desk.room.text(LOG)
    os.rename(desk.room.state / LOG, desk.room.state / ASIDE)
    if step == "copied":
        (desk.room.state / ARCHIVE).write_text(line)
    # While no daemon runs, phoenixctl knows what was closed, and its own line stands in a log of its own.
    (desk.room.directories.state / "phoenixd.lock").touch()
    told = unattended.resolve(desk.room.directories.state, "auth-flow", "again", "a", {})
    assert told["outcome"] == "already"
    told = unattended.resolve(desk.room.directories.state, "other", "done", "a", {})
    assert told["outcome"] == "resolved"
    # An operator opens the first one again.
    document = desk.room.document()
    place(desk.room, **{**document, "open_loops": [LOOP, *document["open_loops"]]})

    desk.restarted()
    await desk.room.papers.publish(agent, [])

    assert ids(desk.room) == ["auth-flow", "third"]
    assert (desk.room.text(ARCHIVE), named(desk.room, LOG)) == (line, ["other"])
    assert not (desk.room.state / ASIDE).exists()


@pytest.mark.parametrize("odd", ["directory", "symlink", "fifo"])
async def test_p52_junk_in_the_place_of_the_archive_costs_no_resolution(desk: Desk, odd: str, tmp_path: Path) -> None:
    agent = desk.agent()
    await desk.room.papers.resolve(agent, "auth-flow", "done")
    for name in (ARCHIVE, ASIDE):
        place_ = desk.room.state / name
        if odd == "directory":
            (place_ / "x").mkdir(parents=True)
        elif odd == "symlink":
            place_.symlink_to(tmp_path / "victim")
        else:
            os.mkfifo(place_)
    desk.restarted()

    await generate(desk)

    assert await desk.room.papers.resolve(agent, "other", "done") == "resolved"
    assert (named(desk.room, ARCHIVE), named(desk.room, LOG)) == (["auth-flow"], ["other"])
    assert not (tmp_path / "victim").exists()
