"""The brief-watchdog looks when a brief may be too old, tells it once, and tells when it is over."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.core.moment import Moment
from phoenixd.drivers.files import plain as files
from phoenixd.memory import publication
from phoenixd.memory.watch import DocumentWatch
from tests.start.places import NOW, Room
from tests.waiting import eventually

HOUR = 3600.0


@dataclass
class StandingClock:
    """Time that passes only when a test lets it; all that sleep are woken when it has come."""

    wall: float = NOW
    sleeping: float | None = None
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def now(self) -> Moment:
        return Moment(self.wall, self.wall)

    async def sleep_until(self, at: float) -> None:
        self.sleeping = at
        while self.wall < at:
            self.moved.clear()
            await self.moved.wait()

    async def pass_by(self, seconds: float) -> None:
        """Let time pass as the alarm would: from one awakening to the next."""
        until = self.wall + seconds
        while self.wall < until:
            await eventually(lambda: self.sleeping is not None and self.sleeping > self.wall)
            assert self.sleeping is not None
            self.wall = min(until, self.sleeping)
            self.moved.set()
            await asyncio.sleep(0)


@dataclass
class Counted:
    """The file driver, counting what is read."""

    read: list[str] = field(default_factory=list)

    def read_plain(self, path: os.PathLike[str] | str, limit: int) -> bytes:
        self.read.append(Path(path).name)
        return files.read_plain(path, limit)

    replace, append, ensure_private_dir = map(staticmethod, (files.replace, files.append, files.ensure_private_dir))


@dataclass
class Watched:
    """A room with a watch over its agent, and what it told."""

    room: Room
    clock: StandingClock = field(default_factory=StandingClock)
    files: Counted = field(default_factory=Counted)
    told: list[Event] = field(default_factory=list)
    agents: dict[str, Agent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        directories = self.room.directories
        self.watch = DocumentWatch(
            directories, self.files, self.clock, 36 * HOUR, lambda: tuple(self.agents.values()), self.told.append
        )

    async def write(self) -> None:
        agent = self.room.running(self.room.agent())
        agent = replace(agent, alerts=self.agents["a"].alerts if self.agents else ())
        self.agents["a"] = agent
        self.room.clock.wall = self.clock.wall
        await self.room.papers.publish(agent, [])
        os.utime(self.room.state / "brief.md", (self.clock.wall, self.clock.wall))

    def stand(self, *kinds: str) -> None:
        alerts = tuple(StandingAlert(1, kind, "", NOW, 1, True) for kind in kinds)
        self.agents["a"] = replace(self.agents["a"], alerts=alerts)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.watch.run())
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def kinds(self) -> list[tuple[str, str]]:
        return [
            (type(event).__name__, event.kind) for event in self.told if isinstance(event, TroubleSeen | TroubleGone)
        ]


@pytest.fixture
async def watched(room: Room) -> Watched:
    watched = Watched(room)
    await watched.write()
    return watched


async def test_p42_a_brief_is_told_when_it_is_36_hours_old_until_it_is_written_anew(
    watched: Watched,
) -> None:
    async with watched.running():
        await watched.clock.pass_by(35.9 * HOUR)
        assert watched.kinds() == []
        assert watched.files.read.count("brief.md") <= 2, "nobody looks at what cannot be too old yet"
        await watched.clock.pass_by(0.2 * HOUR)
        await eventually(lambda: watched.kinds() == [("TroubleSeen", "brief")])
        watched.stand("brief")
        await watched.write()
        watched.watch.published(watched.agents["a"])
        await eventually(lambda: watched.kinds()[-1] == ("TroubleGone", "brief"))


async def test_f_br_8_what_was_old_when_the_daemon_began_and_is_written_soon_is_no_alert(watched: Watched) -> None:
    os.utime(watched.room.state / "brief.md", (NOW - 40 * HOUR, NOW - 40 * HOUR))
    async with watched.running():
        await watched.clock.pass_by(30)
        await watched.write()
        await watched.clock.pass_by(HOUR)
    assert watched.kinds() == []


async def test_a_brief_of_an_agent_that_is_to_be_down_may_be_old(watched: Watched) -> None:
    watched.agents["a"] = watched.room.agent(incarnation=1)
    async with watched.running():
        await watched.clock.pass_by(40 * HOUR)
    assert watched.kinds() == []


async def test_p41_a_corrupted_state_is_told_with_its_field_and_is_over_an_hour_later(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "TORN_PATIENCE", 0.0)
    (watched.room.state / "state.json").write_text('{"agent": "b"}')
    watched.room.papers.publication.damaged = watched.watch.damaged
    async with watched.running():
        await watched.write()
        assert [event.text for event in watched.told if isinstance(event, TroubleSeen)] == [
            "state.json was broken and was rebuilt: the field agent names 'b', and this is a"
        ]
        watched.stand("state")
        await watched.clock.pass_by(0.9 * HOUR)
        assert len(watched.told) == 1
        await watched.clock.pass_by(0.2 * HOUR)
        await eventually(lambda: watched.kinds() == [("TroubleSeen", "state"), ("TroubleGone", "state")])
