"""Escape on an open turn or on a dialog: pressed where the screen shows that, and nowhere else; then it is told. And
what a look at an idle screen makes known of a turn that was refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import phoenixd.harness  # noqa: F401  # Traits are known once it is imported.
from phoenixd.core.actions import DismissDialog, InterruptTurn, LookAtScreen
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.typing.escaping import ENDS_WITHIN
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.transcript import ApiFailed, RecordKind
from phoenixd.errors import TerminalFailed
from phoenixd.runtime.refusals import REFUSAL_LATE
from phoenixd.runtime.screening import REFUSAL_NEWS, Screening
from tests.core.story import Story, claude


class Screens:
    """What each look finds, one after the other; the last one stays."""

    def __init__(self, shows: tuple[str, ...]) -> None:
        self.shows = list(shows)

    def classify(self, agent: Agent, screen: str) -> str:
        return self.shows.pop(0) if len(self.shows) > 1 else self.shows[0]

    def dismisses(self, agent: Agent, verdict: str) -> bool:
        return verdict == "renderer"

    def failed_turn(self, agent: Agent, facts: SessionFacts) -> TurnFailed | None:
        return TurnFailed(agent.name, 1, error=facts.error.kind) if facts.error is not None else None


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
    ("shows", "incarnation", "pressed", "tells"),
    [
        (("renderer", "idle"), 1, 1, []),
        (("renderer",), 1, 1, [ScreenSeen("o", 1, "renderer", "escape")]),
        (("permission",), 1, 0, []),
        (("idle",), 1, 0, []),
        (("renderer",), 2, 0, []),
    ],
)
async def test_escape_says_no_to_the_dialog_that_was_judged_and_tells_of_it_where_it_stays(
    shows: tuple[str, ...], incarnation: int, pressed: int, tells: list[ScreenSeen]
) -> None:
    agent = Story(claude("o")).works().agent
    terminal, told = Terminal(), list[ScreenSeen]()
    outside = SimpleNamespace(terminal=terminal, screens=Screens(shows), clock=Clock())
    screening = Screening(cast(Any, outside), lambda name: agent, cast(Any, told.append))

    await screening.escape(DismissDialog("o", incarnation, "offer of another renderer"))

    assert (terminal.pressed, told) == (pressed, tells)


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


class Transcripts:
    """What each look reads, one after the other; the last one stays."""

    def __init__(self, *facts: SessionFacts) -> None:
        self.facts_of = list(facts)

    async def facts(self, agent: Agent) -> SessionFacts:
        return self.facts_of.pop(0) if len(self.facts_of) > 1 else self.facts_of[0]


async def looked(
    *facts: SessionFacts, agent: Agent | None = None, shows: str = "idle", at: float = 0.0
) -> tuple[list[object], float]:
    """What is told where the screen is idle in an open turn, or as said, and how long that took."""
    agent = agent if agent is not None else Story(claude("o")).works().agent
    told: list[object] = []
    outside = SimpleNamespace(
        terminal=Terminal(), screens=Screens((shows,)), clock=Clock(), transcripts=Transcripts(*facts)
    )
    outside.clock.at = at
    await Screening(cast(Any, outside), lambda name: agent, told.append).look(LookAtScreen("o", 1))
    return told, outside.clock.at


IDLE = ScreenSeen("o", 1, "idle")
REFUSED = SessionFacts(newest_kind="system", error=ApiFailed("invalid_request", "Prompt is too long", 5.0))


async def test_a_refusal_that_is_written_after_the_screen_is_idle_is_waited_for() -> None:
    told, took = await looked(SessionFacts(newest_kind="prompt"), SessionFacts(newest_kind="prompt"), REFUSED)
    assert told == [TurnFailed("o", 1, error="invalid_request"), IDLE]
    assert 0 < took < REFUSAL_LATE


@pytest.mark.parametrize(("newest", "waits"), [("prompt", REFUSAL_LATE), ("assistant", 0.0), (None, 0.0)])
async def test_a_refusal_is_waited_for_where_a_prompt_is_the_newest_and_not_for_long(
    newest: RecordKind | None, waits: float
) -> None:
    told, took = await looked(SessionFacts(newest_kind=newest))
    assert told == [IDLE]
    assert waits <= took <= 1.2 * waits


@pytest.mark.parametrize(
    ("turn_open", "shows", "age", "is_told"),
    [
        (True, "idle", 1000.0, True), (True, "working", 1.0, False),
        (False, "idle", REFUSAL_NEWS, True), (False, "working", REFUSAL_NEWS, True),
        (False, "idle", REFUSAL_NEWS + 0.1, False),
    ],
)  # fmt: skip
async def test_a_refusal_is_looked_for_at_the_end_of_an_open_turn_and_for_a_while_after_it(
    turn_open: bool, shows: str, age: float, is_told: bool
) -> None:
    story = Story(claude("o")).works()
    if not turn_open:
        story.hook("stop")
    assert isinstance(story.agent.state, Running)
    at = story.agent.state.activity.evidence_at + age

    told, _ = await looked(REFUSED, agent=story.agent, shows=shows, at=at)

    assert (TurnFailed("o", 1, error="invalid_request") in told) is is_told
