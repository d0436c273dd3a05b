"""A held request is a person's who sits down at the terminal, and an answer from afar waits for its dialog there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from phoenixd.core.actions import AnswerHold, AttendHold
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.state import Running
from phoenixd.core.events.runs import HoldReleased
from phoenixd.core.moment import Moment
from phoenixd.core.typing.answering import APPEARS_WITHIN, DIALOG_GONE
from phoenixd.errors import ShimFailed, TerminalFailed
from phoenixd.ports.evidence import AnswerGiven
from phoenixd.runtime.answers import ATTEND_INTERVAL, Answerer
from tests.core.story import EPOCH, Story, claude

ATTEND = AttendHold("a", 1, 7)


class Desk:
    """One agent with a held request; what is typed at it, what its screen shows and its shim is told."""

    def __init__(self, harness: str = "claude", *, seen: bool = False) -> None:
        agent = Story(claude("a", harness=harness)).works().agent
        assert isinstance(agent.state, Running)
        waiting = Waiting("permission", "Bash make", EPOCH, hold=7, seen=seen)
        activity = replace(agent.state.activity, waiting=waiting)
        self.agent: Agent | None = replace(agent, state=replace(agent.state, activity=activity))
        self.time, self.looks, self.attached = 100.0, 0, list[str]()
        self.typed: list[float | Exception | None] = [None]
        self.shows: list[str] = ["permission"]
        self.given: list[dict[str, object]] = []
        self.ends_at = float("inf")
        desk: Any = self
        self.answerer = Answerer(lambda name: self.agent, desk, desk, desk, desk, desk)

    async def last_typed(self, agent: str) -> float | None:
        found = self.typed.pop(0) if len(self.typed) > 1 else self.typed[0]
        if isinstance(found, Exception):
            raise found
        return found

    def answer(self, agent: str, incarnation: int, hold: int, body: dict[str, object]) -> None:
        self.given.append(body)
        if body:
            self.answerer.heard(agent, hold, True)

    async def capture(self, agent: str) -> str:
        self.looks += 1
        return self.shows.pop(0) if len(self.shows) > 1 else self.shows[0]

    def classify(self, agent: Agent, screen: str) -> str:
        return screen

    async def ends(self, agent: Agent) -> dict[str, int]:
        return {}

    async def answer_counted(self, agent: Agent, given: AnswerGiven) -> bool | None:
        return True

    async def tell_attached(self, agent: str, words: str) -> None:
        self.attached.append(words)

    def now(self) -> Moment:
        return Moment(self.time, EPOCH)

    async def sleep_until(self, at: float) -> None:
        self.time = max(self.time, at)
        if self.time >= self.ends_at:
            self.agent = None


async def test_a_person_who_types_has_the_question_let_go_of() -> None:
    desk = Desk()
    desk.typed = [None, None, 5.0]

    assert await desk.answerer.attend(ATTEND) == HoldReleased("a", 1, 7)
    assert (desk.given, desk.time) == ([{}], 100.0 + 2 * ATTEND_INTERVAL)


@pytest.mark.parametrize("fails", [TerminalFailed("no server"), ShimFailed("it is gone")])
async def test_a_terminal_that_does_not_answer_is_asked_again(fails: Exception) -> None:
    desk = Desk()
    desk.typed = [fails, 5.0]

    assert await desk.answerer.attend(ATTEND) == HoldReleased("a", 1, 7)
    assert desk.given == [{}]


async def test_nobody_attends_to_what_was_settled_or_to_another_run() -> None:
    desk = Desk()
    desk.ends_at = 103.0
    assert await desk.answerer.attend(ATTEND) is None
    assert desk.time >= 103.0
    for other in (replace(ATTEND, hold=8), replace(ATTEND, incarnation=2)):
        desk = Desk()
        desk.typed = [5.0]
        assert await desk.answerer.attend(other) is None
        assert desk.given == []


async def test_an_answer_is_given_once_its_dialog_stands_on_the_screen() -> None:
    desk = Desk()
    desk.shows = ["working", "working", "permission"]

    found = await desk.answerer.answer(cast(Agent, desk.agent), AnswerHold("a", 1, 7, 3, True))

    assert (found.taken, desk.looks, len(desk.given)) == (True, 3, 1)
    assert desk.attached == ["phoenixctl answered item 3: allow"]


async def test_a_dialog_that_was_seen_and_is_gone_was_answered_by_somebody() -> None:
    for seen, waits in ((True, 0.0), (False, APPEARS_WITHIN)):
        desk = Desk(seen=seen)
        desk.shows = ["working"]
        found = await desk.answerer.answer(cast(Agent, desk.agent), AnswerHold("a", 1, 7, 3, True))
        assert (found.taken, found.why, desk.given) == (False, DIALOG_GONE, [{}])
        assert waits <= desk.time - 100.0 <= waits + 0.1
        assert desk.attached == []


async def test_a_dialog_that_its_cli_hides_is_looked_for_on_no_screen() -> None:
    desk = Desk("codex")
    found = await desk.answerer.answer(cast(Agent, desk.agent), AnswerHold("a", 1, 7, 3, False))

    assert (found.taken, desk.looks) == (True, 0)
    assert desk.attached == ["phoenixctl answered item 3: deny"]
