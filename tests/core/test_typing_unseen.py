"""A text whose input line no screen shows: each look on both sides of each edge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent.standing import text_hash
from phoenixd.core.moment import Moment
from phoenixd.core.typing.delivery import GIVE_UP, Delivery, TakingBack, Unseen, begin
from phoenixd.core.typing.machine import hear
from phoenixd.core.typing.orders import Done, Look, PressEnter
from phoenixd.core.typing.outcomes import LOOK_INTERVAL, Outcome
from phoenixd.core.typing.seen import PromptSubmitted, Screen, Sight
from phoenixd.core.typing.unseen import hear_pressed, hear_unseen

AT = 100.0
SHOWS = Sight(screen=Screen(None))
PRESSED = Unseen(AT, AT, presses=1)


def heard(step: Unseen, sight: Sight = SHOWS, *, after: float = 0.0, **changes: Any) -> Outcome:
    """What comes of a look `after` seconds after the paste."""
    delivery = replace(begin("go on", 0.0, is_seen=False), step=step, **changes)
    return hear_unseen(delivery, step, sight, Moment(AT + after, 1e9))


def verdict(found: Outcome) -> tuple[str, str]:
    assert isinstance(found.order, Done)
    return found.order.verdict, found.order.why


def step_of(delivery: Delivery) -> Unseen:
    assert isinstance(delivery.step, Unseen)
    return delivery.step


def test_f_tmux_9_before_enter_a_run_that_is_over_a_person_and_a_dialog_are_in_the_way() -> None:
    fresh = Unseen(AT, AT)
    found = heard(fresh)
    assert (found.order, step_of(found.delivery).presses) == (PressEnter(), 1)
    assert verdict(heard(fresh, replace(SHOWS, is_over=True))) == (
        "not delivered",
        "the run that it was meant for is over",
    )
    assert verdict(heard(fresh, told=True, touched=True)) == ("delivered", "the agent took the prompt")
    assert verdict(heard(fresh, touched=True))[0] == "not delivered"
    assert heard(fresh, told=True).order == PressEnter()
    assert verdict(heard(fresh, replace(SHOWS, asks="Bash make")))[0] == "not delivered"


@pytest.mark.parametrize(
    ("presses", "newest", "after", "order"),
    [
        (1, 0.0, 1.9, Look(AT + 2.0)),
        (1, 0.0, 2.0, PressEnter()),
        (1, 1.5, 2.4, Look(AT + 2.5)),  # a second lies between two Enters
        (1, 1.5, 2.5, PressEnter()),
        (2, 2.0, 4.9, Look(AT + 5.0)),
        (2, 2.0, 5.0, PressEnter()),
        (3, 5.0, 11.9, Look(AT + GIVE_UP)),  # two times more is all
        (3, 5.0, GIVE_UP, Look(AT + GIVE_UP, screen=False, unread=True)),
        (1, 0.0, GIVE_UP, Look(AT + GIVE_UP, screen=False, unread=True)),
    ],
)
def test_where_no_hook_tells_of_a_text_enter_is_pressed_after_2_and_5_seconds_and_given_up_after_12(
    presses: int, newest: float, after: float, order: object
) -> None:
    found = heard(Unseen(AT, AT + newest, presses), after=after)

    assert found.order == order
    assert isinstance(found.delivery.step, TakingBack) is (after >= GIVE_UP)
    if order == PressEnter():
        assert step_of(found.delivery) == Unseen(AT, AT + after, presses + 1)


def test_what_a_hook_names_in_other_words_has_arrived_once_it_is_read_and_enter_is_not_pressed_again() -> None:
    """What took it may ask something by now, and the Enter would be an answer; sent again, it would be done twice."""
    entered = replace(begin("go on", 0.0, is_seen=False), step=PRESSED, pasted_wall=1e9, order=Look(AT + 2.0))
    heard_of = hear(entered, PromptSubmitted("another"), Moment(AT + 0.1, 1e9))
    assert heard_of.order == Look(AT + 2.0, unread=True)
    delivery = heard_of.delivery

    once = hear(delivery, replace(SHOWS, unread=0), Moment(AT + 2.0, 1e9))
    assert once.order == Look(AT + 2.0 + LOOK_INTERVAL, screen=False, unread=True)
    twice = hear(once.delivery, Sight(unread=0), Moment(AT + 2.1, 1e9))
    assert verdict(twice) == ("delivered", "its program took it, and its hook tells of another prompt")
    unread = hear(delivery, replace(SHOWS, unread=6), Moment(AT + 5.0, 1e9))
    assert unread.order == Look(AT + 5.0 + LOOK_INTERVAL, screen=False, unread=True)
    late = hear(unread.delivery, replace(SHOWS, unread=6), Moment(AT + GIVE_UP, 1e9))
    assert isinstance(late.delivery.step, TakingBack), "what it did not read is taken back"
    by_name = hear(delivery, PromptSubmitted(text_hash("go on")), Moment(AT + 0.2, 1e9))
    assert verdict(by_name) == ("delivered", "the agent took the prompt")


@pytest.mark.parametrize("changes", [{"step": Unseen(AT, AT)}, {"touched": True}])
def test_a_prompt_before_enter_or_beside_a_person_is_somebody_elses(changes: dict[str, Any]) -> None:
    entered = replace(begin("go on", 0.0, is_seen=False), step=PRESSED, pasted_wall=1e9, order=Look(AT + 2.0))
    found = hear(replace(entered, **changes), PromptSubmitted("another"), Moment(AT + 0.1, 1e9)).delivery

    assert not found.is_renamed
    assert hear(found, replace(SHOWS, unread=0), Moment(AT + 2.0, 1e9)).order in (PressEnter(), Look(AT + 5.0))


def test_an_enter_that_somebody_is_in_the_way_of_is_left_out_and_counts() -> None:
    found = heard(PRESSED, after=2.0, touched=True)

    assert found.order == Look(AT + 5.0)
    assert step_of(found.delivery) == Unseen(AT, AT + 2.0, 2)
    assert verdict(heard(PRESSED, replace(SHOWS, is_over=True)))[0] == "not delivered"


def test_a_program_without_hooks_has_a_text_once_two_looks_in_a_row_find_that_it_read_all() -> None:
    def looks(emptied: int, unread: int | None, after: float = 1.0) -> Outcome:
        sight = Sight(unread=unread)
        return heard(replace(PRESSED, emptied=emptied), sight, after=after, has_hooks=False)

    next_look = Look(AT + 1.0 + LOOK_INTERVAL, screen=False, unread=True)
    once = looks(0, 0)
    assert (once.order, step_of(once.delivery).emptied) == (next_look, 1)
    assert verdict(looks(1, 0)) == ("delivered", "its program read it, and gives no other receipt")
    again = looks(1, 7)
    assert (again.order, step_of(again.delivery).emptied) == (next_look, 0)
    assert verdict(looks(0, None)) == ("delivered", "typed; this agent gives no receipt")
    assert isinstance(looks(0, 7, GIVE_UP - 0.1).delivery.step, Unseen)
    assert isinstance(looks(0, 7, GIVE_UP).delivery.step, TakingBack)
    assert verdict(looks(1, 0, GIVE_UP))[0] == "delivered", "what was read is not taken back"
    over = heard(PRESSED, Sight(is_over=True, unread=7), has_hooks=False)
    assert verdict(over) == ("delivered", "its run ended with it")


def test_after_enter_the_next_look_is_when_it_may_be_pressed_again_or_the_program_may_have_read_it() -> None:
    now = Moment(AT + 0.5, 1e9)
    for has_hooks, look in ((True, Look(AT + 2.0)), (False, Look(AT + 0.5 + LOOK_INTERVAL, screen=False, unread=True))):
        delivery = replace(begin("go on", 0.0, is_seen=False, has_hooks=has_hooks), step=PRESSED)
        found = hear_pressed(delivery, PRESSED, now)
        assert (found.order, step_of(found.delivery).newest) == (look, now.at)
