"""The file in which a successor acknowledges is told when it is written, and only what is a plain file is read."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import from_thread

from phoenixd.core.agent import Agent
from phoenixd.core.events.handoffs import AckFileSeen
from phoenixd.core.seat.state import Seat
from phoenixd.documents.project import layout
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.drivers.files.changes import DirectoryChanges
from phoenixd.drivers.files.session_files import ProjectFiles
from phoenixd.runtime.ack_watch import NOT_PLAIN, AckWatch
from tests.core.handing import HandoffStory, at
from tests.waiting import eventually

SESSION = "orchestrator-01"
SAID = {"package": "5f", "word": "heron", "phase": "none", "run": "r-1", "generation": 2}


class Scene:
    """A seat that waits for the ack of a successor in a workspace, and what is told of it."""

    def __init__(self, workspace: Path) -> None:
        self.changes = Kept(layout.ACK)
        self.story: HandoffStory = at("await_ack")
        self.workspace, self.told = workspace, list[AckFileSeen]()
        self.place = workspace / layout.SESSIONS / SESSION
        self.place.mkdir(parents=True)
        self.awaits, self.session = True, SESSION

    @property
    def file(self) -> Path:
        return self.place / layout.ACK

    def seat_of(self, name: str) -> Seat | None:
        seat = self.story.fleet.seats.get(name)
        if seat is None or seat.handoff is None or not self.awaits:
            return None
        return replace(seat, handoff=replace(seat.handoff, session=self.session))

    def watch(self) -> AckWatch:
        def find(name: str) -> Agent | None:
            agent = self.story.find(name)
            return replace(agent, spec=replace(agent.spec, cwd=str(self.workspace))) if agent is not None else None

        def agents() -> tuple[Agent, ...]:
            return tuple(self.story.fleet.agents.values())

        return AckWatch(find, self.seat_of, self.told.append, SupervisedClock(), self.changes, ProjectFiles(), agents)

    def written(self, content: bytes, *, old: bool = True) -> None:
        beside = self.place / "beside"
        beside.write_bytes(content)
        if old:
            os.utime(beside, (1, 1))
        beside.rename(self.file)


class Kept(DirectoryChanges):
    """Says which directories it watches."""

    @property
    def directories(self) -> set[Path]:
        return set(self._watched.values())


@asynccontextmanager
async def watching(scene: Scene) -> AsyncIterator[AckWatch]:
    async with anyio.create_task_group() as tasks:
        watch = scene.watch()
        tasks.start_soon(watch.run)
        yield watch
        tasks.cancel_scope.cancel()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_e47_a_file_is_told_when_it_is_written_with_what_it_quotes(scene: Scene) -> None:
    async with watching(scene) as watch:
        await watch.look("o")
        assert scene.told == []
        scene.written(json.dumps(SAID).encode())
        await eventually(lambda: scene.told)
    told = scene.told[0]
    assert (told.agent, told.handoff, told.package, told.word) == ("o", scene.story.handoff.id, "5f", "heron")
    assert (told.facts, told.run, told.generation, told.fault) == ((("phase", "none"),), "r-1", "2", "")


async def test_f_ho_6_a_file_that_was_written_while_no_daemon_ran_is_told_at_its_start(scene: Scene) -> None:
    scene.written(json.dumps(SAID).encode())
    async with watching(scene):
        await eventually(lambda: scene.told)
    assert scene.told[0].word == "heron"


def linked(scene: Scene) -> None:
    elsewhere = scene.workspace / "elsewhere"
    elsewhere.write_text(json.dumps(SAID))
    scene.file.symlink_to(elsewhere)


def hard_linked(scene: Scene) -> None:
    elsewhere = scene.workspace / "elsewhere"
    elsewhere.write_text(json.dumps(SAID))
    os.link(elsewhere, scene.file)


def below_a_link(scene: Scene) -> None:
    elsewhere = scene.workspace / "elsewhere"
    scene.place.rename(elsewhere)
    (elsewhere / layout.ACK).write_text(json.dumps(SAID))
    scene.place.symlink_to(elsewhere)


def fifo(scene: Scene) -> None:
    os.mkfifo(scene.file)


def directory(scene: Scene) -> None:
    scene.file.mkdir()


def too_large(scene: Scene) -> None:
    scene.file.write_text(json.dumps(SAID) + " " * 8000)


def foreign(scene: Scene) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes files of other users")
    scene.file.write_text(json.dumps(SAID))
    os.chown(scene.file, 4242, 4242)


@pytest.mark.parametrize("make", [linked, hard_linked, below_a_link, fifo, directory, too_large, foreign])
async def test_what_is_no_plain_bounded_file_of_this_user_is_not_read(
    scene: Scene, make: Callable[[Scene], object]
) -> None:
    make(scene)
    await scene.watch().look("o")
    assert [(one.fault, one.package) for one in scene.told] == [(NOT_PLAIN, "")]


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff\xfe", b"[" * 7000])
async def test_what_is_no_object_is_told_as_that(scene: Scene, content: bytes) -> None:
    scene.written(content)
    await scene.watch().look("o")
    assert [one.fault for one in scene.told] == ["it is no JSON object"]


async def test_half_a_file_is_looked_at_again(scene: Scene) -> None:
    watch = scene.watch()
    scene.written(b'{"package": ', old=False)
    await watch.look("o")
    assert scene.told == []
    scene.written(json.dumps(SAID).encode())
    await watch.look("o")
    assert [one.word for one in scene.told] == ["heron"]


async def test_nothing_is_looked_at_where_nothing_is_waited_for(scene: Scene) -> None:
    scene.written(json.dumps(SAID).encode())
    scene.awaits = False
    await scene.watch().look("o")
    assert scene.told == []


async def test_a_directory_is_watched_only_while_its_acknowledgement_is_waited_for(scene: Scene) -> None:
    watch = scene.watch()
    await watch.look("o")
    assert scene.changes.directories == {scene.place}
    scene.awaits = False
    watch.hear(())
    assert scene.changes.directories == set()
    scene.changes.close()


async def test_a_handoff_that_ended_before_its_directory_was_watched_leaves_no_watch(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may hold the watch up for as long as it likes."""
    watch, add = scene.watch(), scene.changes.watch

    def late(directory: Path) -> bool:
        scene.awaits = False
        from_thread.run_sync(watch.hear, ())
        return add(directory)

    monkeypatch.setattr(scene.changes, "watch", late)
    await watch.look("o")
    assert scene.changes.directories == set()
    scene.changes.close()


async def test_the_directory_of_an_earlier_handoff_is_watched_no_more(scene: Scene) -> None:
    watch = scene.watch()
    await watch.look("o")
    scene.session = "orchestrator-02"
    (scene.place.parent / scene.session).mkdir()
    await watch.look("o")
    assert scene.changes.directories == {scene.place.parent / scene.session}
    scene.changes.close()
