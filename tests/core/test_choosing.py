"""Whose a failed run is, what the clinic adds, and which cap forbids it: rule by rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Cut, Mode
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.agent.state import BackingOff, Desired, Outage, Parked, Quarantined, Stopped
from phoenixd.core.fleet import Fleet
from phoenixd.core.limits.state import Parking, ParkingKind
from phoenixd.core.spec import Kind
from phoenixd.core.treatment import choosing
from phoenixd.core.treatment.authority import AGENT_PERIOD, FLEET_PERIOD, Caps
from phoenixd.core.treatment.case import Case, Cases, Noticed, Prescribed, Treated
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.triage import Diagnosis, diagnose
from tests.core.handing import HandoffStory
from tests.core.story import EPOCH, Story, claude

WORKS = Story(claude()).works().agent
RESUMES = replace(WORKS, state=BackingOff(5.0, Mode.RESUME, WORKS.run.prompt))  # type: ignore[union-attr]
FRESH = replace(WORKS, state=BackingOff(5.0, Mode.FRESH, WORKS.run.prompt))  # type: ignore[union-attr]
LIMIT = replace(WORKS.limits, parking=Parking(ParkingKind.LIMIT, EPOCH + 600.0, 0.0, "its limit"))
LASTING = Diagnosis("logic_error", "crash", "r", 0.9, (), ("resume", "fresh", "ask", "abort"))


def asked(kind: str) -> Agent:
    return replace(WORKS, items=(InboxItem(1, "a", 1, kind, "text", "hash", EPOCH, "command"),))


def noticed(occasion: Any = "crash") -> Noticed:
    return Noticed("c1", "a", 1, occasion, EPOCH, Evidence(), LASTING)


@pytest.mark.parametrize(
    ("agent", "about", "owner"),
    [
        (WORKS, noticed(), ""), (RESUMES, noticed(), ""), (WORKS, None, ""),
        (replace(WORKS, removing=True), noticed(), "operator"),
        (replace(WORKS, desired=Desired.STOPPED), noticed(), "operator"),
        (replace(RESUMES, state=replace(RESUMES.state, unattended=1.0)), noticed(), "operator"),  # type: ignore[arg-type]
        (asked("login"), noticed(), "operator"), (asked("failed turn"), noticed(), "operator"),
        (asked("permission"), noticed(), ""),
        (replace(WORKS, limits=LIMIT), noticed(), "limits"), (replace(WORKS, state=Parked()), noticed(), "limits"),
        (replace(WORKS, outage=Outage("harness claude", EPOCH)), noticed(), "limits"),
        (replace(asked("login"), limits=LIMIT), noticed(), "operator"),
        (WORKS, noticed("lost_marker"), "restoration"),
    ],
)  # fmt: skip
def test_who_has_a_run_in_hand_comes_before_the_clinic(agent: Agent, about: Noticed | None, owner: str) -> None:
    found, why = choosing.owner(Fleet(), agent, about)

    assert found == owner
    assert bool(why) is bool(owner)


def test_a_handoff_that_is_under_way_has_its_seat_in_hand() -> None:
    fleet = HandoffStory().works().fleet
    under_way = HandoffStory().drained().fleet

    assert choosing.owner(fleet, fleet.agents["o"], None)[0] == ""
    assert choosing.owner(under_way, under_way.agents["o"], None)[0] == "handoff"


@pytest.mark.parametrize(
    ("agent", "given"),
    [
        (WORKS, None), (RESUMES, "resume"), (FRESH, "fresh"), (replace(WORKS, limits=LIMIT), "park"),
        (replace(WORKS, state=Parked()), "park"), (asked("billing"), "ask"), (asked("permission"), None),
        (replace(WORKS, state=Quarantined("crashes")), "abort"), (replace(WORKS, state=Stopped()), None),
        (replace(WORKS, cut=Cut(1, "output_limit", None, EPOCH, message_id="m")), "go_on"),
        (replace(WORKS, cut=Cut(1, "output_limit", None, EPOCH)), None),
        (replace(WORKS, cut=Cut(1, "output_limit", None, EPOCH, message_id="m", taken=True)), None),
    ],
)  # fmt: skip
def test_what_other_rules_do_about_a_failure_is_read_off_the_agent(agent: Agent, given: str | None) -> None:
    assert choosing.given_by_others(agent) == given


@pytest.mark.parametrize(
    ("agent", "treatment", "came_back", "possible"),
    [
        (RESUMES, "fresh", False, True), (RESUMES, "summarise", False, True), (FRESH, "fresh", False, False),
        (WORKS, "fresh", True, False), (RESUMES, "advise", False, True), (FRESH, "advise", False, True),
        (WORKS, "advise", True, False), (RESUMES, "ask", True, True), (RESUMES, "abort", True, True),
        (RESUMES, "ask", False, False), (WORKS, "ask", True, False),
        (replace(RESUMES, spec=replace(RESUMES.spec, kind=Kind.EPHEMERAL)), "advise", False, False),
        (WORKS, "handoff", True, False), (replace(WORKS, spec=replace(WORKS.spec, seat="a")), "handoff", False, True),
        (replace(RESUMES, spec=replace(RESUMES.spec, seat="a")), "handoff", False, False),
        (RESUMES, "resume", True, False), (RESUMES, "park", True, False), (RESUMES, "go_on", True, False),
        (RESUMES, "lower_output", True, False),
    ],
)  # fmt: skip
def test_the_clinic_acts_between_two_runs_alone_and_asks_once_it_came_back(
    agent: Agent, treatment: Any, came_back: bool, possible: bool
) -> None:
    assert choosing.is_possible(agent, treatment, LASTING, came_back=came_back) is possible
    passing = replace(LASTING, cause="transient_error")
    lasts = treatment in ("advise", "handoff")
    assert choosing.is_possible(agent, treatment, passing, came_back=came_back) is (possible and lasts)


@pytest.mark.parametrize(
    ("cause", "confidence", "lasts"),
    [
        ("logic_error", 0.75, True), ("logic_error", 0.74, False), ("transient_error", 0.9, False), (None, 0.9, False),
        ("context_length_exceeded", 0.9, True),
    ],
)  # fmt: skip
def test_what_lasts_is_known_for_sure_and_does_not_pass(cause: Any, confidence: float, lasts: bool) -> None:
    assert choosing.is_lasting(replace(LASTING, cause=cause, confidence=confidence)) is lasts


@pytest.mark.parametrize(
    ("steps", "ladder"),
    [
        (("resume", "fresh", "ask", "abort"), ("resume", "fresh", "advise", "ask", "abort")),
        (("resume", "fresh"), ("resume", "fresh", "advise")), (("ask", "abort"), ("ask", "abort")),
        (("abort",), ("abort",)), (("advise", "resume", "ask"), ("advise", "resume", "ask")), ((), ()),
    ],
)  # fmt: skip
def test_the_next_run_is_told_the_facts_before_a_person_is_asked(steps: Any, ladder: tuple[str, ...]) -> None:
    assert choosing.ladder(replace(LASTING, treatments=steps)) == ladder


def test_what_was_tried_is_of_this_case_and_of_this_agent() -> None:
    done = tuple(
        Treated(number, agent, 1, treatment, "restart", 0.0, 0.0, outcome=came)  # type: ignore[arg-type]
        for number, (agent, treatment, came) in enumerate((
            ("a", "resume", "failed"), ("a", "fresh", "open"), ("a", "park", "held"), ("b", "ask", "failed"),
        ), 1)
    )  # fmt: skip
    case = Case("c1", "agent a", "k", None, "crash", "r", 0.3, "claude", 0.0, 0.0, ("a",), 1, done, 4)
    ordered = (Prescribed("c1", "a", 1, "advise", 0.0, 0.0), Prescribed("c2", "a", 1, "handoff", 0.0, 0.0),
               Prescribed("c1", "b", 1, "abort", 0.0, 0.0))  # fmt: skip

    assert choosing.tried(Cases(cases=(case,), prescribed=ordered), case, "a") == {"resume", "fresh", "advise"}
    assert choosing.has_come_back(case, "a")
    assert choosing.has_come_back(case, "b")
    assert not choosing.has_come_back(replace(case, treated=done[1:3]), "a")


def test_the_mildest_treatment_that_is_missing_is_chosen_once() -> None:
    def chosen(agent: Agent, *had: Any, came_back: bool = False) -> str | None:
        return choosing.choose(Fleet(), agent, LASTING, frozenset(had), came_back=came_back)

    assert chosen(RESUMES) is None, "the restart rules resume it"
    assert chosen(RESUMES, "resume") == "fresh"
    assert chosen(RESUMES, "resume", "fresh") == "advise"
    assert chosen(RESUMES, "resume", "summarise") == "advise", "a summary was a fresh session"
    assert chosen(RESUMES, "resume", "fresh", "advise") is None
    assert chosen(RESUMES, "resume", "fresh", "advise", came_back=True) == "ask"
    assert chosen(RESUMES, "resume", "fresh", "advise", "ask", came_back=True) == "abort"
    assert chosen(FRESH, "resume") is None, "a fresh session is begun as it is"
    assert chosen(WORKS, "resume") is None


def test_caps_count_a_case_for_ever_an_agent_for_six_hours_and_the_fleet_for_one() -> None:
    assert (AGENT_PERIOD, FLEET_PERIOD) == (21_600.0, 3600.0)
    at = 100_000.0
    caps = Caps(per_case=2, per_agent=3, per_fleet=4)

    def over(*ordered: tuple[str, str, float], case: str = "c1", agent: str = "a") -> str:
        found = tuple(Prescribed(of, whose, 1, "advise", 0.0, at - age) for of, whose, age in ordered)
        return choosing.over_a_cap(Cases(prescribed=found), case, agent, caps, at)

    assert over() == ""
    assert over(("c1", "b", 90_000.0)) == ""
    assert "per_case" in over(("c1", "b", 90_000.0), ("c1", "a", 0.0))
    old = ("c2", "a", AGENT_PERIOD)
    assert over(old, old, old) == ""
    assert "per_agent" in over(*[("c2", "a", AGENT_PERIOD - 1.0)] * 3)
    assert over(*[("c2", "b", FLEET_PERIOD)] * 4) == ""
    assert "per_fleet" in over(*[("c2", "b", FLEET_PERIOD - 1.0)] * 4)
    assert over(*[("c2", "b", FLEET_PERIOD - 1.0)] * 3) == ""


def test_of_an_end_that_says_nothing_the_restart_rules_are_the_judge() -> None:
    assert not choosing.is_lasting(diagnose(Evidence()))
