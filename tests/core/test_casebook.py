"""The book of Cases over weeks: what joins, what closes, what is let go of, and which clock counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent.state import Quarantined, Running
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.fleet import EpochBegun, LimitsDeclared
from phoenixd.core.events.orders import AgentWithdrawn
from phoenixd.core.facts import Treating
from phoenixd.core.spec import FleetLimits
from phoenixd.core.tasks.state import Outcome
from phoenixd.core.treatment import acting, casebook, gather
from phoenixd.core.treatment.authority import AGENT_PERIOD, Caps
from phoenixd.core.treatment.case import JOINS_WITHIN, Case, Cases, Patient, Treated
from phoenixd.core.treatment.opening import Book, notice
from phoenixd.core.treatment.outcome import TURNS
from phoenixd.documents.codec import decode, encode
from phoenixd.documents.hooks import hook_of
from tests.core.handing import HandoffStory
from tests.core.patients import CONTEXT, back, case, cases, dies, turn
from tests.core.story import Story, claude
from tests.core.workers import Works

# What joins.


def test_a_cause_that_comes_back_after_more_than_an_hour_has_failed_its_treatment(story: Story) -> None:
    """An hour of an idle agent is no hour of work: the treatment of the older Case is judged, and not left to hold."""
    dies(story)
    back(story)
    turn(story)
    story.pass_over(JOINS_WITHIN + 1)
    dies(story)

    older, newer = cases(story)
    assert [(one.treatment, one.outcome) for one in older.treated] == [("resume", "failed")]
    assert (older.closed is not None, older.outcome) == (True, "failed")
    assert (newer.id, newer.closed) == ("c2", None)


def test_a_failure_joins_the_newest_case_of_its_cause(story: Story) -> None:
    """Two Cases of one cause stand in the book where an hour lay between; the third failure is the newer one's."""
    dies(story)
    back(story)
    turn(story)
    story.pass_over(JOINS_WITHIN + 1)
    dies(story)
    back(story)
    turn(story)
    dies(story)

    assert (cases(story)[-1].id, cases(story)[-1].incidents) == ("c2", 2)
    assert cases(story)[-1].treated[0].outcome == "failed"
    assert story.fleet.cases.next == 3


def test_the_end_of_a_run_by_what_its_turn_failed_for_is_the_same_case_hours_later(story: Story) -> None:
    story.hook("stop-failure", error="authentication_failed", text="Invalid API key")
    story.pass_over(3 * JOINS_WITHIN)
    story.exited(1)

    assert case(story).incidents == 1
    assert [one.outcome for one in case(story).treated] == ["open", "open"]


# What closes, and what is let go of.


def test_an_agent_that_is_removed_is_no_patient_and_what_was_done_is_moot(story: Story) -> None:
    dies(story)
    back(story)
    dies(story)
    story.tell(AgentWithdrawn("a"))
    story.exited(signal=15)

    assert not story.fleet.agents
    assert story.fleet.cases.patients == ()
    assert {one.outcome for one in case(story).treated} <= {"failed", "moot"}
    assert case(story).closed is not None


def test_a_worker_that_ended_badly_and_was_collected_is_no_patient() -> None:
    works = Works()
    works.start()
    works.ask()
    while "t1" not in {one.id for one in works.fleet.tasks.ended}:
        if works.fleet.agents["shop-t1"].run is None:
            works.wait(60)
        works.finishes("t1", code=1, outcome=Outcome())

    assert "shop-t1" not in works.fleet.agents
    assert works.fleet.cases.cases
    assert works.fleet.cases.patients == ()
    assert all(one.closed is not None for one in works.fleet.cases.cases)


def test_patients_that_an_older_version_left_behind_are_let_go_of_when_a_daemon_begins(story: Story) -> None:
    gone = Treated(1, "gone", 3, "abort", "restart", 0.0, 0.0)
    left = Case("c7", "agent gone", "k", None, "crash", "r", 0.3, "claude", 0.0, 0.0, ("gone",), 1, (gone,), 1)
    book = Cases(8, (left,), (Patient("gone", 3, "c7", 0.0),))
    story.fleet = replace(story.fleet, cases=book)
    story.tell(EpochBegun(0))

    assert story.fleet.cases.patients == ()
    assert all(one.closed is not None for one in cases(story))


def test_a_case_without_any_treatment_closes_when_its_agent_is_back_at_work(story: Story) -> None:
    """A handoff that was rolled back: nothing is done about it, and its holder goes on."""
    handing = HandoffStory()
    handing.works()
    handing.begins()
    handing.comes_to_nothing()
    assert case(handing).closed is None
    handing.hook("stop")

    assert (case(handing).treated, case(handing).closed is not None, case(handing).outcome) == ((), True, "moot")


def test_a_case_without_any_treatment_closes_with_a_stop(story: Story) -> None:
    story.hook("stop-failure", error="odd", text="what nobody knows")
    story.stop()

    assert case(story).closed is not None


# Which clock counts.


@pytest.mark.parametrize("stepped", [-7200.0, 7200.0])
def test_a_clock_that_is_set_neither_joins_nor_parts_failures(story: Story, stepped: float) -> None:
    dies(story)
    back(story)
    turn(story)
    story.wall += stepped
    dies(story)
    assert [one.incidents for one in cases(story)] == [2]

    story.wall -= stepped
    back(story)
    for _ in range(TURNS + 1):
        turn(story)
    story.pass_over(JOINS_WITHIN + 1)
    story.wall -= JOINS_WITHIN + 400
    dies(story)
    assert [one.id for one in cases(story)] == ["c2"]


@pytest.mark.parametrize("stepped", [-AGENT_PERIOD, AGENT_PERIOD])
def test_a_clock_that_is_set_neither_frees_nor_fills_a_cap(stepped: float) -> None:
    from phoenixd.core.treatment import choosing
    from phoenixd.core.treatment.case import Prescribed

    book = Cases(prescribed=tuple(Prescribed(f"c{n}", "a", 1, "advise", 1e9 + stepped, 100.0) for n in range(5)))

    assert "per_agent" in choosing.over_a_cap(book, "c9", "a", Caps(), 200.0)
    assert choosing.over_a_cap(book, "c9", "a", Caps(), 200.0 + AGENT_PERIOD) == ""


def test_caps_hold_over_a_restart_of_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was ordered is part of the book, which the journal keeps."""
    story = Story(claude()).works()
    story.tell(LimitsDeclared(FleetLimits(), clinic=Caps(per_agent=1)))
    monkeypatch.setattr(gather, "of_end", lambda *_: CONTEXT)
    dies(story)
    assert len(story.fleet.cases.prescribed) == 1
    story.fleet = replace(story.fleet, cases=decode(Cases, encode(story.fleet.cases)))
    story.tell(EpochBegun(0))
    back(story)
    monkeypatch.setattr(gather, "of_end", lambda *_: replace(CONTEXT, failure="request", word="model_not_found"))
    for _ in range(3):
        dies(story)
        if isinstance(story.state, Quarantined):
            break
        back(story)

    assert len(story.fleet.cases.prescribed) == 1
    assert any("clinic.per_agent" in reason for reason in story.reasons)


# What the clinic answers.


def test_c43_six_same_crashes_get_different_answers_or_an_end(story: Story) -> None:
    """F-CL-7: of six tries each gets an answer that the Case has not had, or it is the end."""
    answers: list[frozenset[tuple[str, str]]] = []
    for _ in range(6):
        known = {one.number for one in cases(story)[-1].treated} if cases(story) else set()
        story.pass_over(60)
        story.exited(1)
        if not isinstance(story.state, Quarantined):
            back(story)
        answers.append(
            frozenset((one.treatment, one.by) for one in cases(story)[-1].treated if one.number not in known)
        )
        if isinstance(story.state, Quarantined):
            break

    assert isinstance(story.state, Quarantined), "the same crash goes on for ever"
    assert len(set(answers[:3])) == 3, answers
    assert all(answers)


def test_of_two_failures_that_one_event_tells_of_the_older_case_treats_the_run(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One owner of a run at a time, so one treatment of it."""
    dies(story)
    back(story)
    reads = casebook.read

    def both(*given: Any) -> Book:
        book = reads(*given)
        if not any(kept.noticed for kept in book.kept):
            return book
        agent = story.agent
        full = replace(gather.of_other(agent, "crash"), failure="full")
        return notice(book, agent, agent.incarnation, full, story.now)

    monkeypatch.setattr(acting.casebook, "read", both)
    dies(story)

    ordered = [fact for one in story.decisions for fact in one.facts if isinstance(fact, Treating)]
    assert len(ordered) == 1, ordered
    assert any(f"Case {ordered[0].case}, which is older, treats this run" in reason for reason in story.reasons)


def test_evidence_of_an_older_incarnation_opens_no_case_and_judges_no_treatment(story: Story) -> None:
    older = story.run.incarnation
    dies(story)
    back(story)
    turn(story)
    before = story.fleet.cases
    for kind, more in (("stop-failure", {"error": "odd", "text": "?"}), ("stop", {}), ("prompt-submit", {"text": "x"})):
        story.tell(hook_of("a", older, kind, **more))
    story.tell(ScreenSeen("a", older, "idle"))

    assert story.fleet.cases is before
    assert isinstance(story.state, Running)
