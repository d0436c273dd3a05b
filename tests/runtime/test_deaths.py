"""Each death of a shim and of an agent's process is told once, and none that is no news about the run of now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.events.runs import AgentVanished, ShimLost
from phoenixd.errors import PhoenixdError
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello
from phoenixd.runtime.deaths import EXIT_WORD_GRACE, LOOK_AGAIN, Deaths
from tests.core.story import Story, claude

SHIM, NEWER = ProcessIdentity("boot", 5, 50), ProcessIdentity("boot", 6, 60)


class Processes:
    """The process table: who is watched, who is gone already, and whether the host cannot look."""

    def __init__(self) -> None:
        self.watched: dict[ProcessIdentity, Callable[[], None]] = {}
        self.times = 0
        self.gone: set[ProcessIdentity] = set()
        self.fault: Exception | None = None
        self.below: bool | None = True
        self.asked: list[tuple[ProcessIdentity, ProcessIdentity]] = []

    def boot_id(self) -> str:
        return "boot"

    def watch(self, identity: ProcessIdentity, died: Callable[[], None]) -> bool:
        self.times += 1
        if self.fault is not None:
            raise self.fault
        self.watched[identity] = died
        return identity not in self.gone

    def is_alive(self, identity: ProcessIdentity) -> bool:
        return identity not in self.gone

    def is_below(self, identity: ProcessIdentity, shim: ProcessIdentity) -> bool | None:
        self.asked.append((identity, shim))
        return self.below


class Morgue:
    """Deaths, with what they told and what they put off."""

    def __init__(self) -> None:
        self.agent: Agent | None = Story(claude()).works().agent
        self.told: list[Any] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.processes = Processes()
        self.deaths = Deaths(
            cast(Any, self.processes), lambda name: self.agent, lambda event, saved: self.told.append(event),
            lambda seconds, do: self.later.append((seconds, do)),
        )  # fmt: skip

    def greets(self, shim: ProcessIdentity = SHIM) -> None:
        self.deaths.watch_shim(ShimHello("a", shim, 3, "1", 0, None, None))

    def dies(self, identity: ProcessIdentity) -> None:
        self.processes.watched.pop(identity)()


@pytest.fixture
def morgue() -> Morgue:
    return Morgue()


def test_the_death_of_a_shim_is_told_once_of_the_run_that_its_agent_has_then(morgue: Morgue) -> None:
    for _ in range(3):
        morgue.greets()
    assert morgue.processes.times == 1, "each start comes by"
    morgue.dies(SHIM)
    assert morgue.told == [ShimLost("a", 1)]

    morgue.greets()
    assert morgue.processes.times == 2, "one that is watched no more is watched again"


@pytest.mark.parametrize("why", ["followed", "let go", "agent gone", "down"])
def test_the_death_of_a_shim_that_another_has_followed_or_that_has_no_run_is_no_news(morgue: Morgue, why: str) -> None:
    morgue.greets()
    if why == "followed":
        morgue.greets(NEWER)
    if why == "let go":
        morgue.deaths.let_go("a")
        morgue.deaths.let_go("a")
    if why in ("agent gone", "down"):
        morgue.agent = None if why == "agent gone" else Story(claude()).agent
    morgue.dies(SHIM)
    assert morgue.told == []


def test_f_tmux_2_a_shim_that_goes_by_itself_is_named_until_it_is_gone_and_its_death_is_no_news(morgue: Morgue) -> None:
    """It was told as the loss of the next run's shim, which had no shim yet."""
    morgue.deaths.leaves("a")
    assert morgue.deaths.leaving("a") is None, "none is known"
    morgue.greets()
    morgue.deaths.leaves("a")
    assert morgue.deaths.leaving("a") == SHIM
    morgue.processes.gone = {SHIM}
    assert morgue.deaths.leaving("a") is None
    morgue.dies(SHIM)
    assert morgue.told == []


def test_a_process_is_watched_again_where_the_host_could_not_look_and_is_dead_where_it_is_gone(morgue: Morgue) -> None:
    morgue.processes.fault = PhoenixdError("too many open files")
    morgue.greets()
    ((seconds, again),) = morgue.later
    assert (seconds, morgue.told) == (LOOK_AGAIN, [])

    morgue.processes.fault, morgue.processes.gone = None, {SHIM}
    again()
    assert morgue.told == [ShimLost("a", 1)]


def test_an_agents_process_that_died_has_vanished_unless_its_shims_word_comes_first(morgue: Morgue) -> None:
    child = ProcessIdentity("boot", 100, 1000)
    morgue.deaths.watch_child("a", 1, 100, 1000)
    morgue.dies(child)
    ((seconds, vanished),) = morgue.later
    assert (seconds, morgue.told) == (EXIT_WORD_GRACE, [])
    vanished()
    assert morgue.told == [AgentVanished("a", 1)]

    morgue.told.clear()
    for agent in (None, Story(claude()).agent):
        morgue.agent = agent
        vanished()
    morgue.agent = Story(claude()).works().agent
    morgue.deaths.watch_child("a", 2, 100, 1000)
    morgue.dies(child)
    morgue.later[-1][1]()
    assert morgue.told == [], "its run is over by then"


@pytest.mark.parametrize(("below", "owns"), [(True, True), (None, True), (False, False)])
def test_promise_5_a_shim_may_call_a_process_its_agent_that_is_below_it_or_gone(
    morgue: Morgue, below: bool | None, owns: bool
) -> None:
    assert not morgue.deaths.owns("a", 100, 1000), "no shim has greeted"
    morgue.greets()
    morgue.processes.below = below
    assert morgue.deaths.owns("a", 100, 1000) is owns
    assert morgue.processes.asked == [(ProcessIdentity("boot", 100, 1000), SHIM)]
