"""What is known of agents beside the journal, as shims and files say it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.behind.world import SeenRun, Wish, World
from phoenixd.core.events.fleet import JournalBehind
from phoenixd.core.fleet import Fleet
from phoenixd.errors import ShimFailed
from phoenixd.ports import Outside
from phoenixd.ports.journal import Epochs, RunFiles
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello, ShimRun
from phoenixd.runtime.epochs import KIND
from phoenixd.runtime.world import Faced, face, left_alone, look
from tests.core.story import Story, spec

OLD = SeenRun(4, "r4", pid=40, start_time=400, session_id="s4", mode="resume")


@dataclass
class Seen:
    """Shims, files and processes at once; each is asked for what it was given."""

    hello: ShimHello | None
    files: RunFiles = field(default_factory=RunFiles)

    async def connect(self, agent: str) -> ShimHello | None:
        return self.hello

    def epoch(self) -> int:
        return 7

    def names(self) -> frozenset[str]:
        return frozenset({"a"})

    def run_files(self, agent: str) -> RunFiles:
        return self.files

    def boot_id(self) -> str:
        return "boot"


def hello(run: ShimRun | None) -> ShimHello:
    return ShimHello("a", ProcessIdentity("boot", 1, 10), 2, "1", 0, run, {"incarnation": 3})


async def world(seen: Seen) -> World:
    outside = cast(Any, type("Everything", (), {"shims": seen, "processes": seen})())
    return await look(cast(Outside, outside), cast(Epochs, seen), 5, ())


async def test_a_living_run_is_what_its_shim_says_and_its_file_adds_what_an_older_shim_does_not_say() -> None:
    known = RunFiles(last=OLD, incarnation=4)
    (trace,) = (await world(Seen(hello(ShimRun(4, "r4", 41, 401)), known))).traces
    assert trace.living == SeenRun(4, "r4", "s4", "resume", 41, 401, boot_id="boot")
    assert (trace.shim, trace.incarnation) == ("runs", 4)
    (other,) = (await world(Seen(hello(ShimRun(5, "r5", 51, 501, "s5", "fresh")), known))).traces
    assert other.living is not None
    assert (other.living.run_id, other.living.pid, other.living.session_id) == ("r5", 51, "s5"), "another run's file"


async def test_without_a_run_or_a_shim_the_highest_incarnation_that_anything_names_is_known() -> None:
    (idle,) = (await world(Seen(hello(None)))).traces
    assert (idle.shim, idle.incarnation, idle.living) == ("idle", 3, None)
    (none,) = (await world(Seen(None, RunFiles(last=OLD, incarnation=4)))).traces
    assert (none.shim, none.incarnation, none.living) == ("none", 4, None)


@pytest.mark.parametrize(
    ("said", "known"),
    [(1, 1), (2**53 - 1, 2**53 - 1), (0, 0), (-1, 0), (2**53, 0), (True, 0), ("3", 0), (None, 0)],
)
async def test_an_incarnation_that_a_shim_says_counts_where_it_can_be_one(said: object, known: int) -> None:
    greeting = ShimHello("a", ProcessIdentity("boot", 1, 10), 2, "1", 0, None, {"incarnation": said})
    (trace,) = (await world(Seen(greeting))).traces
    assert trace.incarnation == known


@dataclass
class Daemon:
    """The supervisor with its fleet, and the keeper of epochs; both write down what they were told."""

    fleet: Fleet
    begun: list[JournalBehind] = field(default_factory=list)
    known: list[tuple[dict[str, Wish], int, str]] = field(default_factory=list)
    committed: int = 0

    def begin_with(self, event: JournalBehind) -> None:
        self.begun.append(event)

    def knows(self, wishes: dict[str, Wish], durable: int, trouble: str) -> None:
        self.known.append((wishes, durable, trouble))


async def faced(daemon: Daemon, seen: Seen, *specs: Any, is_damaged: bool = False) -> Faced:
    outside = cast(Any, type("Everything", (), {"shims": seen, "processes": seen})())
    house = cast(Any, daemon)
    return await face(house, outside, cast(Epochs, seen), house, specs, is_damaged=is_damaged)


def of_epoch(epoch: int, *specs: Any) -> Fleet:
    return replace(Story(*specs).fleet, epoch=epoch)


async def test_promise_9_a_journal_that_is_as_new_as_the_world_is_gone_on_with() -> None:
    daemon = Daemon(of_epoch(7, spec("a")))
    wish = Wish("running", 7)

    found = await faced(daemon, Seen(None, RunFiles(wish=wish)))

    assert found == Faced(7, False)
    assert daemon.begun == []
    assert (daemon.committed, daemon.known) == (7, [({"a": wish}, 7, "")])


async def test_promise_9_a_journal_that_is_behind_is_told_before_all_else_with_what_the_world_says() -> None:
    daemon = Daemon(of_epoch(6, spec("a")))
    seen = Seen(hello(ShimRun(4, "r4", 41, 401)), RunFiles(last=replace(OLD, run_id="r3"), incarnation=4))

    found = await faced(daemon, seen, spec("a"))

    assert found == Faced(7, True, True, frozenset({"r4", "r3"}))
    (event,) = daemon.begun
    assert (event.world.journal, event.world.newest, [one.name for one in event.specs]) == (6, 7, ["a"])
    assert (daemon.committed, daemon.known) == (6, [({}, 7, "")])


async def test_promise_9_a_damaged_journal_is_behind_where_it_knows_nothing_of_a_declared_agent() -> None:
    seen = Seen(None)
    sound, damaged = Daemon(of_epoch(7)), Daemon(of_epoch(7))

    assert not (await faced(sound, seen, spec("b"))).behind
    assert (await faced(damaged, seen, spec("b"), is_damaged=True)).behind
    assert damaged.begun[0].world.is_damaged


async def test_a_run_that_the_journal_knows_is_no_new_one_and_a_trouble_of_before_goes_on() -> None:
    works = Story(spec("a")).works()
    assert works.agent.run is not None
    trouble = StandingAlert(1, KIND, "its file cannot be written", 5.0, watched=True)
    daemon = Daemon(replace(works.fleet, epoch=7, alerts=(trouble,)))

    found = await faced(daemon, Seen(None))

    assert (found.lives, found.runs) == (False, frozenset({works.agent.run.run_id}))
    assert daemon.known[0][2] == "its file cannot be written"


async def test_of_an_agent_that_nobody_declares_only_a_living_run_matters() -> None:
    async def left(seen: Seen) -> World | None:
        outside = cast(Any, type("Everything", (), {"shims": seen, "processes": seen})())
        return await left_alone(cast(Outside, outside), cast(Epochs, seen), "a")

    assert await left(Seen(hello(None), RunFiles(last=OLD, incarnation=4))) is None
    world = await left(Seen(hello(ShimRun(4, "r4", 41, 401))))
    assert world is not None
    assert (world.boot_id, world.journal, world.epoch) == ("boot", 0, 7)
    assert [trace.incarnation for trace in world.traces] == [4]


async def test_a_shim_that_does_not_answer_is_silent_and_what_its_files_say_counts() -> None:
    class Silent(Seen):
        async def connect(self, agent: str) -> ShimHello | None:
            raise ShimFailed("it does not answer")

    (trace,) = (await world(Silent(None, RunFiles(last=OLD, incarnation=4)))).traces
    assert (trace.shim, trace.last, trace.incarnation, trace.living) == ("silent", OLD, 4, None)
    (trace,) = (await world(Seen(None, RunFiles(last=OLD, incarnation=4)))).traces
    assert (trace.shim, trace.last, trace.incarnation, trace.living) == ("none", OLD, 4, None)
