"""Tasks: asked for, queued, begun by a worker of their own, and canceled (E53 to E58, E86, F-PH-5)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import Release, Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events.fleet import LimitsDeclared, Tick
from phoenixd.core.events.orders import RestartRequested, StartRequested, StopRequested
from phoenixd.core.fleet import Fleet
from phoenixd.core.rules import RestartPolicy
from phoenixd.core.spec import FleetLimits, Kind
from phoenixd.core.tasks import queue
from phoenixd.core.tasks.names import is_reserved, worker_name
from phoenixd.core.tasks.state import MOST_OPEN, JobRules, Outcome, Tasks
from phoenixd.core.tasks.worker import worker_of
from phoenixd.documents.codec import decode, encode
from tests.core.story import spec
from tests.core.workers import Works, boss


def test_e53_e56_a_task_is_a_worker_of_its_own_that_begins_fresh_and_goes_when_it_is_done() -> None:
    works = Works()
    works.ask("Write the schema.", asked_by="shop", project="shop", plan="3")
    spawn = works.of(Spawn)[-1]
    worker = works.worker("t1")
    assert (worker.name, worker.spec.kind, worker.spec.prompt) == ("shop-t1", Kind.EPHEMERAL, "Write the schema.")
    assert (spawn.agent, spawn.mode, spawn.prompt) == ("shop-t1", Mode.FRESH, PromptKind.GOAL)
    assert (worker.spec.restart.policy, worker.spec.task, worker.spec.autostart) == (RestartPolicy.NEVER, "t1", False)
    assert works.states() == {"t1": "running"}

    works.ends("t1")
    assert works.states() == {"t1": "collecting"}
    assert "shop-t1" in works.fleet.agents, "its transcript is found by the agent"
    works.collected("t1")
    assert works.states() == {"t1": "done"}
    assert "shop-t1" not in works.fleet.agents
    assert Release("shop-t1") in works.actions


def test_e53_a_worker_takes_no_turns_whoever_asks_for_it() -> None:
    assert worker_of(boss("shop", turn_of="builder"), "shop-t1", "t1", "Write the schema.").turn_of is None


def test_e58_at_once_counts_the_fleet_and_the_next_one_begins_when_one_is_collected() -> None:
    works = Works(boss("shop"), boss("bank", cwd="/srv/bank"), boss("mill", cwd="/srv/mill"))
    for name in ("shop", "bank", "mill"):
        works.ask(spec=works.fleet.agents[name].spec, asked_by=name)
    assert works.states() == {"t1": "running", "t2": "running", "t3": "waiting"}
    assert "2 workers run: t1, t2 ([jobs] at_once = 2)" in works.task("t3").why
    works.ends("t1")
    assert works.states()["t3"] == "waiting", "what it left is still being read"
    works.collected("t1")
    assert works.states() == {"t1": "done", "t2": "running", "t3": "running"}


def test_a_changed_at_once_holds_at_once() -> None:
    works = Works()
    for place in "abc":
        works.ask(spec=replace(works.agent.spec, cwd=f"/srv/{place}"))
    works.tell(LimitsDeclared(FleetLimits(), JobRules(at_once=3)))
    assert list(works.states().values()) == ["running"] * 3


def test_one_writing_worker_in_a_workspace_and_readers_beside_it() -> None:
    works = Works()
    works.tell(LimitsDeclared(FleetLimits(), JobRules(at_once=8)))
    works.ask()
    works.ask()
    works.ask(writes=False)
    works.ask(spec=replace(works.agent.spec, cwd="/srv/other"))
    assert works.states() == {"t1": "running", "t2": "waiting", "t3": "running", "t4": "running"}
    assert works.task("t2").why == "t1 writes in /srv/shop: one writing worker at a time"
    works.finishes("t1")
    assert works.states()["t2"] == "running"


def test_one_workspace_under_two_names_is_one_workspace() -> None:
    works = Works()
    works.ask(place="/srv/shop")
    works.ask(spec=replace(works.agent.spec, cwd="/home/x/shop"), place="/srv/shop")
    assert works.states() == {"t1": "running", "t2": "waiting"}


def test_e86_dependencies_are_kept_and_what_cannot_follow_any_more_is_given_back() -> None:
    works = Works()
    works.ask()
    works.ask(after=("t1",), writes=False)
    works.ask(after=("t2",), writes=False)
    assert works.task("t2").why == "after t1, which is running"
    works.finishes("t1")
    assert works.states() == {"t1": "done", "t2": "running", "t3": "waiting"}
    works.cancel("t2")
    works.ends("t2", None, 15)
    works.collected("t2")
    assert works.states() == {"t1": "done", "t2": "canceled", "t3": "failed"}
    assert "t2, which it was to follow, is canceled" in works.task("t3").why


@pytest.mark.parametrize(
    ("after", "code", "words"),
    [(("t9",), "not_found", "there is no task t9"), (("t1",), "conflict", "t1 is failed, and nothing can follow it")],
)
def test_f_ph_5_what_cannot_come_about_is_refused(after: tuple[str, ...], code: str, words: str) -> None:
    """A task follows only what was asked for before it, so there is no circle."""
    works = Works()
    works.ask(tries=1)
    works.finishes("t1", 3)
    refusal = works.ask(after=after)
    assert refusal is not None
    assert (refusal.code, words in refusal.message, works.states()) == (code, True, {"t1": "failed"})


def test_a_task_of_the_plan_is_in_one_hand() -> None:
    works = Works()
    works.ask(project="shop", plan="4")
    refusal = works.ask(project="shop", plan="4")
    assert refusal is not None
    assert refusal.message == "task 4 of the plan of shop is in hand already: t1"
    assert works.ask(project="bank", plan="4") is None
    works.finishes("t1")
    assert works.ask(project="shop", plan="4") is None


@pytest.mark.parametrize(("phase", "refused"), [("phase-01-till-part2", True), ("phase-02-till", False)])
def test_a_task_of_a_plan_that_was_split_is_in_one_hand_too(phase: str, refused: bool) -> None:
    works = Works()
    works.ask(project="shop", plan="4", phase="phase-01-till")
    assert (works.ask(project="shop", plan="4", phase=phase) is not None) == refused


def test_the_same_request_with_its_key_is_one_task_also_after_it_has_ended() -> None:
    works = Works()
    works.ask(key="k", tries=1)
    works.ask(key="k")
    works.finishes("t1")
    works.ask(key="k")
    assert works.states() == {"t1": "done"}


def test_no_more_than_so_many_wait() -> None:
    works = Works()
    for _ in range(MOST_OPEN):
        assert works.ask() is None
    refusal = works.ask()
    assert refusal is not None
    assert refusal.code == "conflict"


def test_cancel_ends_what_runs_and_what_waits_and_says_what_is_over() -> None:
    works = Works()
    works.ask()
    works.ask()
    assert works.cancel("t2") is None
    assert works.states() == {"t1": "running", "t2": "canceled"}
    works.begins("t1")
    assert works.cancel("t1") is None
    refused = works.cancel("t1")
    assert refused is not None
    assert refused.message == "t1 is being ended already"
    works.ends("t1", None, 15)
    works.collected("t1", Outcome("open"))
    assert works.states() == {"t1": "canceled", "t2": "canceled"}
    again, missing = works.cancel("t1"), works.cancel("t9")
    assert again is not None
    assert missing is not None
    assert (again.code, missing.code) == ("conflict", "not_found")


def test_a_worker_runs_when_its_task_says_so_and_an_operators_stop_cancels_the_task() -> None:
    works = Works()
    works.ask()
    works.begins("t1")
    for order in (StartRequested("shop-t1"), RestartRequested("shop-t1")):
        refusal = works.tell(order)
        assert refusal is not None
        assert refusal.message == "shop-t1 is the worker of task t1"
    works.tell(StopRequested("shop-t1"))
    works.ends("t1", None, 15)
    works.collected("t1", Outcome("open"))
    assert works.states() == {"t1": "canceled"}


def test_the_fleet_of_a_daemon_that_comes_back_goes_on_from_what_was_saved() -> None:
    works = Works()
    works.ask(asked_by="shop")
    works.ask(asked_by="shop")
    works.ends("t1")
    saved = decode(Tasks, encode(works.fleet.tasks))
    assert saved == replace(works.fleet.tasks, open=tuple(replace(one) for one in works.fleet.tasks.open))
    assert decode(Tasks, {}) == Tasks(), "an older journal knows of none"
    works.fleet = replace(works.fleet, tasks=saved)
    works.wait(121)
    works.collected("t1")
    assert works.states() == {"t1": "done", "t2": "running"}


def test_the_tasks_are_counted_once_for_all_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    works = Works()
    for number in range(98):
        works.ask(writes=False, after=(f"t{number}",) if number > 90 else ())
    made: list[queue.Others] = []
    count = queue.others
    monkeypatch.setattr(queue, "others", lambda *given: made.append(count(*given)) or made[-1])
    works.tell(Tick())
    assert len(made) == 1
    works.cancel("t98")
    assert works.states()["t97"] == "waiting"


def test_a_fleet_without_tasks_needs_no_tick_for_them() -> None:
    assert next_deadline(Fleet(), Works().now) is None
    works = Works()
    works.ask(timeout=60.0)
    works.finishes("t1")
    assert next_deadline(works.fleet, works.now) is None


def test_names_of_workers_are_reserved_and_fit() -> None:
    longest = "o" * 32
    assert [worker_name("shop", 7), len(worker_name(longest, 123456))] == ["shop-t7", 32]
    assert all(map(is_reserved, ("shop-t7", worker_name(longest, 1))))
    assert not any(map(is_reserved, ("shop", "t7", "shop-t", "shop-t7-x")))


def test_an_agent_that_has_a_workers_name_since_before_is_left_alone() -> None:
    works = Works(boss(), spec("shop-t1"))
    works.ask()
    assert works.states() == {"t1": "failed"}
    assert "shop-t1" in works.fleet.agents
