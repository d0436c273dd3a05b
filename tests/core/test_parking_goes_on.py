"""Who was parked is told to go on, once, and until that has arrived (F-PROC-26)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import Deliver
from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.fleet import Step
from phoenixd.core.limits import accounts, parking
from phoenixd.core.limits.state import Limits, Parking, ParkingKind
from phoenixd.core.moment import Moment
from phoenixd.core.rules import LimitRules
from phoenixd.core.spec import AgentSpec
from tests.core.accounts import HOUR, Account
from tests.core.story import EPOCH, Story, claude, spec


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (claude(), True),
        (claude(limits=LimitRules(reprompt=False)), False),
        (spec(prompt_via="paste"), True),
        (spec(prompt_via="argv", argv=("agent", "{prompt}")), False),
        (spec(), False),
        (spec(limits=LimitRules(reprompt=True)), True),
    ],
)
def test_it_is_told_to_go_on_where_the_cli_stops_its_turn_and_not_where_it_goes_on_by_itself(
    agent: AgentSpec, told: bool
) -> None:
    story = Account(agent).all_work()
    story.meets_limit("a")
    story.wait(2 * HOUR + 31)
    assert bool(story.of(Deliver)) is told
    if told:
        story.obeys("a")
    assert story.agent.state_name == "running"
    assert story.agent.last_prompt is None or not story.agent.last_prompt.startswith("The rate limit")


@pytest.mark.parametrize("kind", ["prompt-submit", "tool-start"])
def test_what_goes_on_by_itself_is_not_told_a_second_time(kind: str) -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.wait(HOUR)
    story.say("a", kind, text="Go on.")
    assert story.agent.state_name == "running"
    story.say("a", "stop")
    story.wait(24 * HOUR)
    assert story.of(Deliver) == []


def test_a_screen_that_works_is_not_told_to_go_on() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.screen = "working"
    story.wait(2 * HOUR + 31)
    assert (story.of(Deliver), story.agent.state_name) == ([], "running")
    assert "went on by itself" in story.agent.reason


@pytest.mark.parametrize("problem", ["permission", "unsent"])
def test_one_that_cannot_be_told_is_tried_again_and_shown_to_people(problem: str) -> None:
    """A dialog on its screen, or a draft of somebody's: nothing is typed over either."""
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.screen = "permission" if problem == "permission" else "idle"
    seen = 0
    for _ in range(200):
        story.wait(60)
        orders = story.of(Deliver)
        if len(orders) > seen:
            seen = len(orders)
            order = orders[-1]
            story.tell(NotDelivered("a", order.incarnation, order.message_id, "something unsent stands there"))
    assert story.alerts() == (["dialog"] if problem == "permission" else ["cannot go on"])
    assert story.agent.item is not None
    assert story.agent.state_name == "parked"
    assert bool(story.of(Deliver)) is (problem != "permission")
    story.screen = "idle"
    story.wait(HOUR)
    story.obeys("a")
    assert (story.agent.item, story.agent.state_name) == (None, "running")


def test_one_that_asks_a_person_at_its_fifth_miss_is_shown_after_a_later_one() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    seen, missed = 0, {0}
    for _ in range(600):
        assert story.agent.parking is not None
        missed.add(story.agent.parking.misses)
        story.screen = "permission" if story.agent.parking.misses in (3, 4) else "idle"
        story.wait(60)
        orders = story.of(Deliver)
        if len(orders) > seen:
            seen = len(orders)
            story.tell(
                NotDelivered("a", orders[-1].incarnation, orders[-1].message_id, "something unsent stands there")
            )
    assert missed >= {4, 5, 6, 7}
    assert story.alerts() == ["dialog", "cannot go on"]


def test_an_order_to_go_on_that_was_lost_is_given_again() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.wait(2 * HOUR + 31)
    assert len(story.of(Deliver)) == 1
    story.wait(10 * 60)
    assert len(story.of(Deliver)) > 1
    assert len({order.message_id for order in story.of(Deliver)}) == len(story.of(Deliver))


def test_a_text_that_arrived_ends_the_parking_though_no_hook_tells_of_its_turn() -> None:
    """The receipt is proof enough: hooks may be lost, and some CLIs have none."""
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.wait(2 * HOUR + 31)
    order = story.of(Deliver)[-1]

    story.tell(Delivered("a", order.incarnation, order.message_id, "the text stands in the transcript"))

    assert story.agent.state_name == "running"
    assert "told to go on" in story.agent.reason
    assert isinstance(story.agent.state, Running)
    assert story.agent.state.activity.turn_open
    assert story.agent.item is None


def test_one_refusal_of_its_terminal_is_heard_at_once_and_keeps_it_parked() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.wait(2 * HOUR + 31)
    order = story.of(Deliver)[-1]

    story.tell(NotDelivered("a", order.incarnation, order.message_id, "something unsent stands there"))

    assert story.agent.state_name == "parked"
    assert "it could not be told to go on (something unsent stands there)" in story.decisions[-1].reason


def test_an_answer_about_another_text_does_not_end_the_parking() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.wait(2 * HOUR + 31)
    story.tell(NotDelivered("a", 1, "another", "no"))
    story.tell(Delivered("a", 1, "another", "yes"))
    assert story.agent.state_name == "parked"


def test_one_that_was_told_to_go_on_is_asked_about_once_its_answer_is_late_and_not_before() -> None:
    waits = Parking(ParkingKind.LIMIT, EPOCH, 0.0, "a limit", owes=True, asked=100.0, message_id="m")
    works = Story(claude()).works()
    fleet = replace(works.fleet, agents=works.fleet.roster.taking(replace(works.agent, limits=Limits(waits))))

    def released(at: float) -> list[Decision]:
        return list(accounts.release(fleet, Step(fleet), Tick(), Moment(at, EPOCH + at)).decisions)

    assert released(100.0 + parking.ANSWER_TIME - 0.5) == []
    (late,) = released(100.0 + parking.ANSWER_TIME)
    assert "nothing came of telling it" in late.reason
