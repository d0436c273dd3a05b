"""Turns of residents in virtual time: judged like iterations where that is asked for, a person's never against them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.actions import Alert, Deliver, MeasureWork, Terminate
from phoenixd.core.agent.state import Desired, Quarantined, Running, Stopped, Stopping
from phoenixd.core.events.orders import AgentDeclared, BreakerEdited
from phoenixd.core.events.work import MeasurementLost, WorkMeasured
from phoenixd.core.rules import BreakerRules
from tests.core.story import Story, claude

PER_TURN = BreakerRules(per_turn=True)


class Resident(Story):
    """One that runs, and whose turns begin by a note of its own CLI: nobody asks for them."""

    def __init__(self, rules: BreakerRules = PER_TURN, **changes: Any) -> None:
        super().__init__(claude(breaker=rules, **changes))
        self.work = "git:dirt"
        self.works()
        self.hook("stop")

    def turn(self, work: str | None = "git:dirt", source: str | None = "machine", **stop: Any) -> str:
        """One whole turn, which leaves the work as told; returns what the breaker is then."""
        self.hook("prompt-submit", text="<task-notification>", source=source)
        self.work = work
        self.hook(stop.pop("kind", "stop"), **stop)
        return self.agent.breaker.name

    @property
    def counts(self) -> tuple[str, int]:
        return self.agent.breaker.name, self.agent.breaker.tally.no_progress


def test_residents_are_not_judged_by_default() -> None:
    story = Resident(BreakerRules())
    for _ in range(10):
        story.turn()

    assert story.of(MeasureWork) == []
    assert isinstance(story.state, Running)


def test_five_turns_in_vain_end_the_run_and_quarantine_it_like_a_loop_with_its_item() -> None:
    story = Resident()
    assert [story.turn() for _ in range(4)] == ["CLOSED", "HALF_OPEN", "HALF_OPEN", "OPEN"], "its goal's was the first"
    assert isinstance(story.state, Stopping)
    assert len(story.of(Terminate)) == 1
    story.exited(signal=15)

    assert isinstance(story.state, Quarantined)
    assert (story.agent.desired, story.agent.breaker.tally.opens) == (Desired.RUNNING, 1)
    assert "5 turns without progress, the limit is 5" in story.agent.reason
    assert story.agent.item is not None
    assert story.agent.item.kind == "quarantined"
    assert [alert.kind for alert in story.of(Alert)] == ["breaker", "quarantined"]
    story.wait(1e6)
    assert isinstance(story.state, Quarantined)


def test_work_closes_it() -> None:
    story = Resident()
    story.turn()
    story.turn()

    assert (story.turn("git:new"), story.counts) == ("CLOSED", ("CLOSED", 0))


def test_a_turn_that_a_person_asked_for_never_counts_against_it_and_may_count_for_it() -> None:
    story = Resident()
    story.turn()
    before = story.counts
    for _ in range(20):
        story.turn(source=None)

    assert story.counts == before
    assert [alert.kind for alert in story.of(Alert)] == []
    assert "a person asked for it" in story.reasons[-1]
    story.turn("git:new", source=None)
    assert story.counts == ("CLOSED", 0)


def test_a_turn_that_met_a_limit_does_not_count() -> None:
    story = Resident()
    before = story.counts
    story.turn(kind="stop-failure", error="rate_limit", text="429")

    assert story.counts == before


def test_a_turn_that_we_told_to_go_on_after_a_limit_is_nobodys_and_counts() -> None:
    story = Resident()
    story.screen = "idle"
    story.turn(kind="stop-failure", error="rate_limit", reset_wall=story.wall + 60)
    before = story.counts[1]
    story.wait(120)
    (order,) = story.of(Deliver)
    story.hook("prompt-submit", text=order.text)
    story.hook("stop")

    assert story.counts[1] == before + 1


def test_the_work_is_measured_beside_the_hooks_and_a_late_answer_is_unknown() -> None:
    story = Resident()
    before = story.counts
    story.work = "late"
    story.hook("prompt-submit", source="machine")
    assert [one.phase for one in story.agent.turns] == ["opening"]
    assert isinstance(story.state, Running)
    assert story.state.activity.turn_open
    story.hook("stop")
    number = story.agent.turns_begun
    story.tell(WorkMeasured("a", number, False, "git:dirt", turn=number))
    story.tell(WorkMeasured("a", number, True, "git:dirt", turn=number))

    assert story.counts == before
    assert story.agent.turns == ()
    assert "it was over before the work was measured" in story.reasons[-1]


def test_the_next_turn_may_begin_while_the_last_one_is_measured() -> None:
    story = Resident()
    story.hook("prompt-submit", source="machine")
    story.work = "late"
    story.hook("stop")
    closing = story.agent.turns_begun
    story.hook("prompt-submit", source="machine")
    assert [one.phase for one in story.agent.turns] == ["closing", "opening"]
    story.tell(WorkMeasured("a", closing, True, "git:dirt", turn=closing))

    assert story.counts[1] == 2
    assert [one.phase for one in story.agent.turns] == ["opening"]


def test_a_turn_that_was_broken_off_or_died_with_its_run_is_not_judged() -> None:
    story = Resident()
    before = story.counts
    story.hook("prompt-submit", source="machine")
    story.hook("prompt-submit", source="machine")
    assert len(story.agent.turns) == 1
    story.exited(1)

    assert story.agent.turns == ()
    assert story.counts == before


def test_after_a_daemon_start_the_end_is_measured_again_and_the_beginning_is_unknown() -> None:
    story = Resident()
    before = story.counts
    story.work = "late"
    story.hook("prompt-submit", source="machine")
    story.tell(MeasurementLost("a"))
    assert [one.phase for one in story.agent.turns] == ["underway"]
    story.hook("stop")
    asked = len(story.of(MeasureWork))
    story.work = "git:dirt"
    story.tell(MeasurementLost("a"))

    assert len(story.of(MeasureWork)) == asked + 1
    assert (story.agent.turns, story.counts) == ((), before)


@pytest.mark.parametrize("how", ["start", "cooldown"])
def test_from_quarantine_it_comes_back_on_trial(how: str) -> None:
    story = Resident(BreakerRules(per_turn=True, warn=1, stop=2, cooldown=600.0 if how == "cooldown" else 0.0))
    story.turn()
    story.exited(signal=15)
    assert isinstance(story.state, Quarantined)
    if how == "start":
        story.start()
    story.wait(601)
    assert story.agent.breaker.name == "HALF_OPEN"
    story.runs()

    assert story.turn() == "OPEN", "the trial brought nothing"
    assert isinstance(story.state, Stopping)


def test_a_stop_while_it_is_being_ended_stays_a_stop_and_a_start_is_a_trial() -> None:
    for asked in ("stop", "start"):
        story = Resident(BreakerRules(per_turn=True, warn=1, stop=2))
        story.turn()
        getattr(story, asked)()
        story.exited(signal=15)
        assert isinstance(story.state, Stopped) == (asked == "stop"), story.agent.reason
        assert not isinstance(story.state, Quarantined)
        assert story.agent.breaker.name == ("OPEN" if asked == "stop" else "HALF_OPEN")


def test_a_run_that_is_being_ended_for_another_one_has_none_after_it_once_the_breaker_opens() -> None:
    story = Resident(BreakerRules(per_turn=True, warn=1, stop=2))
    story.hook("prompt-submit", source="machine")
    story.work = "late"
    story.hook("stop")
    number = story.agent.turns_begun
    story.tell(AgentDeclared(replace(story.agent.spec, argv=("agent", "--other"))))
    ending = story.state
    assert isinstance(ending, Stopping)

    story.tell(WorkMeasured("a", number, True, "git:dirt", turn=number))
    story.exited(signal=15)

    assert isinstance(story.state, Quarantined), story.agent.reason


def test_it_is_not_ended_in_a_turn_that_a_person_has_just_asked_for() -> None:
    story = Resident(BreakerRules(per_turn=True, warn=1, stop=2))
    story.hook("prompt-submit", source="machine")
    story.work = "late"
    story.hook("stop")
    number = story.agent.turns_begun
    story.work = "git:dirt"
    story.hook("prompt-submit", text="Look at this.")
    story.tell(WorkMeasured("a", number, True, "git:dirt", turn=number))
    assert (story.agent.breaker.name, isinstance(story.state, Running)) == ("OPEN", True)
    story.hook("stop")

    assert isinstance(story.state, Stopping)


def test_one_that_was_opened_by_its_file_is_ended_after_its_turn() -> None:
    story = Resident()
    story.hook("prompt-submit", source="machine")
    story.tell(BreakerEdited("a", "OPEN", 5))
    story.hook("stop")

    assert isinstance(story.state, Stopping)


@pytest.mark.parametrize("seq", [1, 7])
def test_a_prompt_that_the_shim_tells_of_again_begins_no_second_turn(seq: int) -> None:
    """Also the first one that it ever told of: it does so until that is acknowledged."""
    story = Resident()
    story.hook("prompt-submit", text="Go on.", source="machine", seq=seq)
    turns, measured = story.agent.turns, len(story.of(MeasureWork))

    story.hook("prompt-submit", text="Go on.", source="machine", seq=seq)

    assert len(turns) == 1
    assert (story.agent.turns, len(story.of(MeasureWork))) == (turns, measured)
