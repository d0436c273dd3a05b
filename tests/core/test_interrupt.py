"""Ctrl-C at a loop's terminal is a person's word, and elsewhere a failed iteration (G42, F-PROC-5)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from phoenixd.core.actions import SeeAttendance, Spawn
from phoenixd.core.agent.state import BackingOff, Desired, Parked, Starting, Stopped
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.aftermath import AttendanceSeen
from phoenixd.core.events.orders import AgentWithdrawn
from phoenixd.core.interrupt import ANSWER_WITHIN, hear
from phoenixd.core.rules import LoopRules
from phoenixd.core.spec import Kind
from phoenixd.core.treatment.case import Cases
from phoenixd.documents.codec import decode, encode
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude, spec

ENDS = [(130, None), (None, 2)]


def interrupted(code: int | None, signal: int | None, pause: float = 10.0) -> Story:
    story = Story(spec(kind=Kind.LOOP, loop=LoopRules(pause=pause)))
    return story.lives(20, code, signal)


@pytest.mark.parametrize(("code", "signal"), ENDS)
def test_with_somebody_attached_it_means_stop_and_is_an_item(code: int | None, signal: int | None) -> None:
    story = interrupted(code, signal)
    assert story.of(SeeAttendance) == [SeeAttendance("a", 1)]
    story.tell(AttendanceSeen("a", 1, True))
    assert isinstance(story.state, Stopped)
    assert story.agent.desired is Desired.STOPPED
    item = story.agent.item
    assert item is not None
    assert (item.kind, item.answer_by) == ("stopped", "command")
    story.wait(24 * 3600)
    assert len(story.of(Spawn)) == 1
    story.stop()
    assert story.agent.item is None, "who stops it has read it"
    story.start()
    assert isinstance(story.state, Starting)


def test_a_person_who_stops_it_at_its_terminal_ends_the_count_of_its_crashes() -> None:
    story = Story(spec(kind=Kind.LOOP)).lives(2, 1).respawned()
    story.lives(2, 130)
    assert story.agent.crashes
    story.tell(AttendanceSeen("a", 2, True))

    assert isinstance(story.state, Stopped)
    assert story.agent.crashes == ()


def test_a_member_whose_next_run_waits_for_that_word_is_left_out_as_well() -> None:
    for turn_of in (None, "rotation"):
        story = interrupted(130, None)
        agent = replace(story.agent, spec=replace(story.agent.spec, turn_of=turn_of))
        after = hear(agent, AttendanceSeen("a", 1, True), Seen(agent, Decision(agent)), story.now).agent
        assert after is not None
        assert (after.left_out, after.desired) == (turn_of is not None, Desired.STOPPED)


def test_what_the_terminal_said_before_an_order_is_not_heard_again_after_it() -> None:
    story = Story(spec(kind=Kind.LOOP, turn_of="rotation")).lives(20, 130)
    story.tell(AttendanceSeen("a", 1, True))
    assert story.agent.left_out
    story.stop()
    before = story.agent
    story.tell(AttendanceSeen("a", 1, True))
    assert story.agent == before


@pytest.mark.parametrize("attended", [False, None])
@pytest.mark.parametrize(("code", "signal"), ENDS)
def test_with_nobody_there_it_is_a_failed_iteration(
    code: int | None, signal: int | None, attended: bool | None
) -> None:
    story = interrupted(code, signal)
    story.tell(AttendanceSeen("a", 1, attended))
    assert "a failed iteration" in story.reasons[-1]
    assert len(story.agent.crashes) == 1
    story.respawned()
    assert story.agent.item is None


def test_once_the_terminal_has_answered_it_is_waited_for_no_longer() -> None:
    story = interrupted(130, None)
    assert isinstance(story.state, BackingOff)
    assert story.state.unattended is not None
    story.tell(AttendanceSeen("a", 1, False))
    assert isinstance(story.state, BackingOff)
    assert story.state.unattended is None


@pytest.mark.parametrize("pause", [0.0, 1.0, 10.0])
def test_the_next_iteration_waits_for_that_word_and_not_for_ever(pause: float) -> None:
    story = interrupted(130, None, pause)
    assert isinstance(story.state, BackingOff)
    assert story.state.until == story.at + max(pause, ANSWER_WITHIN)
    told = Story(spec(kind=Kind.LOOP, loop=LoopRules(pause=pause))).lives(20, 130)
    told.tell(AttendanceSeen("a", 1, False))
    assert isinstance(told.state, Starting if pause == 0 else BackingOff)
    story.wait(max(pause, ANSWER_WITHIN))
    assert isinstance(story.state, Starting)
    story.tell(AttendanceSeen("a", 1, True))
    assert isinstance(story.state, Starting), "too late: the next iteration has begun"


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.LOOP])
def test_f_proc_5_other_kinds_stay_down_without_a_question(kind: Kind) -> None:
    story = Story(spec(kind=kind)).lives(20, 130)
    assert isinstance(story.state, Stopped)
    assert story.of(SeeAttendance) == []
    assert story.agent.item is None


def test_an_iteration_that_we_ended_is_asked_about_by_nobody() -> None:
    story = Story(spec(kind=Kind.LOOP)).runs()
    story.restart()
    story.exited(130)
    assert story.of(SeeAttendance) == []


@pytest.mark.parametrize("met_by", ["itself", "a peer before", "a peer between"])
def test_a_limit_that_parks_the_loop_takes_the_persons_word_from_nobody(met_by: str) -> None:
    story = Story(claude(kind=Kind.LOOP, account="team"), claude("b", account="team"))
    for name in ("b", "a"):
        story.fleet = replace(story.fleet, agents={name: story.fleet.agents[name], **story.fleet.agents})
        story.works()

    def meets(name: str) -> None:
        story.tell(hook_of(name, 1, "stop-failure", error="rate_limit", reset_wall=story.wall + 3600))

    if met_by != "a peer between":
        meets("a" if met_by == "itself" else "b")
    story.exited(130)
    if met_by == "a peer between":
        meets("b")
    assert isinstance(story.state, Parked)
    assert story.of(SeeAttendance) == [SeeAttendance("a", 1)]
    story.tell(AttendanceSeen("a", 1, True))
    assert isinstance(story.state, Stopped)
    assert story.agent.item is not None
    story.wait(2 * 3600)
    assert story.agent.incarnation == 1


def test_a_parked_loop_at_whose_terminal_nobody_sat_goes_on_when_the_limit_is_over() -> None:
    story = Story(claude(kind=Kind.LOOP)).works()
    story.hook("stop-failure", error="rate_limit", reset_wall=story.wall + 3600)
    story.exited(130)
    story.tell(AttendanceSeen("a", 1, False))
    assert isinstance(story.state, Parked)
    story.wait(3600 + 60)
    assert story.agent.incarnation == 2


def of_cases(story: Story) -> list[tuple[str, int]]:
    return [(one.detail, one.incidents) for one in story.fleet.cases.cases]


@pytest.mark.parametrize(("code", "signal"), ENDS)
def test_an_end_that_turns_out_a_persons_is_no_case(code: int | None, signal: int | None) -> None:
    """The clinic called it a crash, for it judged before the terminal had answered."""
    story = interrupted(code, signal)
    assert of_cases(story) == []
    assert decode(Cases, json.loads(json.dumps(encode(story.fleet.cases)))) == story.fleet.cases
    story.tell(AttendanceSeen("a", 1, True))
    story.wait(3600)
    assert of_cases(story) == []
    assert story.fleet.cases.unsure == ()
    assert story.fleet.cases.patient("a") is None


@pytest.mark.parametrize("attended", [False, None])
def test_an_end_with_nobody_there_is_a_case_once_the_terminal_has_said_so(attended: bool | None) -> None:
    story = interrupted(130, None)
    story.tell(AttendanceSeen("a", 1, attended))
    assert [incidents for _, incidents in of_cases(story)] == [1]
    story.tell(AttendanceSeen("a", 1, True))
    assert len(of_cases(story)) == 1
    assert story.fleet.cases.unsure == ()


def test_an_end_whose_terminal_never_answers_is_a_case_as_the_next_run_begins() -> None:
    story = interrupted(130, None, pause=1.0)
    story.wait(ANSWER_WITHIN + 1)
    assert isinstance(story.state, Starting)
    (case,) = story.fleet.cases.cases
    assert (case.incidents, [one.incarnation for one in case.treated]) == (1, [1])
    assert story.fleet.cases.unsure == ()


def test_an_order_before_the_terminal_has_answered_leaves_the_case_of_the_end() -> None:
    story = interrupted(130, None)
    story.start()
    assert len(of_cases(story)) == 1
    story.tell(AttendanceSeen("a", 1, True))
    assert len(of_cases(story)) == 1


def test_what_was_done_before_comes_to_nothing_that_can_be_told_where_a_person_ends_the_next_run() -> None:
    story = Story(spec(kind=Kind.LOOP)).lives(2, 1).respawned()
    story.lives(2, 130)
    story.tell(AttendanceSeen("a", 2, True))
    (case,) = story.fleet.cases.cases
    assert (case.incidents, [one.outcome for one in case.treated]) == (1, ["moot"])


def test_a_removal_forgets_an_end_that_the_terminal_was_asked_about() -> None:
    story = interrupted(130, None)
    assert len(story.fleet.cases.unsure) == 1
    story.tell(AgentWithdrawn("a"))
    assert story.fleet.cases.unsure == ()
