"""Promises 2 and 9: tasks and workers of an old journal begin once that is confirmed, and never twice."""

from __future__ import annotations

from phoenixd.core.actions import Spawn, Terminate
from phoenixd.core.behind.plan import ITEM_GAP
from phoenixd.core.behind.world import Trace, Wish, Word, World
from phoenixd.core.events.fleet import EpochBegun, JournalBehind, RecoveryConfirmed
from phoenixd.core.events.orders import StopRequested
from phoenixd.core.events.tasks import TaskCollected
from phoenixd.core.fleet import Fleet
from phoenixd.core.step import step
from phoenixd.core.tasks.state import Tasks
from tests.core.behind import NEW, NOW, OLD, told
from tests.core.workers import DONE, Works


def test_a_journal_that_is_old_or_new_gives_no_task_a_number_that_another_has_had() -> None:
    fleet = Fleet(tasks=Tasks(next=4))
    behind = step(fleet, JournalBehind("it is old", World("b", 4, 5)), NOW).fleet
    assert behind.tasks.next == 4 + ITEM_GAP
    # The same old copy comes back a second time: now only the directories tell.
    begun = step(behind, EpochBegun(5, tasks=20_007), NOW).fleet
    assert begun.tasks.next == 20_008
    assert step(begun, EpochBegun(6, tasks=3), NOW).fleet.tasks.next == 20_008


def put_back(works: Works, *traces: Trace, journal: int = 15) -> Works:
    """The journal of these tasks is an older copy now."""
    works.decisions.clear()
    shop = works.fleet.agents["shop"]
    traces = (Trace("shop", Wish("running", 18, shop.incarnation), incarnation=shop.incarnation), *traces)
    works.tell(JournalBehind("it is old", World("boot", journal, 20, traces), (shop.spec,)))
    return works


def begun(works: Works) -> list[str]:
    return [one.agent for one in works.of(Spawn) if one.agent != "shop"]


def test_promise_9_a_task_that_waits_in_an_old_journal_begins_once_that_is_confirmed() -> None:
    works = Works()
    works.ask()
    works.ask()
    works.ask(after=("t2",))
    put_back(works, Trace("shop-t1", Wish("running", 12, 1), "runs", OLD, OLD, 1))
    works.finishes("t1")
    works.wait(600)
    assert (works.states(), begun(works)) == ({"t1": "done", "t2": "waiting", "t3": "waiting"}, [])
    assert "phoenixctl recover" in works.task("t2").why
    assert "tasks that wait for you: t2, t3. Do: phoenixctl recover" in told(works.fleet)
    works.tell(RecoveryConfirmed())
    assert (begun(works), told(works.fleet)) == (["shop-t2"], "")
    works.finishes("t2")
    assert works.states()["t3"] == "running"


def test_promise_9_a_task_of_an_old_journal_that_is_canceled_is_not_proposed_any_more() -> None:
    works = Works()
    works.ask()
    works.ask()
    works.ask()
    put_back(works, Trace("shop-t1", None, "idle", None, OLD, 2))
    works.tell(StopRequested("shop"))
    works.cancel("t1")
    works.cancel("t2")
    assert "tasks that wait for you: t3. Do" in told(works.fleet)
    works.cancel("t3")
    assert (told(works.fleet), begun(works)) == ("", [])


def test_promise_9_a_worker_that_ran_in_an_old_journal_and_is_gone_begins_once_that_is_confirmed() -> None:
    works = Works()
    works.ask(tries=1)
    works.begins("t1")
    put_back(works, Trace("shop-t1", None, "idle", None, OLD, 2))
    works.wait(600)
    assert (works.states(), begun(works)) == ({"t1": "waiting"}, [])
    assert "tasks that wait for you: t1" in told(works.fleet)
    assert works.worker("t1").items == ()
    works.tell(RecoveryConfirmed())
    assert (works.states(), begun(works)) == ({"t1": "running"}, ["shop-t1"])
    works.finishes("t1", 1)
    assert works.task("t1").why.endswith("(run 1 of 1)")


def test_promise_2_a_worker_that_an_old_journal_does_not_know_is_adopted_and_none_starts_beside_it() -> None:
    works = Works()
    works.ask()
    works.ask()
    lives = Trace("shop-t2", Wish("running", 18, 3), "runs", NEW, NEW, 3)
    put_back(works, Trace("shop-t1", Wish("running", 12, 1), "runs", OLD, OLD, 1), lives)
    assert (works.states(), works.worker("t2").incarnation) == ({"t1": "running", "t2": "running"}, 3)
    works.finishes("t2")
    works.wait(600)
    assert (works.states()["t2"], begun(works), "declared by nobody" in told(works.fleet)) == ("done", [], False)


def test_promise_9_a_worker_that_was_stopped_since_stays_so_and_one_that_is_wanted_is_looked_for() -> None:
    cases: tuple[tuple[Word, str], ...] = (("stopped", "canceled"), ("running", "running"))
    for wish, state in cases:
        works = Works()
        works.ask()
        works.begins("t1")
        put_back(works, Trace("shop-t1", Wish(wish, 18, 2), "idle", None, NEW, 3))
        if state == "canceled":
            works.collected("t1")
        assert (works.states(), begun(works)) == ({"t1": state}, []), works.worker("t1").reason


def test_promise_9_what_is_collected_when_the_journal_is_put_back_is_not_begun_again_unasked() -> None:
    works = Works()
    works.ask()
    works.ends("t1", 1)
    put_back(works, Trace("shop-t1", Wish("stopped", 12, 1), "idle", None, OLD, 1))
    works.tell(TaskCollected("t1", 1, DONE))
    works.wait(600)
    assert (works.states(), begun(works)) == ({"t1": "waiting"}, [])
    assert "phoenixctl recover" in works.task("t1").why
    works.tell(RecoveryConfirmed())
    works.wait(600)
    assert begun(works) == ["shop-t1"]


def test_promise_2_a_later_run_of_a_task_that_an_old_journal_collects_is_not_ended_by_what_is_collected() -> None:
    works = Works()
    works.ask()
    works.ends("t1", 1)
    put_back(works, Trace("shop-t1", Wish("running", 18, 3), "runs", NEW, NEW, 3))
    works.tell(TaskCollected("t1", 1, DONE))
    works.wait(600)
    assert (works.states(), works.of(Terminate)) == ({"t1": "running"}, [])
    works.finishes("t1")
    assert works.states() == {"t1": "done"}
