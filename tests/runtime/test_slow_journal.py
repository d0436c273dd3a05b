"""A supervisor over a journal that takes its time, in virtual time: one alert, every answer, a fed watchdog."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from phoenixd.core.actions import Action, Spawn, Terminate
from phoenixd.core.decision import Refusal
from phoenixd.core.durability import PROBE, QUIET
from phoenixd.core.events import Event
from phoenixd.core.events.orders import AgentDeclared, StopRequested
from phoenixd.core.spec import FleetLimits
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Batch
from phoenixd.runtime.recovery import restore
from phoenixd.runtime.supervisor import Supervisor
from tests.core.story import spec
from tests.simulate.host import Host
from tests.simulate.memory_journal import MemoryJournal
from tests.simulate.virtual_loop import VirtualLoop

pytestmark = pytest.mark.usefixtures("quiet")

PAUSE = 5.0
"""Seconds in which the loop proves that it turns, as under a watchdog of twice as many."""


class SlowJournal(MemoryJournal):
    """Every commit takes that long."""

    def __init__(self, host: Host, seconds: float) -> None:
        super().__init__(host)
        self.seconds = seconds
        self.fails = False

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        await asyncio.sleep(self.seconds)
        if self.fails:
            raise JournalFailed("the disk is full")
        return await super().commit(batch)


class Desk:
    """A supervisor, what it did and told, and when it turned."""

    def __init__(self, seconds: float, before: Desk | None = None) -> None:
        """before: a daemon that was killed; this one reads what it left."""
        self.loop = VirtualLoop() if before is None else before.loop
        host = Host(self.loop, "slow")
        host.is_calm = True
        self.journal = SlowJournal(host, seconds) if before is None else before.journal
        self.journal.seconds = seconds
        self.done: list[tuple[float, Action]] = []
        self.turned: list[float] = []
        self.degraded: list[str | None] = []
        self.answers: list[tuple[float, Refusal | None]] = []
        self._tasks: list[asyncio.Task[Any]] = []
        now = self.loop.time
        clock = SupervisedClock(0.0, dice=Random(1), monotonic=now, wall=now)
        self.supervisor = Supervisor(
            restore(self.journal.load(), {}, FleetLimits()),
            clock,
            self.journal,
            lambda action: self.done.append((now(), action)),
            on_turn=lambda: self.turned.append(now()),
            on_degraded=self.degraded.append,
            longest_pause=PAUSE,
        )
        self._tasks.append(self.loop.create_task(self.supervisor.run()))

    def ask(self, *events: Event) -> None:
        async def ask() -> None:
            for refusal in await self.supervisor.ask_all(events):
                self.answers.append((self.loop.time(), refusal))

        self._tasks.append(self.loop.create_task(ask()))

    def finish(self, patience: float) -> list[str | None]:
        """End it as SIGTERM does; returns the agents of the rows that may be lost."""
        rows = self.loop.run_until_complete(self.supervisor.finish(patience))
        return [row.agent for row in rows]

    def let(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def raised(self, event: str = "alert_raised") -> list[str]:
        return [stored.entry.detail["kind"] for stored in self.journal.entries if stored.entry.event == event]

    def when(self, kind: type[Action]) -> list[float]:
        return [at for at, action in self.done if isinstance(action, kind)]

    def die(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))

    def end(self) -> None:
        self.die()
        self.loop.close()


@pytest.fixture(params=[2.5, 10.0, 40.0])
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    desk = Desk(request.param)
    yield desk
    desk.end()


def test_an_idle_daemon_on_a_slow_disk_tells_it_once_and_goes_quiet(desk: Desk) -> None:
    """It raised 35 alerts in 90 idle seconds: each was a row, and so the next late commit."""
    desk.ask(AgentDeclared(spec("a")))
    desk.let(90)
    desk.let(3600)
    assert desk.raised() == ["slow disk"]
    assert desk.raised("alert_over") == []
    desk.journal.seconds = 0.01
    desk.let(120)
    assert (desk.raised(), desk.raised("alert_over")) == (["slow disk"], ["slow disk"])
    assert [bool(why) for why in desk.degraded] == [True, False], "systemd is told of it, and that it is over"
    commits = desk.journal.commits
    desk.let(3600)
    assert desk.journal.commits == commits, "no probe once it is over"


def test_late_is_not_failed_an_answer_comes_with_its_own_commit_and_a_start_after_it(desk: Desk) -> None:
    desk.ask(AgentDeclared(spec("a"), start=True))
    desk.let(desk.journal.seconds * 4)
    assert [refusal for _, refusal in desk.answers] == [None]
    assert desk.when(Spawn)[0] >= desk.journal.seconds, "saved, then started"
    assert desk.answers[0][0] >= desk.when(Spawn)[0], "started, then answered"
    desk.journal.seconds = 0.01
    desk.let(60)
    assert (desk.supervisor.halted, desk.supervisor.fleet.halted) == (None, None)


def test_a_stop_does_not_wait_for_a_late_commit_and_its_answer_does(desk: Desk) -> None:
    desk.ask(AgentDeclared(spec("a"), start=True))
    desk.let(desk.journal.seconds * 4)
    desk.answers.clear()
    asked = desk.loop.time()
    desk.ask(StopRequested("a"))
    desk.let(desk.journal.seconds * 4)
    assert desk.when(Terminate)[0] - asked < 2.5
    assert [refusal for _, refusal in desk.answers] == [None]
    assert desk.answers[0][0] - asked >= desk.journal.seconds


def test_the_watchdog_of_systemd_is_fed_however_long_a_commit_takes(desk: Desk) -> None:
    desk.ask(AgentDeclared(spec("a"), start=True))
    desk.journal.seconds = 500.0
    desk.ask(StopRequested("a"))
    desk.let(400)
    gaps = [later - earlier for earlier, later in zip(desk.turned, desk.turned[1:], strict=False)]
    assert desk.turned[-1] > 390
    assert max(gaps) < 2 * PAUSE
    assert desk.raised() == [], "nothing is durable yet"
    assert {one.kind for one in desk.supervisor.fleet.alerts} == {"slow disk", "degraded"}, "a minute without a word"


def test_requests_that_belong_together_are_one_commit(desk: Desk) -> None:
    desk.ask(*(AgentDeclared(spec(f"a{number}")) for number in range(100)))
    desk.let(desk.journal.seconds * 2.5)
    assert [refusal for _, refusal in desk.answers] == [None] * 100
    assert desk.journal.commits == 2, "the declarations, and the alert"
    desk.ask(*(AgentDeclared(spec(f"a{number}")) for number in range(100)))
    desk.let(1)
    assert len(desk.answers) == 200, "what is known already costs nothing"


def test_what_waits_behind_a_late_commit_at_the_end_is_saved_done_and_answered(desk: Desk) -> None:
    for name in "ab":
        desk.ask(AgentDeclared(spec(name), start=True))
        desk.let(2.1)
    assert desk.supervisor.saver.is_behind
    assert desk.finish(desk.journal.seconds * 3) == []
    assert {agent.name for agent in desk.journal.load().agents} == {"a", "b"}
    desk.let(0)
    assert [refusal for _, refusal in desk.answers] == [None, None]
    assert desk.when(Spawn) != []


def test_the_end_waits_for_a_silent_disk_for_so_long_and_names_what_may_be_lost(desk: Desk) -> None:
    desk.journal.seconds = 1e6
    for name in "ab":
        desk.ask(AgentDeclared(spec(name), start=True))
        desk.let(3)
    began = desk.loop.time()
    assert {"a", "b"} <= set(desk.finish(20.0))
    assert desk.loop.time() - began < 21
    assert (desk.when(Spawn), desk.answers) == ([], []), "nobody is told that it stands"


def test_after_the_end_has_begun_nothing_more_is_decided(desk: Desk) -> None:
    desk.ask(AgentDeclared(spec("a")))
    desk.let(desk.journal.seconds * 4)
    desk.answers.clear()
    assert desk.finish(desk.journal.seconds * 3) == []
    desk.ask(AgentDeclared(spec("b")))
    desk.let(desk.journal.seconds * 4)
    assert desk.answers == []
    assert set(desk.supervisor.fleet.agents) == {"a"}


def test_the_end_gives_a_journal_that_fails_one_more_try(desk: Desk) -> None:
    desk.journal.seconds = 0.01
    desk.journal.fails = True
    desk.ask(AgentDeclared(spec("a")))
    desk.let(5.2)
    began = desk.loop.time()
    assert "a" in desk.finish(20.0)
    assert desk.loop.time() - began < 5
    desk.journal.fails = False
    assert desk.finish(20.0) == []
    assert {agent.name for agent in desk.journal.load().agents} == {"a"}


def test_a_trouble_that_stood_when_a_daemon_died_is_over_in_the_next_one_that_has_nothing_to_commit() -> None:
    both = ["degraded", "slow disk"]
    dead = Desk(3.0)
    dead.ask(AgentDeclared(spec("a")))
    dead.let(10)
    dead.journal.fails = True
    dead.ask(AgentDeclared(spec("b")))
    dead.let(10)
    dead.journal.fails = False
    dead.let(10)
    dead.die()
    assert sorted(one.kind for one in dead.journal.load().alerts) == both
    dead.let(3600)
    commits = dead.journal.commits
    following = Desk(0.01, before=dead)
    following.let(0.1)
    assert following.supervisor.degraded is not None, "nobody has seen the disk since"
    following.let(QUIET + PROBE)
    assert following.supervisor.degraded is None
    told = following.journal.commits
    assert told - commits <= QUIET / PROBE + 2, "some probes, and a row for each"
    following.let(600)
    assert following.journal.commits == told
    following.end()
    assert (sorted(dead.raised()), sorted(dead.raised("alert_over")), dead.journal.load().alerts) == (both, both, ())
