"""What came of a treatment, in sixteen situations that were written, with their answers, before the rule was known.

Each is told to the whole step of the fleet, second by second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from phoenixd.core.agent.state import BackingOff
from phoenixd.core.events.fleet import Rebooted
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.events.runs import AgentStarted, StartFailed
from phoenixd.core.treatment.case import Treated
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude

FULL = "Prompt is too long"


class Told(Story):
    """A story on a clock that starts with the failure: second 0 is the first that the situation names."""

    def __init__(self, *names: str, **changes: Any) -> None:
        super().__init__(*(claude(name, **changes) for name in names or ("a",)))
        self.works()
        self.pass_over(400)
        self.zero = self.at

    def until(self, second: float) -> Told:
        """Let time pass, with the ticks of the alarm."""
        self.wait(max(0.0, self.zero + second - self.at))
        return self

    def judged(self, detail: str) -> Treated:
        """The first treatment of the oldest Case, or of the one of this detail."""
        cases = [case for case in self.fleet.cases.cases if detail in ("", case.detail)]
        return min((case.treated[0] for case in cases if case.treated), key=lambda one: one.at)

    def dies(self, signal: int = 9) -> Told:
        self.exited(signal=signal)
        return self

    def is_back(self) -> Told:
        """The next run begins, and takes its prompt."""
        if isinstance(self.state, BackingOff):
            self.wait(self.state.until - self.at)
        self.started()
        self.hook("session-start", session_id=self.run.session_id, source="startup")
        self.hook("prompt-submit", text=self.agent.spec.prompt)
        return self

    def begins(self) -> Told:
        """A further turn begins."""
        self.hook("prompt-submit", text="and this")
        return self

    def calls(self) -> Told:
        """A completed call of a tool."""
        self.hook("tool-start", tool="Bash", tool_use_id="t")
        self.hook("tool-end", tool="Bash", tool_use_id="t")
        return self

    def ends_well(self, *seconds: float) -> Told:
        """Turns that end well at these seconds; each begins at the end of the one before."""
        for second in seconds:
            self.calls().until(second).hook("stop")
            self.begins()
        return self

    def works_until(self, second: float) -> Told:
        """A turn goes on, with calls of tools."""
        while self.at + 60 < self.zero + second:
            self.calls().wait(60)
        return self.calls().until(second)

    def fills(self) -> Told:
        """A turn fails, since the context is full; its session is spoiled, and its run is ended."""
        self.calls()
        self.hook("stop-failure", error="invalid_request", text=FULL)
        self.exited(signal=15)
        return self


def held_after_five_turns() -> tuple[Told, str]:
    story = Told().fills().until(4).is_back()
    return story.ends_well(200, 380, 560, 740, 920, 1100).until(1101), "held"


def failed_in_the_third_further_turn() -> tuple[Told, str]:
    story = Told().fills().until(4).is_back().ends_well(200, 380, 560).until(700)
    return story.fills().until(701), "failed"


def open_after_two_turns() -> tuple[Told, str]:
    story = Told().dies().until(2).is_back().ends_well(90, 400)
    story.calls().until(800).hook("stop")
    return story.until(1200), "open"


def moot_by_a_stop() -> tuple[Told, str]:
    story = Told().dies().until(2).is_back().ends_well(90, 400).until(500)
    story.stop()
    return story.until(10800), "moot"


def moot_by_a_reboot() -> tuple[Told, str]:
    story = Told().dies().until(3).is_back().until(300)
    story.tell(Rebooted("another boot"))
    story.until(420).is_back()
    return story.ends_well(600, 700, 800, 900, 1000, 1100).until(1200), "moot"


def moot_by_another_cause() -> tuple[Told, str]:
    story = Told().fills().until(5).is_back().ends_well(150).until(300)
    story.hook("stop-failure", error="rate_limit", text="429")
    return story.until(400), "moot"


def held_by_an_hour_of_open_turns() -> tuple[Told, str]:
    story = Told().dies()
    story.respawned()
    run = story.run
    story.tell(StartFailed("a", run.incarnation, 0, "no such session", "resume refused"))
    story.is_back().calls().until(120).hook("stop")
    story.until(130).begins()
    return story.works_until(3790), "held"


def open_while_it_idles() -> tuple[Told, str]:
    story = Told().dies().until(2).is_back().calls().until(90)
    story.hook("stop")
    return story.until(10800), "open"


def failed_before_it_was_productive() -> tuple[Told, str]:
    story = Told().dies(signal=11).until(1).is_back().until(13)
    return story.dies(signal=11).until(14), "failed"


def moot_before_it_was_productive() -> tuple[Told, str]:
    story = Told().fills().until(2).is_back().until(20)
    story.hook("stop-failure", error="authentication_failed", text="Invalid API key")
    return story.until(30), "moot"


def held_though_it_returns_in_the_sixth_turn() -> tuple[Told, str]:
    story = Told().fills().until(2).is_back().ends_well(100, 200, 300, 400, 500, 600).until(700)
    return story.fills().until(701), "held"


def open_after_news_of_an_older_incarnation() -> tuple[Told, str]:
    story = Told()
    older = story.run
    story.hook("stop-failure", error="server_error", text="529 overloaded")
    story.until(60).dies()
    story.is_back().calls().until(150).hook("stop")
    story.until(160).tell(hook_of("a", older.incarnation, "stop-failure", error="server_error", text="529"))
    return story.until(200), "open"


def open_without_work() -> tuple[Told, str]:
    story = Told().dies().until(2).is_back().until(15)
    story.hook("stop", text="Understood.")
    return story.until(600), "open"


def held_while_another_agent_fails() -> tuple[Told, str]:
    story = Told("a", "b", account="")
    story.tell(StartRequested("b"))
    other = story.fleet.agents["b"].run
    assert other is not None
    story.tell(AgentStarted("b", other.incarnation, other.run_id, 200, 2000))
    story.hook("stop-failure", error="server_error", text="529 overloaded")
    story.until(300).begins()
    story.ends_well(420, 480)
    story.tell(hook_of("b", other.incarnation, "stop-failure", error="server_error", text="529 overloaded"))
    return story.ends_well(540, 600, 660, 720).until(800), "held"


def moot_by_an_operator_who_took_over() -> tuple[Told, str]:
    story = Told().dies().until(3).is_back().until(30)
    story.hook("prompt-submit", text="leave that, and do this")
    return story.ends_well(200, 260, 320, 380, 440, 500).until(600), "moot"


def failed_in_the_last_minute() -> tuple[Told, str]:
    story = Told().dies(signal=6).until(3).is_back().ends_well(100)
    story.until(110).works_until(3590).dies(signal=6)
    return story.until(3591), "failed"


SITUATIONS: tuple[Callable[[], tuple[Told, str]], ...] = (
    held_after_five_turns, failed_in_the_third_further_turn, open_after_two_turns, moot_by_a_stop, moot_by_a_reboot,
    moot_by_another_cause, held_by_an_hour_of_open_turns, open_while_it_idles, failed_before_it_was_productive,
    moot_before_it_was_productive, held_though_it_returns_in_the_sixth_turn, open_after_news_of_an_older_incarnation,
    open_without_work, held_while_another_agent_fails, moot_by_an_operator_who_took_over, failed_in_the_last_minute,
)  # fmt: skip


DETAIL = {held_by_an_hour_of_open_turns: "resume_refused"}
"""Which Case is judged, where an earlier failure led to it."""


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.__name__)
def test_x12_what_came_of_a_treatment_is_judged_as_people_who_did_not_know_the_rule_judge_it(
    situation: Callable[[], tuple[Told, str]],
) -> None:
    story, expected = situation()

    found = story.judged(DETAIL.get(situation, ""))
    assert found.outcome == expected, (found, story.reasons[-6:])
