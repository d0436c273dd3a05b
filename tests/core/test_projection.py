"""What every face shows: groups, the seed's public status, activity, ages and the inbox."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import condition
from phoenixd.core.agent.state import Parked
from phoenixd.core.condition import SIGNS, group, public_status
from phoenixd.core.events.orders import StartRequested, StopRequested
from phoenixd.core.events.runs import AgentVanished
from phoenixd.core.fleet import Fleet
from phoenixd.core.inbox import inbox
from phoenixd.core.limits.state import Limits, Parking, ParkingKind
from phoenixd.core.projection import project, row
from phoenixd.core.rules import RestartPolicy, RestartRules
from phoenixd.core.spec import FleetLimits, Kind
from phoenixd.documents.hooks import hook_of
from tests.core.handing import STEPS_BEFORE_FENCE, at
from tests.core.story import EPOCH, Story, claude, spec


def never_started() -> Story:
    return Story()


def queued() -> Story:
    story = Story(spec("z"), spec("a"), limits=FleetLimits(max_starting=1))
    story.tell(StartRequested("a"))
    story.start()
    return story


def starting() -> Story:
    story = Story()
    story.start()
    return story


def starting_after_a_death() -> Story:
    return Story().lives(1, 1).respawned()


def in_a_turn() -> Story:
    return Story(claude()).works()


def idle() -> Story:
    story = Story(claude()).works()
    story.hook("stop")
    return story


def asking() -> Story:
    story = Story(claude()).works()
    story.hook("permission-request", tool="Bash", text="npm publish")
    return story


def stopping() -> Story:
    story = Story(claude()).works()
    story.stop()
    return story


def hung() -> Story:
    story = Story(claude()).works()
    story.wait(900)
    return story


def vanished() -> Story:
    story = Story(claude()).works()
    story.tell(AgentVanished("a", 1))
    return story


def crashed() -> Story:
    return Story().lives(1, 1).respawned().lives(1, 1)


def quarantined() -> Story:
    return Story().lives(1, 127)


def ended_by_itself() -> Story:
    return Story().lives(60, 0)


def ended_by_ctrl_c() -> Story:
    return Story().lives(60, 130)


def stopped_by_the_operator() -> Story:
    story = stopping()
    story.exited(143)
    return story


def stopped_while_quarantined() -> Story:
    story = quarantined()
    story.stop()
    return story


def crashed_and_never_restarted() -> Story:
    return Story(spec(restart=RestartRules(policy=RestartPolicy.NEVER))).lives(60, 1)


def between_iterations() -> Story:
    return Story(spec(kind=Kind.LOOP)).lives(60, 0)


def iteration_crashed() -> Story:
    return Story(spec(kind=Kind.LOOP)).lives(1, 1).respawned().lives(1, 1)


def command() -> Story:
    return Story().runs()


@pytest.mark.parametrize(
    ("situation", "shown", "word", "status"),
    [
        (never_started, "resting", None, "idle"),
        (queued, "healing", None, "idle"),
        (starting, "working", None, "idle"),
        (starting_after_a_death, "healing", None, "idle"),
        (in_a_turn, "working", "working", "working"),
        (idle, "resting", "idle", "idle"),
        (asking, "needs_you", "waiting", "working"),
        (stopping, "healing", None, "idle"),
        (hung, "healing", None, "error"),
        # P69: a dead process overrules the hooks, P71 and X9: without a word of its end that is an error.
        (vanished, "unknown", "working", "error"),
        (crashed, "healing", None, "error"),
        (quarantined, "needs_you", None, "error"),
        (ended_by_itself, "resting", None, "idle"),
        (ended_by_ctrl_c, "resting", None, "idle"),
        (stopped_by_the_operator, "resting", None, "idle"),
        (stopped_while_quarantined, "resting", None, "idle"),
        # X9: dead without a restart is an error, so that nobody reads it as finished.
        (crashed_and_never_restarted, "resting", None, "error"),
        (between_iterations, "working", None, "idle"),
        (iteration_crashed, "healing", None, "error"),
        (command, "working", None, "working"),
    ],
)
def test_p69_p71_x9_group_activity_and_public_status(situation, shown: str, word: str | None, status: str) -> None:
    story = situation()
    agent = story.agent
    assert (group(agent), condition.activity_word(agent), public_status(agent)) == (shown, word, status)


def test_an_agent_that_is_parked_rests() -> None:
    story = never_started()
    limits = Limits(Parking(ParkingKind.LIMIT, EPOCH + 60, 0.0, "a limit"))
    agent = replace(story.agent, state=Parked(), limits=limits)
    assert (group(agent), public_status(agent)) == ("resting", "idle")
    shown = row(agent, story.now)
    assert (shown.parked_until, shown.due) == (EPOCH + 60, 60)


def test_a_row_tells_state_reason_and_ages() -> None:
    story = asking()
    story.pass_over(40)
    shown = row(story.agent, story.now)
    assert (shown.state, shown.pid, shown.mode, shown.incarnation) == ("running", 100, "fresh", 1)
    assert shown.waiting_for == "permission (Bash npm publish)"
    assert shown.evidence_age == 40
    assert shown.last_evidence == EPOCH
    assert shown.hooks == "ok"
    assert shown.item is not None


def test_the_session_is_shown_also_of_one_that_is_down_and_none_of_one_that_has_none() -> None:
    story = Story(claude()).works()
    session = story.run.session_id
    assert row(story.agent, story.now).session_id == session
    story.stop()
    story.exited(143)
    assert story.agent.run is None
    assert row(story.agent, story.now).session_id == session, "it is what a start resumes"
    assert row(never_started().agent, story.now).session_id is None


def test_without_evidence_there_is_no_age() -> None:
    shown = row(command().agent, command().now)
    assert (shown.last_evidence, shown.evidence_age, shown.hooks) == (None, None, "none")


def test_f_hb_7_hooks_that_do_not_come_are_missing_after_a_minute() -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.pass_over(60)
    assert row(story.agent, story.now).hooks == "none"
    story.pass_over(1)
    assert row(story.agent, story.now).hooks == "missing"


def test_a_row_counts_down_to_what_is_due() -> None:
    story = crashed()
    assert row(story.agent, story.now).due == 0.5
    story = stopping()
    story.pass_over(2)
    assert row(story.agent, story.now).due == 3


def test_restarts_count_incarnations_after_the_first() -> None:
    story = Story(spec(restart=RestartRules(max_crashes=9)))
    for restarts in range(5):
        story.lives(1, 1).respawned()
        assert row(story.agent, story.now).restarts == restarts + 1


def test_rows_come_in_the_order_of_names_and_groups_have_signs() -> None:
    story = Story(spec("b"), spec("a"), spec("c"))
    assert [shown.name for shown in project(story.fleet, story.now)] == ["a", "b", "c"]
    assert sorted(SIGNS.values()) == sorted("!~*.?")


def test_the_inbox_is_oldest_first() -> None:
    story = Story(claude("a"), claude("b"))
    for name in ("b", "a"):
        story.tell(StartRequested(name))
        story.tell(hook_of(name, 1, "permission-request", tool="Bash"))
        story.pass_over(1)
    assert [(item.agent, item.id) for item in inbox(story.fleet)] == [("b", 1), ("a", 2)]
    assert inbox(Fleet()) == ()


def test_a_loop_that_rests_after_a_good_iteration_is_well_and_one_that_crashed_or_never_ran_is_not() -> None:
    assert condition.is_between_iterations(between_iterations().agent)
    for other in (iteration_crashed, crashed, never_started, in_a_turn):
        assert not condition.is_between_iterations(other().agent), other.__name__


@pytest.mark.parametrize("step", STEPS_BEFORE_FENCE)
def test_a_seat_whose_handoff_goes_on_without_its_holder_heals_and_does_not_rest(step: str) -> None:
    """Newcomer's list, 20: the predecessor's terminal was lost, and the successor has minutes left."""
    story = at(step)
    story.exits("o", None, 9, cause="terminal_lost")
    (row,) = project(story.fleet, story.now)
    assert (row.name, row.state, row.group, row.is_succeeded) == ("o", "stopped", "healing", True)
    assert row.step == f"handoff: {story.step}"
    story.tell(StopRequested("o"))
    (row,) = project(story.fleet, story.now)
    assert (row.state, row.group, row.is_succeeded) == ("stopped", "resting", False)
