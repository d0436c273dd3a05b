"""What turns, runs and a full book do to Cases: rule by rule, on Cases that are made for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent.state import Outage
from phoenixd.core.facts import TreatmentDropped
from phoenixd.core.hooks import PromptSubmitted, TurnEnded
from phoenixd.core.moment import Moment
from phoenixd.core.treatment import casebook, opening, turns
from phoenixd.core.treatment import outcome as outcomes
from phoenixd.core.treatment.case import JOINS_WITHIN, MOST_OPEN, MOST_TREATED, Case, Cases, Noticed, Patient, Treated
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.opening import Book
from phoenixd.core.treatment.triage import diagnose
from tests.core.story import EPOCH, Story, claude

NOW = Moment(5_000.0, EPOCH, 0.5)
PATIENT = Patient("a", 1, "c1", 0.0)
CRASH = Evidence(code=1, cause="exit", lived=60.0)
KEY = diagnose(CRASH).key


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


def noticed(occasion: Any = "crash", incarnation: int = 1, evidence: Evidence = CRASH) -> Noticed:
    return Noticed("", "a", incarnation, occasion, EPOCH, evidence, diagnose(evidence))


def of_cause(name: str, seen: float, scope: str = "agent a", key: str = KEY) -> Case:
    return replace(case(name=name), scope=scope, key=key, seen=seen)


def test_the_end_of_a_run_by_what_its_turn_failed_for_is_no_failure_of_its_own() -> None:
    known = Book(Cases(cases=(replace(case(), key=KEY),), patients=(PATIENT,)))

    found = opening._told_already(known, noticed())
    assert found is not None
    assert found.id == "c1"
    for other in (noticed("failed_turn"), noticed("cut_answer"), noticed(incarnation=2)):
        assert opening._told_already(known, other) is None
    assert opening._told_already(replace(known, cases=replace(known.cases, patients=())), noticed()) is None
    assert opening._told_already(replace(known, cases=replace(known.cases, cases=(case(),))), noticed()) is None


def test_a_failure_joins_the_newest_case_of_its_scope_and_cause_within_the_hour() -> None:
    cases = (
        of_cause("old", NOW.at - JOINS_WITHIN), of_cause("older", NOW.at - 900.0), of_cause("newer", NOW.at - 800.0),
        of_cause("other", NOW.at, scope="agent b"), of_cause("another", NOW.at, key="else"),
    )  # fmt: skip

    def joins(*among: Case) -> str:
        found = opening._newest(Book(Cases(cases=among)), "agent a", KEY, NOW)
        return found.id if found is not None else ""

    assert joins(*cases) == "newer"
    assert joins(cases[0]) == ""
    assert joins(replace(cases[0], seen=NOW.at - JOINS_WITHIN + 0.1)) == "old"
    assert joins(*cases[3:]) == ""


def test_a_failure_that_joins_opens_its_case_again_and_is_counted_unless_it_goes_on() -> None:
    closed = replace(case(closed=5.0), outcome="held", seen=1.0)
    for goes_on in (True, False):
        after, joined = opening._joined(Book(Cases(cases=(closed,))), closed, noticed(), NOW, goes_on=goes_on)
        assert (joined.closed, joined.outcome, joined.seen, joined.newest) == (None, "open", NOW.at, NOW.wall)
        assert joined.incidents == 1 + (not goes_on)
        assert after.kept[-1].noticed[0].number == joined.incidents
        assert joined.agents == ("a",)
    _, joined = opening._joined(Book(Cases()), closed, replace(noticed(), agent="b"), NOW, goes_on=False)
    assert joined.agents == ("a", "b")


def test_what_was_done_against_a_cause_that_comes_back_has_failed_and_of_another_cause_nothing_can_be_said() -> None:
    before = book(treated(1), treated(2, outcome="held"))

    def judged(key: str, *, came_back: bool) -> list[str]:
        return [one.outcome for one in of(opening._judged(before, "a", key, NOW, came_back=came_back))]

    assert judged("k", came_back=True) == ["failed", "held"]
    assert judged("k", came_back=False) == ["open", "held"]
    assert judged("else", came_back=True) == judged("else", came_back=False) == ["moot", "held"]


def test_of_many_treatments_the_oldest_whose_outcome_is_known_go_first() -> None:
    known = [treated(number, outcome="held") for number in range(1, MOST_TREATED + 3)]
    waits = [treated(number) for number in range(100, 104)]

    kept, forgotten = opening._fewer_treated((*known, *waits), NOW)
    assert [one.number for one in kept] == [*range(3, MOST_TREATED + 3), *range(100, 104)]
    assert forgotten == ()
    many = tuple(treated(number) for number in range(1, MOST_OPEN + 3))
    kept, forgotten = opening._fewer_treated(many, NOW)
    assert ([one.number for one in forgotten], {one.outcome for one in forgotten}) == ([1, 2], {"moot"})
    assert len(kept) == MOST_OPEN
    assert opening._fewer_treated(tuple(known[:MOST_TREATED]), NOW) == (tuple(known[:MOST_TREATED]), ())


def test_a_case_that_nobody_waits_for_is_closed_with_what_came_of_it() -> None:
    cases = (
        case(treated(1, outcome="held"), name="c1"), case(name="c2"), case(treated(1), name="c3"),
        case(treated(1, outcome="held"), name="c4"), case(treated(1, outcome="failed"), name="c5"),
        replace(case(treated(1, outcome="held"), name="c6", closed=7.0), outcome="held"),
    )  # fmt: skip
    patients = (replace(PATIENT, case="c4"),)

    after = opening.settled(Book(Cases(cases=cases, patients=patients)), frozenset({"c5"}), NOW)

    assert {one.id: (one.closed, one.outcome) for one in after.cases.cases} == {
        "c1": (NOW.wall, "held"), "c2": (NOW.wall, "moot"), "c3": (None, "open"), "c4": (None, "open"),
        "c5": (None, "open"), "c6": (7.0, "held"),
    }  # fmt: skip


def test_what_was_allowed_and_is_dropped_is_moot_and_opens_no_case_again() -> None:
    closed = Book(Cases(cases=(case(treated(1), closed=7.0),)))
    fact = TreatmentDropped(2, "c1", "fresh", "anna", "it is to be down")

    after = opening.dropped(closed, "a", fact, NOW)

    (kept,) = after.cases.cases
    assert (kept.closed, kept.treatments, [one.outcome for one in kept.treated]) == (7.0, 2, ["open", "moot"])
    assert (kept.treated[1].why, kept.treated[1].incarnation) == ("allowed by anna, and dropped: it is to be down", 2)
    assert opening.dropped(closed, "a", replace(fact, case="gone"), NOW) is closed


def test_what_an_account_or_an_outage_shares_is_one_case_of_all_and_a_crash_is_an_agents_own() -> None:
    plain = Story(claude()).works().agent
    of_account = replace(plain, spec=replace(plain.spec, account="team"))
    in_outage = replace(of_account, outage=Outage("harness claude", EPOCH))
    limit = diagnose(Evidence(occasion="failed_turn", is_alive=True, failure="limit"))

    assert limit.detail in opening.SHARED
    assert [opening._scope(one, limit) for one in (plain, of_account, in_outage)] == [
        "agent a", "account team", "harness claude"
    ]  # fmt: skip
    assert {opening._scope(one, diagnose(CRASH)) for one in (plain, of_account, in_outage)} == {"agent a"}


def test_a_patient_bears_what_its_turn_failed_for_and_one_that_crashed_bears_nothing() -> None:
    agent = Story(claude()).works().agent
    failed = Evidence(
        occasion="failed_turn", is_alive=True, failure="limit", word="w", named="limit", reset=True, said="it said",
        status=429, disks="/",
    )  # fmt: skip

    patient = opening.notice(Book(Cases()), agent, 1, failed, NOW).cases.patient("a")
    assert patient is not None
    assert (patient.failure, patient.word, patient.named, patient.reset) == ("limit", "w", "limit", True)
    assert (patient.said, patient.status, patient.disks, patient.case) == ("it said", 429, "/", "c1")
    patient = opening.notice(Book(Cases()), agent, 1, replace(CRASH, said="trace", status=500), NOW).cases.patient("a")
    assert patient is not None
    assert (patient.failure, patient.said, patient.status, patient.failed_at) == ("", "", None, NOW.wall)


def test_a_turn_of_which_nobody_knows_when_it_began_counts_as_a_turn_and_as_no_time() -> None:
    now = Moment(1_000.0, EPOCH)
    one = Treated(1, "a", 2, "park", "limits", EPOCH, EPOCH, 3, EPOCH, 1, 50.0, 900.0)

    assert outcomes.turn_ends(one, None, now) == replace(one, turns=2)
    assert outcomes.turn_ends(one, 880.0, now) == one, "it made the run productive"
    assert outcomes.turn_ends(one, 900.0, now) == replace(one, turns=2, worked=150.0)
    assert outcomes.turn_ends(one, 960.0, now) == replace(one, turns=2, worked=90.0)
    assert outcomes.turn_is_over(one, None, now) == replace(one, ended=0.0)
    assert outcomes.time_passes(one, None, 1_000.0, now) == one
    held = outcomes.turn_ends(replace(one, turns=outcomes.TURNS - 1), None, now)
    assert (held.outcome, held.turns) == ("held", outcomes.TURNS)
    long = replace(one, worked=outcomes.OPEN_TIME - 100.0)
    assert outcomes.turn_ends(long, 900.0, now).outcome == "held"
    assert outcomes.turn_ends(replace(long, worked=long.worked - 0.1), 900.0, now).outcome == "open"
    assert outcomes.time_passes(long, 900.0, 1_000.0, now).outcome == "held"
    assert outcomes.time_passes(long, 900.0, 999.9, now) == long
