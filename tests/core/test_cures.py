"""What proves an alert over: the rule of each, on both sides of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import LostJobs
from phoenixd.core.agent.run import Deaf, Disproved, LastExit
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import Desired, Quarantined, Running, Starting, Stopped
from phoenixd.core.alert_kinds import cures
from phoenixd.core.merit import Record
from phoenixd.core.resonance.state import Resonance
from tests.core.resonating import resonant
from tests.core.story import Story, claude, spec

WORKS = Story(claude()).works().agent
"""Its first run works, and hooks tell of it."""
LATER = 0
"""The alert of an earlier run than the present one."""
Cure = Callable[[StandingAlert, Agent], bool]


def standing(incarnation: int = 1, **changes: Any) -> StandingAlert:
    return StandingAlert(7, "kind", "text", 5.0, incarnation, **changes)


def down(agent: Agent = WORKS) -> Agent:
    return replace(agent, state=Stopped(), desired=Desired.STOPPED)


def of_run(agent: Agent = WORKS, **changes: Any) -> Agent:
    assert isinstance(agent.state, Running)
    return replace(agent, state=replace(agent.state, run=replace(agent.state.run, **changes)))


def ended(incarnation: int, at: float, *, again: bool = False) -> Agent:
    """Its newest end was that of this run. again: the next one works."""
    end = LastExit(incarnation, None, 9, "exit", 60.0, at)
    return replace(
        of_run(incarnation=incarnation + 1) if again else RESTS, last_exit=end, incarnation=incarnation + again
    )


RESTS = replace(WORKS, state=Stopped())
"""Down, and wanted all the same: its next start is due."""
GIVEN_UP = replace(WORKS, state=Quarantined("crashes"))
STARTS = replace(WORKS, state=Starting(WORKS.state.run, WORKS.state.activity, 30.0))  # type: ignore[union-attr]
MARKED = replace(Story(resonant()).works().agent, resonance=Resonance(state="intact"))
LOST, STEADY, DIED = LostJobs(1, ("x",), 5.0), Record(lives=(300.0,) * 5), Record(died=True)
BROKEN = Resonance(state="lost")
PORTS = replace(WORKS, spec=replace(WORKS.spec, cleanup=replace(WORKS.spec.cleanup, ports=(80,))))
PLAIN = Story(spec()).works().agent

CASES: list[tuple[Cure, Agent, int, bool]] = [
    (cures.is_taken_up, GIVEN_UP, 1, False), (cures.is_taken_up, WORKS, 1, True),
    (cures.is_another_run, WORKS, 1, False), (cures.is_another_run, WORKS, 2, True),
    (cures.is_another_run, RESTS, 1, True),
    (cures.has_run_its_course, WORKS, 1, False), (cures.has_run_its_course, WORKS, 2, True),
    (cures.has_run_its_course, ended(1, at=6.0), 1, True), (cures.has_run_its_course, ended(1, at=5.0), 1, False),
    (cures.has_run_its_course, ended(1, at=5.0, again=True), 1, False),
    (cures.has_run_its_course, ended(2, at=5.0), 1, True),
    (cures.has_run_its_course, down(ended(1, at=5.0)), 1, True),
    (cures.has_no_ports, PORTS, 1, False), (cures.has_no_ports, WORKS, 1, True),
    # A prompt that came after all; else a later run that works, or nobody who wants one.
    (cures.was_told, of_run(prompt_seen=False), 1, False), (cures.was_told, of_run(prompt_seen=True), 1, True),
    (cures.was_told, of_run(prompt_seen=False, evidence=True), LATER, True),
    (cures.was_told, of_run(prompt_seen=True, evidence=False), LATER, False),
    (cures.was_told, RESTS, 1, False), (cures.was_told, down(), 1, True),
    (cures.is_made_good, WORKS, 1, True), (cures.is_made_good, replace(WORKS, lost=LOST), 1, False),
    (cures.is_made_good, down(replace(WORKS, lost=LOST)), 1, True),
    (cures.is_made_good, replace(RESTS, lost=LOST), 1, False),
    (cures.is_made_good, replace(WORKS, desired=Desired.STOPPED, lost=LOST), 1, False),
    (cures.reports, replace(WORKS, hooks_seen=False), 1, False),
    (cures.reports, replace(WORKS, hooks_seen=True), 1, True),
    (cures.reports, replace(RESTS, hooks_seen=False), 1, True),
    (cures.is_linked, of_run(deaf=Deaf(5.0, 5.0, "silent")), 1, False), (cures.is_linked, WORKS, 1, True),
    (cures.is_linked, RESTS, 1, True),
    (cures.is_productive_later, WORKS, 1, False), (cures.is_productive_later, WORKS, LATER, True),
    (cures.is_productive_later, replace(WORKS, record=DIED), LATER, False),
    (cures.is_productive_later, down(replace(WORKS, record=DIED)), 1, True),
    (cures.is_productive_later, GIVEN_UP, 1, True), (cures.is_productive_later, RESTS, 1, False),
    (cures.is_unsteady, WORKS, 1, True), (cures.is_unsteady, replace(WORKS, record=STEADY), 1, False),
    (cures.is_unsteady, down(replace(WORKS, record=STEADY)), 1, True),
    (cures.is_back, GIVEN_UP, 1, True), (cures.is_back, down(), 1, True), (cures.is_back, RESTS, LATER, False),
    (cures.is_back, of_run(evidence=True), LATER, True), (cures.is_back, of_run(evidence=True), 1, False),
    # The operator who stopped it wants to know what may be left.
    (cures.works_again, down(), LATER, False), (cures.works_again, of_run(evidence=False), LATER, False),
    (cures.works_again, of_run(PLAIN, evidence=False), LATER, True), (cures.works_again, PLAIN, 1, False),
    (cures.works_again, replace(STARTS, state=replace(STARTS.state, run=of_run(evidence=False).run)), LATER, False),
    (cures.is_verified, MARKED, 1, True), (cures.is_verified, replace(MARKED, resonance=BROKEN), 1, False),
    (cures.is_verified, replace(MARKED, resonance=Resonance(state="intact", lost="no seed")), 1, False),
    (cures.is_verified, down(replace(MARKED, resonance=BROKEN)), 1, True),
    (cures.is_verified, replace(MARKED, resonance=None), 1, True),
    (cures.is_verified, replace(PLAIN, resonance=BROKEN), 1, True),
    (cures.is_checked, replace(MARKED, resonance=BROKEN), 1, False),
    (cures.is_checked, replace(MARKED, resonance=BROKEN), 2, True),
    (cures.is_checked, MARKED, 1, True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cure", "agent", "incarnation", "is_over"),
    [pytest.param(*case, id=f"{case[0].__name__}-{number}") for number, case in enumerate(CASES)],
)
def test_an_alert_is_over_once_its_trouble_is_and_not_before(
    cure: Cure, agent: Agent, incarnation: int, is_over: bool
) -> None:
    assert cure(standing(incarnation), agent) is is_over


def test_a_report_is_corrected_once_none_of_the_claims_that_were_told_stands() -> None:
    told = standing(about=("task t1",))
    assert cures.is_corrected(told, WORKS)
    assert cures.is_corrected(told, replace(WORKS, disproved=(Disproved("task t2", ("x",), 5.0),)))
    both = (Disproved("task t2", ("x",), 5.0), Disproved("task t1", ("y",), 6.0))
    assert not cures.is_corrected(told, replace(WORKS, disproved=both))


def test_an_agent_waits_out_a_limit_while_it_runs_or_is_parked_and_in_no_other_state() -> None:
    story = Story(claude()).works()
    limits = replace(WORKS.limits, parking=object())  # type: ignore[arg-type]
    for state, waits in ((WORKS.state, True), (STARTS.state, False), (Stopped(), False), (GIVEN_UP.state, False)):
        assert (replace(story.agent, state=state, limits=limits).parking is not None) is waits, state.name
