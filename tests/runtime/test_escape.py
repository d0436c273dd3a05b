"""Escape on an open turn or on a dialog: pressed where the screen shows that, and nowhere else; then it is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import phoenixd.harness  # noqa: F401  # Traits are known once it is imported.
from phoenixd.core.actions import DismissDialog, InterruptTurn
from phoenixd.core.agent import Agent
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.typing.escaping import ENDS_WITHIN
from phoenixd.errors import TerminalFailed
from phoenixd.runtime.screening import Screening
from tests.core.story import Story, claude


class Screens:
    """What each look finds, one after the other; the last one stays."""

    def __init__(self, shows: tuple[str, ...]) -> None:
        self.shows = list(shows)

    def classify(self, agent: Agent, screen: str) -> str:
        return self.shows.pop(0) if len(self.shows) > 1 else self.shows[0]

    def dismisses(self, agent: Agent, verdict: str) -> bool:
        return verdict == "renderer"


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
    await screening.escape(InterruptTurn("o", incarnation))
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
    assert ENDS_WITHIN <= took < 2 * ENDS_WITHIN


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
        await screening.escape(InterruptTurn("o", 1))
        assert terminal.pressed == 0


@pytest.mark.parametrize(
    ("shows", "incarnation", "pressed"),
    [("renderer", 1, 1), ("permission", 1, 0), ("idle", 1, 0), ("renderer", 2, 0)],
)
async def test_escape_says_no_to_the_dialog_that_was_judged_and_tells_nothing(
    shows: str, incarnation: int, pressed: int
) -> None:
    agent = Story(claude("o")).works().agent
    terminal, told = Terminal(), list[ScreenSeen]()
    outside = SimpleNamespace(terminal=terminal, screens=Screens((shows,)), clock=Clock())
    screening = Screening(cast(Any, outside), lambda name: agent, cast(Any, told.append))

    await screening.escape(DismissDialog("o", incarnation, "offer of another renderer"))

    assert (terminal.pressed, told) == (pressed, [])


async def test_a_run_that_ends_while_its_screen_is_looked_at_gets_no_escape() -> None:
    """The pane may be another run's by then."""
    before = Story(claude("o")).works()
    after = Story(claude("o")).works()
    after.exited(1)
    left = [before.agent, after.agent]
    terminal = Terminal()
    outside = SimpleNamespace(terminal=terminal, screens=Screens(("renderer",)), clock=Clock())
    screening = Screening(cast(Any, outside), lambda name: left.pop(0) if len(left) > 1 else left[0], cast(Any, None))

    await screening.escape(DismissDialog("o", 1, "offer of another renderer"))

    assert terminal.pressed == 0


async def test_a_terminal_that_does_not_answer_ends_the_order() -> None:
    agent = Story(claude("o")).works().agent

    async def fails(name: str) -> str:
        raise TerminalFailed("tmux did not answer")

    told: list[ScreenSeen] = []
    outside = SimpleNamespace(terminal=SimpleNamespace(capture=fails), screens=Screens(("working",)), clock=Clock())
    await Screening(cast(Any, outside), lambda name: agent, cast(Any, told.append)).escape(InterruptTurn("o", 1))
    assert told == []
