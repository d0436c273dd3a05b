"""Escape on an open turn: pressed where the screen shows work, and nowhere else; what it shows then is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import phoenixd.harness  # noqa: F401  # Traits are known once it is imported.
from phoenixd.core.actions import InterruptTurn
from phoenixd.core.agent import Agent
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.runtime.screening import INTERRUPTED_WITHIN, Screening
from tests.core.story import Story, claude


class Screens:
    """What each look finds, one after the other; the last one stays."""

    def __init__(self, shows: tuple[str, ...]) -> None:
        self.shows = list(shows)

    def classify(self, agent: Agent, screen: str) -> str:
        return self.shows.pop(0) if len(self.shows) > 1 else self.shows[0]


class Terminal:
    def __init__(self) -> None:
        self.pressed = 0

    async def capture(self, agent: str, history: int = 0) -> str:
        return ""

    async def press_escape(self, agent: str) -> None:
        self.pressed += 1


class Clock:
    """Time that passes when it is waited for."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> Any:
        return SimpleNamespace(at=self.at)

    async def sleep_until(self, at: float) -> None:
        self.at = at


async def interrupted(*shows: str, incarnation: int = 1) -> tuple[int, list[ScreenSeen], float]:
    """How often Escape was pressed, what was told, and how long it took."""
    agent = Story(claude("o")).works().agent
    told: list[ScreenSeen] = []
    outside = SimpleNamespace(terminal=Terminal(), screens=Screens(shows), clock=Clock())
    screening = Screening(cast(Any, outside), lambda name: agent, cast(Any, told.append))
    await screening.interrupt(InterruptTurn("o", incarnation))
    return outside.terminal.pressed, told, outside.clock.at


async def test_a_turn_that_ends_is_told_once_two_looks_agree() -> None:
    pressed, told, _ = await interrupted("working", "working", "unknown", "idle", "idle")
    assert (pressed, told) == (1, [ScreenSeen("o", 1, "idle", "escape")])


async def test_a_screen_that_looks_idle_in_the_middle_of_an_answer_proves_no_end() -> None:
    assert (await interrupted("idle"))[:2] == (1, [])


@pytest.mark.parametrize("verdict", ["permission", "trust", "question", "unknown"])
async def test_escape_is_pressed_on_no_dialog_and_on_nothing_that_is_not_known(verdict: str) -> None:
    pressed, told, _ = await interrupted(verdict)
    assert (pressed, told) == (0, [ScreenSeen("o", 1, verdict, "escape")])


async def test_a_turn_that_goes_on_is_looked_at_for_a_while_and_escape_is_not_pressed_again() -> None:
    pressed, told, took = await interrupted("working")
    assert (pressed, told) == (1, [ScreenSeen("o", 1, "working", "escape")])
    assert INTERRUPTED_WITHIN <= took < 2 * INTERRUPTED_WITHIN


async def test_another_run_than_the_one_that_was_meant_is_left_alone() -> None:
    assert (await interrupted("working", incarnation=2))[:2] == (0, [])


async def test_where_the_turn_has_ended_meanwhile_a_person_may_write_at_the_prompt() -> None:
    """The order waits behind other looks at the screen, and the look itself takes its time."""
    working = Story(claude("o")).works().agent
    ended = Story(claude("o")).works()
    ended.hook("stop")
    for seen in ([ended.agent], [working, ended.agent]):
        terminal, left = Terminal(), list(seen)
        outside = SimpleNamespace(terminal=terminal, screens=Screens(("idle",)), clock=Clock())
        screening = Screening(
            cast(Any, outside), lambda name, left=left: left.pop(0) if len(left) > 1 else left[0],  # type: ignore[misc]
            cast(Any, None),
        )  # fmt: skip
        await screening.interrupt(InterruptTurn("o", 1))
        assert terminal.pressed == 0
