"""What turns, runs and a full book do to Cases: rule by rule, on Cases that are made for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.hooks import PromptSubmitted, TurnEnded
from phoenixd.core.moment import Moment
from phoenixd.core.treatment import casebook, opening, turns
from phoenixd.core.treatment.case import Case, Cases, Patient, Treated
from phoenixd.core.treatment.opening import Book
from tests.core.story import EPOCH

NOW = Moment(5_000.0, EPOCH, 0.5)
PATIENT = Patient("a", 1, "c1", 0.0)


def treated(number: int = 1, treatment: Any = "resume", by: Any = "restart", **changes: Any) -> Treated:
    return replace(Treated(number, "a", 1, treatment, by, 0.0, 0.0), **changes)


def case(*done: Treated, name: str = "c1", closed: float | None = None) -> Case:
    return Case(
        name, "agent a", "k", None, "crash", "r", 0.3, "claude", 0.0, 0.0, ("a",), 1, done, len(done), closed=closed
    )


def book(*done: Treated, patients: tuple[Patient, ...] = (PATIENT,)) -> Book:
    return Book(Cases(cases=(case(*done),), patients=patients))


def of(after: Book) -> tuple[Treated, ...]:
    return after.cases.cases[0].treated


def test_a_run_that_begins_is_the_one_that_shows_what_came_of_what_was_done_before() -> None:
    """Of what waited for it: a parking, and all that the clinic did; the start itself is the next treatment."""
    before = (
        treated(1, "park", "limits"), treated(2, "summarise", "clinic"), treated(3),
        treated(4, "park", "clinic", run=2), treated(5, "park", "limits", outcome="held"),
    )  # fmt: skip

    after = casebook._with_next_run(book(*before), "a", 3, "resume", NOW)

    assert {one.number: one.run for one in of(after)} == {1: 3, 2: 3, 3: 0, 4: 2, 5: 0}
    assert after.cases.patients == ()
    after = casebook._with_next_run(book(treated(1, "advise", "clinic")), "a", 3, "resume", NOW)
    assert [(one.treatment, one.by, one.run) for one in of(after)] == [
        ("advise", "clinic", 3), ("resume", "restart", 3)
    ]  # fmt: skip
    alone = casebook._with_next_run(book(treated(1, "advise", "clinic"), patients=()), "a", 3, "resume", NOW)
    assert [one.treatment for one in of(alone)] == ["advise"], "nobody is a patient"


def test_a_case_that_has_no_room_any_more_is_moot_and_has_no_patients() -> None:
    other = Patient("b", 1, "c2", 0.0)

    after = opening._given_up(book(treated(1), treated(2, outcome="held"), patients=(PATIENT, other)), case(
        treated(1), treated(2, outcome="held")
    ), NOW)  # fmt: skip

    assert [one.outcome for one in of(after)] == ["moot", "held"]
    assert after.cases.patients == (other,)


@pytest.mark.parametrize("well", [True, False])
def test_what_a_look_shows_of_a_turn_that_was_over_counts_for_its_run_alone(well: bool) -> None:
    waits = replace(PATIENT, ended=True)
    first = treated(1, run=1, ended=30.0)
    later = treated(2, run=2, productive=EPOCH - 90.0, since=4_000.0, ended=30.0)
    unheard = treated(3, run=2)

    after = turns._show_turn(book(first, later, unheard, patients=(waits,)), "a", 1, well=well, now=NOW)

    one, two, three = of(after)
    assert (one.productive is not None, one.ended) == (well, None if not well else one.ended)
    assert (two.turns, two.ended) == (int(well), None)
    assert three == unheard
    assert after.cases.patients == (() if well else (PATIENT,))
    for other in (replace(waits, incarnation=2), PATIENT):
        kept = turns._show_turn(book(first, patients=(other,)), "a", 1, well=well, now=NOW)
        assert kept.cases.patients == (other,)


def test_a_turn_whose_hook_comes_either_way_shows_nothing_before_a_look() -> None:
    event = TurnEnded("a", 1)

    after = turns._note_turn(book(treated(1, run=1), treated(2, run=2)), event, 4_900.0, NOW)

    assert [(one.productive, one.ended is not None) for one in of(after)] == [(None, True), (None, False)]
    assert after.cases.patients == (replace(PATIENT, ended=True),)
    other = turns._note_turn(book(patients=(replace(PATIENT, incarnation=2),)), event, None, NOW)
    assert not other.cases.patients[0].ended


def test_what_a_person_asks_for_in_between_leaves_open_what_a_run_would_have_come_to() -> None:
    before = (
        treated(1, run=2), treated(2, run=3), treated(3, run=2, productive=EPOCH - 90.0),
        treated(4, run=2, incarnation=2), treated(5, run=2, outcome="held"),
    )  # fmt: skip

    after = turns._take_over(book(*before), PromptSubmitted("a", 2), NOW)

    assert [one.outcome for one in of(after)] == ["moot", "open", "open", "open", "held"]
