"""What begins the handoff of a seat, and what lies between two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.actions import Spawn
from phoenixd.core.agent.state import BackingOff, Quarantined, Starting
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.events.orders import (
    RollbackRequested,
)
from phoenixd.core.events.tasks import TaskRequested
from phoenixd.core.handoff import machine
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.moment import Moment
from phoenixd.core.rules import ContextRules
from tests.core.handing import HandoffStory, at, orchestrator, run_of
from tests.core.story import spec


def no_guess(**changes: Any) -> HandoffStory:
    story = HandoffStory(replace(orchestrator(), context=ContextRules(predict=False), **changes))
    story.works()
    return story


def test_e4_e19_at_179_999_nothing_at_180_000_the_handoff_begins() -> None:
    story = no_guess()
    story.uses(179_999)
    assert story.seat.handoff is None
    story.uses(180_000)
    assert story.handoff.trigger == "meter"


def test_f_ho_17_ten_minutes_lie_between_two_that_begin_by_themselves_except_at_the_hard_limit() -> None:
    story = no_guess()
    story.uses(180_000)
    story.comes_to_nothing()
    assert story.step is Step.ROLLED_BACK
    first = story.handoff.id
    story.uses(181_000)
    story.wait(598)
    assert story.handoff.id == first
    story.wait(3)
    assert story.handoff.id != first
    second = story.handoff.id
    story.comes_to_nothing()
    assert (story.handoff.id, story.handoff.rollbacks) == (second, 2)
    story.uses(195_000)
    assert story.handoff.id == second, "after two in a row a person has to ask"
    assert story.begins() is None


def test_f_ho_17_the_hard_limit_waits_for_no_spacing_but_for_that_after_a_rollback() -> None:
    story = no_guess()
    first = story.hands_over().id
    story.uses(181_000)
    assert story.handoff.id == first
    story.uses(194_000)
    second = story.handoff.id
    assert second != first
    story.tell(RollbackRequested("o"))
    story.uses(195_000)
    assert story.handoff.id == second


def test_f_ho_17_a_successor_that_was_full_at_its_ack_is_not_handed_over_again_at_once() -> None:
    """Where the window is read too small, or the papers fill it, one handoff would follow the other for ever."""
    story = no_guess()
    first = story.hands_over().id
    story.uses(198_000)
    assert (story.handoff.id, story.handoff.share) == (first, 0.99)
    story.wait(598)
    assert story.handoff.id == first
    story.wait(3)
    assert story.handoff.id != first


def test_f_ho_17_e76_a_successor_that_is_half_full_at_its_ack_is_an_alert() -> None:
    story = at("await_ack")
    story.tell(UsageSeen("o-g2", run_of(story).incarnation, 101_000, 200_000, "transcript", story.wall))
    story.ack()
    story.exits("o", None, 15)
    assert "handoff" in story.alerts()
    assert story.handoff.share == 0.505


def test_f_ho_17_a_reading_that_comes_after_the_ack_tells_how_full_it_was() -> None:
    """A CLI writes its transcript after the call by which its model acknowledges."""
    story = at("await_ack")
    story.ack()
    story.exits("o", None, 15)
    assert (story.step, story.handoff.share) == (Step.DONE, None)
    story.uses(101_000)
    assert (story.handoff.share, "handoff" in story.alerts()) == (0.505, True)
    story.uses(150_000)
    assert story.handoff.share == 0.505, "what it does afterwards is no matter of the handoff"


def test_f_ho_17_a_first_reading_long_after_the_ack_tells_nothing_of_it() -> None:
    story = at("await_ack")
    story.ack()
    story.exits("o", None, 15)
    story.wait(61)
    story.uses(101_000)
    assert (story.handoff.share, "handoff" in story.alerts()) == (None, False)


def test_f_ho_19_a_chain_of_five_keeps_its_names() -> None:
    story = HandoffStory()
    story.works()
    for number in range(2, 7):
        story.hook("stop")
        assert story.begins() is None
        story.told_to_finish()
        name = f"o-g{number}"
        story.started_of(name)
        assert story.ack(name) is None
        story.exits("o" if number == 2 else f"o-g{number - 1}", None, 15)
        assert list(story.fleet.agents) == [name]
        assert story.step is Step.DONE


@pytest.mark.parametrize(("ended", "known"), [(Step.DONE, "the second"), (Step.ROLLED_BACK, "the first")])
def test_who_leads_a_project_is_known_to_its_files_by_one_session(ended: Step, known: str) -> None:
    """Of a generation that was handed over to, the id of the handoff to it; after a rollback still the one before."""
    last = Handoff(
        "h1", "o", "shop", 1, "operator", "", 0.0, ended, 0.0, 0.0, previous_session="the first", session="the second"
    )

    begun = [machine.begin("o", "shop", 1, one, "operator", "", "you", Moment(60.0, 60.0)) for one in (None, last)]

    assert [one.previous_session for one in begun] == ["", known]


@pytest.mark.parametrize("code", [100, 101])
def test_e88_an_orchestrator_that_asks_to_be_recycled_is_handed_over(code: int) -> None:
    story = HandoffStory(orchestrator(project="shop"))
    story.works()
    story.hook("tool-end", tool="Bash")
    story.hook("stop")
    story.pass_over(700)
    story.exits("o", code)
    assert (story.handoff.trigger, story.handoff.degraded) == ("recycle", ())
    story.started_of("o-g2")
    assert story.ack() is None
    assert list(story.fleet.agents) == ["o-g2"]


def test_f_ho_21_recycles_one_after_the_other_are_no_handoffs() -> None:
    story = HandoffStory(orchestrator(project="shop"))
    story.works()
    story.pass_over(700)
    story.exits("o", 100)
    story.started_of("o-g2")
    story.ack()
    story.pass_over(30)
    story.exits("o-g2", 100)
    assert story.step is Step.DONE
    story.respawned()
    assert story.of(Spawn)[-1].agent == "o-g2"


def test_f_ho_21_who_asks_to_be_recycled_again_and_again_is_stopped_with_one_alert() -> None:
    """Long before the hundredth time, where none of the runs achieves anything."""
    story = HandoffStory(orchestrator(project="shop"))
    story.work = "the same"
    story.works()
    story.pass_over(700)
    story.exits("o", 100)
    story.started_of("o-g2")
    story.ack()
    tries = 0
    while not isinstance(story.fleet.agents["o-g2"].state, Quarantined):
        tries += 1
        assert tries < 100
        story.pass_over(20)
        story.exits("o-g2", 100)
        if isinstance(story.fleet.agents["o-g2"].state, BackingOff):
            story.wait(60)
        if isinstance(story.fleet.agents["o-g2"].state, Starting):
            story.started_of("o-g2")

    assert story.alerts().count("quarantined") == 1
    story.wait(24 * 3600)
    assert isinstance(story.fleet.agents["o-g2"].state, Quarantined)


def test_e20_no_task_begins_once_a_handoff_was_triggered() -> None:
    story = at("drain")
    refusal = story.tell(TaskRequested(spec("worker"), "Do it.", asked_by="o"))
    assert refusal is not None
    assert (refusal.code, "begins nothing new" in refusal.message) == ("conflict", True)
    assert not story.fleet.tasks.open
