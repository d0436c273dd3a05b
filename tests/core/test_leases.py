"""Leases of open calls, and the work that renews them, on their bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from phoenixd.core.agent.activity import Activity, Lease, OpenCall, WorkWatch
from phoenixd.core.agent.state import Running
from phoenixd.core.events.evidence import CallWorkSeen
from phoenixd.core.hooks import ToolStarted
from phoenixd.core.moment import Moment
from phoenixd.core.rules import LivenessRules
from phoenixd.core.turn import call_work, calls
from phoenixd.documents.hooks import hook_of
from tests.core.story import EPOCH, Story, claude

NOW = Moment(1_000.0, EPOCH)
RULES = LivenessRules(
    stale=100.0, check_interval=10.0, subagent_max=500.0, lease_slack=5.0, lease_max=300.0, busy_max=400.0
)
TASK = Lease("task", 1_010.0, 900.0, is_subagent=True, tool="Task", ticks=90)
CALL = Lease("t1", 950.0, 940.0, tool="Bash", command="make", ticks=94, most=1_050.0)


def started(**said: Any) -> ToolStarted:
    return cast(ToolStarted, hook_of("a", 1, "tool-start", **{"tool": "Bash", "tool_use_id": "t9", **said}))


@pytest.mark.parametrize(
    ("said", "until", "most"),
    [
        ({}, 1_000.0, 1_400.0),
        ({"lease": 60.0}, 1_065.0, 1_065.0),
        ({"lease": 300.0}, 1_305.0, 1_305.0),
        ({"lease": 301.0}, 1_305.0, 1_305.0),
        ({"limit": 50.0}, 1_000.0, 1_055.0),
        ({"is_subagent_call": True}, 1_100.0, 1_400.0),
        ({"is_subagent_call": True, "lease": 20.0}, 1_025.0, 1_025.0),
    ],
)
def test_a_call_may_be_silent_for_as_long_as_it_declares_and_a_subagents_as_long_as_silence_may_last(
    said: dict[str, Any], until: float, most: float
) -> None:
    (lease,) = calls.begin((), started(**said), RULES, NOW)

    assert (lease.until, lease.most, lease.started, lease.declared) == (until, most, 1_000.0, said.get("lease"))
    assert (lease.tool, lease.is_subagent, lease.sub) == ("Bash", "is_subagent_call" in said, False)


def test_a_call_that_begins_again_takes_its_own_place_and_of_too_many_the_newest_stay() -> None:
    (again,) = calls.begin((replace(CALL, tool_use_id="t9"),), started(ticks=99), RULES, NOW)
    assert (again.started, again.ticks) == (1_000.0, 99)
    both = calls.begin((replace(CALL, tool_use_id="t9", sub=True),), started(), RULES, NOW)
    assert [lease.sub for lease in both] == [True, False]
    many = tuple(replace(CALL, tool_use_id=f"n{number}") for number in range(calls.MAX_LEASES))
    assert calls.begin(many, started(), RULES, NOW)[:-1] == many[1:]
    (cut,) = calls.begin((), started(command=" make \n" + "x" * calls.MAX_COMMAND), RULES, NOW)
    assert (cut.command[:6], len(cut.command)) == ("make x", calls.MAX_COMMAND)


def test_a_beginning_that_is_told_again_is_known_by_call_and_ticks() -> None:
    leases = (replace(CALL, tool_use_id="t9", ticks=7),)

    assert calls.is_known(leases, started(ticks=7))
    assert not calls.is_known(leases, started(ticks=8))
    assert not calls.is_known(leases, started(ticks=7, sub=True))
    assert not calls.is_known(leases, started(ticks=7, tool_use_id="t8"))
    assert not calls.is_known((replace(CALL, tool_use_id="t9", ticks=None),), started())


def test_a_subagent_that_works_renews_the_task_calls_alone_and_not_beyond_their_time() -> None:
    works = Activity(True, 950.0, EPOCH, leases=(TASK, CALL))
    heard = calls.hear_subagent(works, hook_of("a", 1, "subagent-start", sub=True), RULES, NOW)
    assert heard == replace(works, leases=(replace(TASK, until=1_100.0), CALL))
    late = replace(NOW, at=1_350.0)
    assert calls.hear_subagent(works, started(sub=True), RULES, late).leases[0].until == 1_400.0
    own = calls.hear_subagent(works, started(sub=True, lease=60.0), RULES, NOW).leases[-1]
    assert (own.sub, own.until, own.most) == (True, 1_065.0, 1_065.0)
    own = calls.hear_subagent(works, started(sub=True, lease=200.0), RULES, late).leases[-1]
    assert (own.until, own.most) == (1_400.0, 1_400.0), "no longer than the Task call may take"
    nobody = replace(works, leases=(CALL,))
    assert calls.hear_subagent(nobody, started(sub=True), RULES, NOW) == nobody
    ended = calls.hear_subagent(
        replace(works, leases=(TASK, replace(CALL, sub=True))),
        hook_of("a", 1, "tool-end", tool="Bash", tool_use_id="t1", sub=True), RULES, NOW,
    )  # fmt: skip
    assert [lease.tool_use_id for lease in ended.leases] == ["task"]


def test_a_call_that_could_not_begin_for_so_long_has_all_of_its_time_later() -> None:
    assert calls.put_off(CALL, 7.0) == replace(CALL, until=957.0, started=947.0, most=1_057.0)


WATCH = WorkWatch(94, 980.0, cpu=3.0, io=1_000, processes=1, unread=0, asked=995.0)
ENOUGH = call_work.IO_ENOUGH


@pytest.mark.parametrize(
    ("cpu", "io", "works"),
    [(5.0, 1_000, True), (4.99, 1_000, False), (3.0, 1_000 + 2 * ENOUGH, True), (3.0, 999 + 2 * ENOUGH, False)],
)
def test_work_renews_a_call_where_it_is_enough_for_the_time_since_the_last_look(
    cpu: float, io: int, works: bool
) -> None:
    """Two intervals lie between the looks, so that twice as much is wanted."""
    sub = replace(CALL, tool_use_id="t2", is_subagent=True)
    unknown = replace(CALL, tool_use_id="t3", ticks=None)
    activity = Activity(True, 900.0, EPOCH, leases=(sub, unknown, CALL), work=WATCH)
    heard = call_work.hear(activity, CallWorkSeen("a", 1, 94, cpu, io, 2, 1), RULES, NOW).part

    assert heard.work == WorkWatch(94, 1_000.0, cpu, io, 2, 1, None, 1_000.0 if works else None)
    assert heard.leases == (sub, unknown, replace(CALL, until=1_050.0 if works else 950.0))


def test_a_look_soon_after_another_wants_as_much_work_as_a_whole_interval() -> None:
    soon = Activity(True, 900.0, EPOCH, leases=(CALL,), work=replace(WATCH, at=999.0, worked=990.0))
    for cpu, worked in ((3.99, 990.0), (4.0, 1_000.0)):
        heard = call_work.hear(soon, CallWorkSeen("a", 1, 94, cpu, 1_000), RULES, NOW)
        assert heard.part.work is not None
        assert heard.part.work.worked == worked
        assert heard.weight == "noise", "that it works was told before"
    for watch in (None, replace(WATCH, asked=None), replace(WATCH, ticks=93)):
        other = replace(soon, work=watch)
        assert call_work.hear(other, CallWorkSeen("a", 1, 94, 99.0, 0), RULES, NOW).part == other


def test_what_is_told_of_the_call_in_which_a_run_ended_is_its_newest_and_how_long_that_was_idle() -> None:
    state = Story(claude()).works().agent.state
    assert isinstance(state, Running)
    older = replace(CALL, tool_use_id="t0", command="sleep", ticks=90)

    def told(*leases: Lease, work: WorkWatch | None = None) -> OpenCall | None:
        activity = replace(state.activity, leases=leases, work=work)
        return call_work.open_call(replace(state, activity=activity), 100.0, NOW)

    assert told() is None
    assert told(older, CALL) == OpenCall("Bash", "make", 60.0)
    assert told(older, CALL, work=replace(WATCH, worked=950.06)) == OpenCall("Bash", "make", 60.0, idle=49.9, over=True)
    assert told(CALL, work=replace(WATCH, worked=900.0)) == OpenCall("Bash", "make", 60.0, idle=100.0)
    assert told(CALL, work=replace(WATCH, ticks=1, worked=950.0)) == OpenCall("Bash", "make", 60.0)
    assert told(CALL, work=WATCH) == OpenCall("Bash", "make", 60.0)
    watched = replace(
        state, activity=replace(state.activity, leases=(CALL,), work=replace(WATCH, cpu=3.456, worked=950.06))
    )
    assert call_work.readings(watched, NOW) == (
        ("call_cpu", 3.46), ("call_io", 1_000), ("call_processes", 1), ("call_unreadable", 0),
        ("call_looked_at", 20.0), ("call_worked", 49.9),
    )  # fmt: skip
    quiet = replace(watched, activity=replace(watched.activity, work=replace(WATCH, at=980.04)))
    assert call_work.readings(quiet, NOW)[-2:] == (("call_looked_at", 20.0), ("call_worked", None))
    assert call_work.readings(replace(state, activity=replace(state.activity, work=WATCH)), NOW) == ()
