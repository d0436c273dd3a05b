"""Tasks whose workers meet an overload, a limit or a reboot, and the time of a task (C28, G60, F-PH-7)."""

from __future__ import annotations

import pytest

from phoenixd.core.events.fleet import LimitsDeclared, Rebooted
from phoenixd.core.rules import LimitRules
from phoenixd.core.spec import FleetLimits
from phoenixd.core.tasks.state import Outcome
from phoenixd.documents.hooks import hook_of
from tests.core.workers import Works, boss


def test_c28_a_task_whose_worker_met_an_overload_is_tried_soon_and_then_less_and_less_often() -> None:
    """As an agent that stays: after half a minute first, and doubled up to an hour (`limits.overload_wait`)."""
    works = Works()
    works.ask(tries=1)
    pauses, began = [], works.at
    for _ in range(8):
        works.begins("t1")
        name, number = works.worker("t1").name, works.worker("t1").incarnation
        works.tell(hook_of(name, number, "stop-failure", error="overloaded", text="529"))
        works.finishes("t1", 1, Outcome("failed", "the service is overloaded"))
        task = works.task("t1")
        assert (task.state, task.counted) == ("waiting", 0), task.why
        assert task.due is not None
        pauses.append(task.due - works.at)
        works.wait(pauses[-1] + 1)

    least = [30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3600.0]
    assert all(low <= pause <= 1.5 * low for low, pause in zip(least, pauses, strict=True)), pauses
    assert works.at - began > 2 * 3600, "an outage of two hours fails no task"
    works.finishes("t1", 1, Outcome("failed", "the service is overloaded"))
    assert works.states() == {"t1": "failed"}


def test_c28_a_worker_that_ends_with_0_after_an_overloaded_turn_counts_no_more_than_one_that_ends_with_1() -> None:
    """Some CLIs end with 0 either way (F-PROC-27); that the service had failed says nothing of the task (G60)."""
    works = Works()
    works.ask(tries=1)
    for number in range(1, 4):
        works.begins("t1")
        name, incarnation = works.worker("t1").name, works.worker("t1").incarnation
        works.tell(hook_of(name, incarnation, "stop-failure", error="overloaded", text="529"))
        works.finishes("t1", 0, Outcome("failed", "the service is overloaded"))
        task = works.task("t1")
        assert (task.state, task.spared) == ("waiting", number)
        assert "which does not count" in task.why
        assert task.due is not None
        works.wait(task.due - works.at + 1)


def test_a_task_whose_worker_did_much_before_each_overload_waits_longer_each_time_as_well() -> None:
    """Each run begins anew, so what was done in it is no reason to be quick."""
    works = Works(boss(limits=LimitRules(overload_wait=20.0, wait_max=70.0)))
    works.ask(tries=1)
    pauses = []
    for _ in range(3):
        works.begins("t1")
        name, number = works.worker("t1").name, works.worker("t1").incarnation
        works.tell(hook_of(name, number, "tool-start", tool="Bash", tool_use_id="x"))
        works.tell(hook_of(name, number, "tool-end", tool="Bash", tool_use_id="x"))
        works.tell(hook_of(name, number, "stop-failure", error="overloaded", text="529"))
        works.finishes("t1", 1, Outcome("failed"))
        task = works.task("t1")
        assert task.due is not None
        pauses.append(task.due - works.at)
        works.wait(pauses[-1] + 1)
    assert all(low <= pause <= 1.5 * low for low, pause in zip((20.0, 40.0, 70.0), pauses, strict=True)), pauses


def test_a_reboot_loses_no_task() -> None:
    works = Works()
    works.ask(tries=1)
    works.begins("t1")
    works.tell(Rebooted("other"))
    works.collected("t1", Outcome("open"))
    works.wait(11)
    assert (works.states(), works.task("t1").runs) == ({"t1": "running"}, 2)


def test_f_ph_7_a_worker_that_never_ends_is_ended_and_the_task_given_back() -> None:
    works = Works()
    works.ask(timeout=600.0)
    works.begins("t1")
    for _ in range(9):
        works.wait(60)
        works.tell(hook_of("shop-t1", 1, "tool-start", tool="Bash", tool_use_id="x"))
        works.tell(hook_of("shop-t1", 1, "tool-end", tool="Bash", tool_use_id="x"))
    assert works.states() == {"t1": "running"}
    works.wait(61)
    works.ends("t1", None, 15)
    works.collected("t1", Outcome("open"))
    assert works.states() == {"t1": "failed"}
    assert works.task("t1").why == "it took longer than 10 min (--timeout)"


@pytest.mark.parametrize(
    ("reset", "least", "most"),
    [
        (60.0, 90.0, 90.0), (600.0, 630.0, 630.0), (7200.0, 7230.0, 7230.0),
        # It came before what the worker left was collected: a moment is left to it as to any other.
        (-25.0, 10.0, 30.0),
        # Where none is named, it is as its agent says it.
        (None, 120.0, 180.0),
    ],
)  # fmt: skip
def test_g60_a_task_whose_worker_met_a_limit_goes_on_when_that_is_over_and_no_later(
    reset: float | None, least: float, most: float
) -> None:
    works = Works(boss(limits=LimitRules(wait=120.0)))
    works.ask(tries=1)
    works.begins("t1")
    until = works.wall + reset if reset is not None else None
    works.tell(hook_of("shop-t1", 1, "stop-failure", error="rate_limit", reset_wall=until))
    met = works.at
    works.finishes("t1", 1, Outcome("failed", "a limit"))

    task = works.task("t1")
    assert (task.state, task.spared) == ("waiting", 1)
    assert task.due is not None
    assert least <= task.due - met <= most


def test_the_time_of_a_task_stands_still_while_its_worker_waits_for_a_limit_or_for_its_start() -> None:
    works = Works()
    works.tell(LimitsDeclared(FleetLimits(max_starting=0)))
    works.ask(timeout=600.0)
    for _ in range(30):
        works.wait(60)
    assert (works.states(), works.worker("t1").state_name) == ({"t1": "running"}, "backing_off")
    works.tell(LimitsDeclared(FleetLimits()))
    works.wait(1)
    works.begins("t1")
    assert works.task("t1").due == works.now.at + 600.0
    works.wait(100)
    works.tell(hook_of("shop-t1", 1, "stop-failure", error="rate_limit"))
    assert works.worker("t1").parking is not None
    for _ in range(13):
        works.wait(60)
    assert (works.task("t1").state, works.task("t1").left) == ("running", 500.0)
    works.tell(hook_of("shop-t1", 1, "prompt-submit", prompt="Go on."))
    works.tell(hook_of("shop-t1", 1, "tool-start", tool="Bash", tool_use_id="x"))
    works.tell(hook_of("shop-t1", 1, "tool-end", tool="Bash", tool_use_id="x"))
    assert works.worker("t1").state_name == "running", works.worker("t1").reason
    assert works.task("t1").due == works.now.at + 500.0
    works.wait(501)
    works.ends("t1", None, 15)
    works.collected("t1", Outcome("open"))
    assert works.task("t1").why == "it took longer than 10 min (--timeout)"
