"""An exit code that tells what the API answered is decided as that failure of a turn (F-PROC-26, G60, F-HO-1)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core import exits
from phoenixd.core.actions import Spawn
from phoenixd.core.agent.run import LastExit, Mode
from phoenixd.core.agent.state import BackingOff, Parked, Quarantined, Starting, Stopped
from phoenixd.core.causes import EndCause
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, ShimLost
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.spec import Kind
from phoenixd.core.tasks.state import Outcome
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude, spec
from tests.core.workers import Works, boss

DAY = 173
"""429, modulo 256."""


def gemini(kind: Kind = Kind.RESIDENT, name: str = "a", **changes: Any) -> Story:
    """In the turn that it was started with."""
    return Story(spec(name, kind=kind, harness="gemini", prompt="Build the shop.", **changes)).works()


def worked(kind: Kind = Kind.RESIDENT) -> Story:
    """In its second turn: it has done something."""
    story = gemini(kind)
    story.hook("tool-start", tool="Bash", tool_use_id="t1")
    story.hook("tool-end", tool="Bash", tool_use_id="t1")
    return story


def filled(story: Story, tokens: int) -> None:
    assert story.agent.session is not None
    session_id = story.agent.session.session_id
    story.tell(UsageSeen("a", story.run.incarnation, tokens, 200_000, "transcript", story.wall, session_id))


def waited_out(story: Story) -> Story:
    """At work again, once what it was parked for is over."""
    for _ in range(1000):
        if not isinstance(story.state, Parked):
            break
        story.wait(30.0)
    assert isinstance(story.state, Starting), story.agent.reason
    return story.works()


@pytest.mark.parametrize("kind", [Kind.RESIDENT, Kind.LOOP])
def test_f_proc_26_g60_a_quota_told_by_the_exit_code_parks_and_counts_nothing(kind: Kind) -> None:
    story = gemini(kind)
    story.work = "git:same"
    for turn in range(8):
        story.wait(6.0)
        story.exited(DAY)
        assert isinstance(story.state, Parked), f"{turn}: {story.agent.reason}"
        assert "exit 173 (status 429) tells of a limit" in story.agent.reason
        assert (story.agent.crashes, story.agent.short_runs) == ((), 0)
        assert story.agent.last_exit is not None
        assert story.agent.last_exit.limited
        waited_out(story)

    tally = story.agent.breaker.tally
    assert (tally.no_progress, tally.same_error) == (0, 0), "a limit is no iteration without progress"
    assert story.alerts() == []


def test_g60_the_turn_that_a_quota_ended_is_gone_on_with_though_its_hook_called_it_ended() -> None:
    """The Gemini CLI tells the end of a refused turn as that of a good one."""
    story = worked()
    story.hook("stop")
    story.exited(DAY)

    assert story.agent.session is not None
    assert story.agent.session.turn_open


def test_f_proc_26_e59_a_quota_counts_nothing_against_a_task() -> None:
    works = Works(boss(harness="gemini"))
    works.ask(tries=1)
    works.finishes("t1", DAY, Outcome("failed"))

    task = works.task("t1")
    assert (task.state, task.counted) == ("waiting", 0), task.why


def test_f_proc_26_each_quota_in_a_row_is_waited_out_for_longer() -> None:
    story, waits = gemini(), []
    for _ in range(3):
        story.exited(DAY)
        assert story.agent.parking is not None
        waits.append(story.agent.parking.until_wall - story.wall)
        waited_out(story)

    assert waits[0] < waits[1] < waits[2]


@pytest.mark.parametrize("code", [244, 247])
def test_f_proc_26_a_service_that_failed_by_the_exit_code_is_asked_less_and_less_often(code: int) -> None:
    story = gemini()
    for _ in range(6):
        story.exited(code)
        assert isinstance(story.state, Parked), story.agent.reason
        assert "tells of a service that failed" in story.agent.reason
        waited_out(story)

    assert story.agent.crashes == ()
    assert story.alerts() == ["outage"], "once, at the fifth in a row"


def test_f_proc_26_who_shares_the_account_waits_with_it() -> None:
    story = Story(*(spec(name, harness="gemini", prompt="Go.", account="team") for name in "ab")).works()
    story.tell(StartRequested("b"))
    other = story.fleet.agents["b"].run
    assert other is not None
    story.tell(AgentStarted("b", other.incarnation, other.run_id, 101, 1010))
    story.exited(DAY)
    story.tell(AgentExited("b", other.incarnation, other.run_id, 1, None))

    assert isinstance(story.fleet.agents["b"].state, Parked), "it died, and is not started into the limit"


@pytest.mark.parametrize(("code", "kind"), [(145, "login"), (147, "login"), (146, "billing"), (41, "login")])
@pytest.mark.parametrize("shim_lost", [False, True])
def test_f_proc_26_a_login_or_a_bill_told_by_the_exit_code_asks_a_person_at_once(
    code: int, kind: str, shim_lost: bool
) -> None:
    story = gemini()
    if shim_lost:
        story.tell(ShimLost("a", 1))
    story.exited(code)

    assert isinstance(story.state, Quarantined)
    assert f"exit {code}" in story.agent.reason
    assert kind in story.agent.reason
    assert story.agent.crashes == ()
    assert (story.alerts(), [item.kind for item in story.agent.items]) == (["quarantined"], ["quarantined"])


@pytest.mark.parametrize("kind", [Kind.RESIDENT, Kind.LOOP])
def test_f_ho_1_a_refused_request_in_a_full_context_goes_fresh_and_never_back_into_it(kind: Kind) -> None:
    story = worked(kind)
    filled(story, 190_000)
    story.exited(144)

    assert "its context is full (95.0% of the window)" in "; ".join(story.reasons)
    assert story.agent.crashes == ()
    spawn = story.respawned().spawn
    assert (spawn.incarnation, spawn.mode) == (2, Mode.FRESH)


def test_f_ho_1_after_three_full_sessions_in_a_row_a_person_is_called() -> None:
    story = worked()
    for _ in range(3):
        filled(story, 190_000)
        story.exited(144)
        if isinstance(story.state, BackingOff):
            story.respawned()
        if isinstance(story.state, Starting):
            story.works()

    assert isinstance(story.state, Quarantined), story.agent.reason
    assert "3 sessions in a row were full" in story.agent.reason
    assert len(story.of(Spawn)) == 3


@pytest.mark.parametrize("code", [144, 157, 1])
def test_the_same_code_with_room_left_is_a_death_as_before(code: int) -> None:
    story = worked()
    filled(story, 100_000)
    story.exited(code)

    assert story.agent.parking is None
    assert len(story.agent.crashes) == 1


def test_f_proc_26_the_code_of_a_cli_that_tells_no_status_is_a_death() -> None:
    story = Story(spec(harness="claude", prompt="Build the shop.")).works()
    story.exited(DAY)

    assert story.agent.parking is None
    assert len(story.agent.crashes) == 1


def test_a_run_that_was_stopped_stays_stopped_whatever_its_code_says() -> None:
    story = gemini()
    story.stop()
    story.exited(DAY)

    assert isinstance(story.state, Stopped)


@pytest.mark.parametrize(
    ("code", "failure"),
    [(173, "limit"), (145, "login"), (147, "login"), (146, "billing"), (144, "request"), (157, "request"),
     (244, "overload"), (247, "overload"), (41, "login"), (1, ""), (0, ""), (53, ""), (None, "")],
)  # fmt: skip
def test_what_a_code_tells_of_a_turn(code: int | None, failure: str) -> None:
    assert exits.failure_of("gemini", _end(code)) == failure
    assert exits.failure_of("claude", _end(code)) == ""
    assert exits.failure_of("gemini", _end(code, cause="hung")) == ""


def _end(code: int | None, cause: EndCause = "exit") -> LastExit:
    return LastExit(1, code, None, cause, 1.0, 0.0)


def _limited(works: Works, name: str, ahead: float) -> None:
    """The worker's transcript told of a limit before its end was told."""
    worker = works.worker(name)
    if isinstance(worker.state, Starting):
        works.begins(name)
        worker = works.worker(name)
    assert worker.run is not None
    works.tell(
        TurnFailed(
            worker.name, worker.run.incarnation, text="try again at 2:00 PM", error="rate_limit", failure="limit",
            reset_wall=works.wall + ahead,
        )
    )  # fmt: skip


@pytest.mark.parametrize(("ahead", "waits"), [(4 * 3600.0, 4 * 3600.0), (40.0, 70.0)])
def test_f_proc_26_a_task_whose_worker_met_a_limit_waits_until_that_is_over(ahead: float, waits: float) -> None:
    """It was tried every 15 minutes, and failed once five runs had met the same limit."""
    works = Works(boss(harness="codex"))
    works.ask(tries=1)
    for _ in range(4):
        _limited(works, "t1", ahead)
        works.finishes("t1", 1, Outcome("failed"))
        task = works.task("t1")
        assert (task.state, task.counted) == ("waiting", 0), task.why
        assert task.due is not None
        assert waits - 60 < task.due - works.at < waits + 60
        works.wait(task.due - works.at + 1)
        assert works.task("t1").state == "running"


def test_f_proc_26_a_worker_at_its_limit_parks_all_that_share_the_account() -> None:
    works = Works(boss(harness="codex", account="team"), claude("peer", account="team"))
    works.tell(StartRequested("peer"))
    run = works.fleet.agents["peer"].run
    assert run is not None
    works.tell(AgentStarted("peer", run.incarnation, run.run_id, 7, 70))
    works.tell(hook_of("peer", run.incarnation, "session-start", session_id=run.session_id, source="startup"))
    works.tell(hook_of("peer", run.incarnation, "prompt-submit", text="Build the shop."))
    works.tell(hook_of("peer", run.incarnation, "stop"))
    works.ask(tries=1)
    _limited(works, "t1", 7200.0)
    works.finishes("t1", 1, Outcome("failed"))

    peer = works.fleet.agents["peer"]
    assert peer.parking is not None, peer.reason
    assert peer.parking.until_wall >= works.wall + 7000
