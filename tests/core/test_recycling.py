"""Exit 100 and 101 ask for a fresh start, and are no crash."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from phoenixd.core import restart
from phoenixd.core.actions import MeasureWork, Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Quarantined, Running, Starting
from phoenixd.core.events.work import MeasurementLost
from phoenixd.core.handoff.state import Step
from phoenixd.core.rules import BreakerRules
from phoenixd.core.spec import Kind
from phoenixd.core.tasks.state import Task, Tasks
from tests.core.handing import HandoffStory, orchestrator
from tests.core.story import Story, claude, spec

# E: exit 100 and 101 ask for a fresh start, and are no crash.


@pytest.mark.parametrize("code", [100, 101])
@pytest.mark.parametrize("kind", ["resident", "orchestrator", "ephemeral", "loop"])
def test_exit_100_and_101_are_a_fresh_start_with_the_brief_and_no_crash(kind: str, code: int) -> None:
    story = Story(claude(kind=Kind(kind))).works()
    first = story.spawn.session_id
    story.hook("tool-end", tool="Bash")
    story.hook("stop")
    story.pass_over(60)
    story.exited(code)
    story.respawned()
    assert story.agent.crashes == ()
    assert story.spawn.mode is Mode.FRESH
    assert story.spawn.session_id != first
    assert story.spawn.prompt is (PromptKind.GOAL if kind == "loop" else PromptKind.CONTINUE)
    assert any("asks to be recycled" in reason for reason in story.reasons)


def test_a_session_that_asked_to_be_recycled_is_never_gone_back_to() -> None:
    story = Story(claude(kind=Kind.ORCHESTRATOR)).works()
    first = story.spawn.session_id
    story.exited(100)
    story.respawned()
    story.stop()
    story.exited(143)
    story.start()
    assert first not in [spawn.session_id for spawn in story.of(Spawn)[1:]]


def test_who_asks_to_be_recycled_within_moments_waits_each_time_also_where_it_has_something_to_show() -> None:
    story = Story(claude()).works()
    story.hook("tool-end", tool="Bash")
    story.hook("stop")
    story.pass_over(1)
    story.exited(100)
    assert isinstance(story.state, BackingOff)
    assert story.state.until - story.at >= restart.HOST_RETRY


def test_who_does_nothing_but_ask_to_be_recycled_is_slowed_down_and_given_up() -> None:
    """A Rust program that panics exits with 101 as well."""
    story = Story(spec())
    waits = []
    while not isinstance(story.state, Quarantined):
        story.lives(1, 101)
        waits.append(story.state.until - story.at if isinstance(story.state, BackingOff) else 0.0)
        if not isinstance(story.state, Quarantined):
            story.respawned()
    assert len(story.of(Spawn)) == 8
    assert waits[0] == 0.0
    assert waits[2:6] == sorted(waits[2:6])
    assert waits[5] > 1


def test_each_end_of_who_only_asks_to_be_recycled_is_told_with_how_many_of_how_many_in_what_time() -> None:
    story = Story(spec())
    told = []
    while not isinstance(story.state, Quarantined):
        story.lives(1, 101)
        told.append(next(dict(one.readings) for one in reversed(story.decisions) if one.readings))
        if not isinstance(story.state, Quarantined):
            story.respawned()
    assert [one["unproductive"] for one in told] == list(range(1, 9))
    assert {one["restart.max_unproductive"] for one in told} == {story.agent.spec.restart.max_unproductive}
    assert "within" not in told[0]
    assert 0 < told[1]["within"] < told[-1]["within"]  # type: ignore[operator]
    assert story.state.cause.startswith("exit 101 asks to be recycled; 8 runs in a row ended within ")


def goes_round(story: Story, end: str = "stop") -> None:
    """One run that does its turn well, some minutes long, and asks to be recycled."""
    story.works()
    story.hook("tool-end", tool="Bash")
    story.hook(end)
    story.pass_over(600)
    story.exited(100)
    if isinstance(story.state, BackingOff):
        story.respawned()


@pytest.mark.parametrize("kind", ["resident", "orchestrator", "ephemeral", "loop"])
def test_who_asks_to_be_recycled_for_ever_and_changes_nothing_is_stopped_by_the_breaker(kind: str) -> None:
    story = Story(claude(kind=Kind(kind)))
    story.work = "git:the same"
    rounds = 0
    while not isinstance(story.state, Quarantined) and rounds < 50:
        goes_round(story)
        rounds += 1
    assert isinstance(story.state, Quarantined)
    assert rounds <= 6
    assert "without progress, the limit is 5" in story.state.cause
    assert "breaker" in story.alerts()


@pytest.mark.parametrize("kind", ["resident", "orchestrator", "loop"])
def test_who_changes_something_before_it_asks_to_be_recycled_goes_on_for_ever(kind: str) -> None:
    story = Story(claude(kind=Kind(kind)))
    for _ in range(100):
        goes_round(story)
    assert isinstance(story.state, Starting)


def test_one_changed_work_in_four_recycled_runs_is_enough_to_go_on() -> None:
    story = Story(claude())
    for number in range(40):
        story.work = f"git:{number // 4}"
        goes_round(story)
    assert isinstance(story.state, Starting)


@pytest.mark.parametrize("work", [None, "late"])
def test_who_is_recycled_where_nobody_can_tell_what_it_changed_goes_on(work: str | None) -> None:
    story = Story(claude())
    story.work = work
    for _ in range(30):
        goes_round(story)
    assert isinstance(story.state, Starting)
    assert "breaker" not in story.alerts()


def test_what_a_person_asked_for_between_two_recycled_runs_never_counts_against_it() -> None:
    story = Story(claude())
    story.work = "git:the same"
    for _ in range(30):
        story.works()
        story.hook("stop")
        story.hook("prompt-submit", text="What do you think of it?")
        story.hook("stop")
        story.pass_over(600)
        story.exited(101)
        story.respawned()
    assert isinstance(story.state, Starting)


def test_a_start_after_the_breaker_stopped_recycled_runs_is_a_trial() -> None:
    story = Story(claude())
    story.work = "git:the same"
    for _ in range(6):
        goes_round(story)
    assert isinstance(story.state, Quarantined)
    story.start()
    goes_round(story)
    assert isinstance(story.state, Quarantined)
    assert "the trial brought no progress either" in story.state.cause
    story.start()
    story.work = "git:another"
    goes_round(story)
    assert isinstance(story.state, Starting)
    assert story.agent.breaker.name == "CLOSED"


def test_where_the_breaker_is_off_recycled_runs_are_not_judged() -> None:
    story = Story(claude(breaker=BreakerRules(enabled=False)))
    story.work = "git:the same"
    for _ in range(30):
        goes_round(story)
    assert isinstance(story.state, Starting)
    assert story.of(MeasureWork) == []


def test_a_measurement_lost_with_the_daemon_is_ordered_again_before_the_next_run_begins() -> None:
    story = Story(claude())
    story.work = "late"
    story.works()
    story.hook("stop")
    story.pass_over(600)
    story.exited(100)
    asked = len(story.of(MeasureWork))
    story.work = "new"
    story.tell(MeasurementLost("a"))
    assert len(story.of(MeasureWork)) == asked + 1
    assert isinstance(story.state, Starting)


def test_f_ho_21_a_seat_whose_generations_ask_for_one_another_and_change_nothing_is_stopped() -> None:
    story = HandoffStory(orchestrator(project="shop"))
    story.work = "git:the same"
    story.works()
    rounds = 0
    while not isinstance(story.agent.state, Quarantined) and rounds < 20:
        rounds += 1
        old = story.seat.holder
        story.hook_of(old, "tool-end", tool="Bash")
        story.hook_of(old, "stop")
        story.pass_over(1200)
        story.exits(old, 100)
        if isinstance(story.agent.state, Quarantined):
            break
        story.wait(1)
        assert story.step is Step.SPAWN, story.reasons[-3:]
        new = f"o-g{story.seat.generation + 1}"
        story.started_of(new)
        story.ack(new)
        assert story.seat.holder == new
    assert isinstance(story.agent.state, Quarantined)
    assert rounds <= 6
    assert "recycled runs without progress, the limit is 5" in story.agent.state.cause


@pytest.mark.parametrize("state", ["waiting", "done"])
def test_who_is_recycled_while_a_task_of_its_is_open_or_after_one_was_done_goes_on(
    state: Literal["waiting", "done"],
) -> None:
    story = Story(claude(kind=Kind.ORCHESTRATOR))
    story.work = "git:the same"
    story.works()
    one = Task("t-1", "t-1", asked_by="a", state=state, doubted=True, told="told")
    for _ in range(12):
        task = replace(one, since_wall=story.wall + 1)
        story.fleet = replace(story.fleet, tasks=Tasks(2, (task,)) if state == "waiting" else Tasks(2, ended=(task,)))
        story.hook("tool-end", tool="Bash")
        story.hook("stop")
        story.pass_over(600)
        story.exited(100)
        story.respawned()
        story.works()
    assert isinstance(story.state, Running)
