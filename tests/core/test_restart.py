"""What follows a death: stay down, restart when, or give up (design section 3; X4, 4.4, 4.5)."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from phoenixd.core import restart
from phoenixd.core.actions import Alert, Spawn
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import BackingOff, Desired, Quarantined, Running, Starting, Stopped
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.runs import AgentVanished, ShimLost, StartFailed
from phoenixd.core.facts import RunEnded
from phoenixd.core.moment import measured
from phoenixd.core.rules import LoopRules, RestartPolicy, RestartRules
from phoenixd.core.spec import Kind
from tests.core.story import Story, claude, spec

STAYS, AGAIN, GIVES_UP = Stopped, BackingOff | Starting, Quarantined


def policy(name: str, **changes: Any) -> RestartRules:
    return RestartRules(policy=RestartPolicy(name), **changes)


@pytest.mark.parametrize(
    ("kind", "code", "is_told"),
    [("resident", 0, True), ("resident", 130, False), ("resident", 1, False), ("orchestrator", 0, False),
     ("ephemeral", 0, False), ("loop", 0, False)],
)  # fmt: skip
def test_f_proc_10_a_start_that_failed_by_an_end_with_0_names_the_kind_of_a_job(
    kind: str, code: int, is_told: bool
) -> None:
    story = Story(spec(kind=Kind(kind), restart=policy("on-failure", max_crashes=1))).lives(3, code)

    assert ("--kind ephemeral" in story.agent.reason) == is_told, story.agent.reason
    assert restart.may_be_a_job(story.agent.spec, story.agent.last_exit) == is_told


@pytest.mark.parametrize(
    ("kind", "rule", "lived", "code", "signal", "becomes"),
    [
        # P53, F-PROC-2: exit 0 is an agent's own end, and what that means is a matter of its kind (X4).
        ("resident", "on-failure", 60, 0, None, STAYS),
        ("orchestrator", "on-failure", 60, 0, None, STAYS),
        ("ephemeral", "on-failure", 60, 0, None, STAYS),
        ("loop", "on-failure", 60, 0, None, AGAIN),
        # Kinds that end by design may do so at once; for the others it is a crash (F-PROC-10).
        ("ephemeral", "on-failure", 0.2, 0, None, STAYS),
        ("loop", "on-failure", 0.2, 0, None, AGAIN),
        ("resident", "on-failure", 9.9, 0, None, AGAIN),
        ("resident", "on-failure", 10, 0, None, STAYS),
        ("orchestrator", "on-failure", 9.9, 0, None, AGAIN),
        # F-PROC-5: an operator's Ctrl-C is clean, as 130 and as the signal.
        ("resident", "on-failure", 60, 130, None, STAYS),
        ("resident", "on-failure", 60, None, 2, STAYS),
        # X4: 137 and 143 are crashes unless a stop was asked for; so is every other code, and no code at all.
        ("resident", "on-failure", 60, 137, None, AGAIN),
        ("resident", "on-failure", 60, 143, None, AGAIN),
        ("resident", "on-failure", 60, None, 9, AGAIN),
        ("resident", "on-failure", 60, 1, None, AGAIN),
        ("resident", "on-failure", 60, None, None, AGAIN),
        ("ephemeral", "on-failure", 60, 1, None, AGAIN),
        # A program's own 124 or 125 (timeout, docker run) is an exit like any other.
        ("resident", "on-failure", 60, 124, None, AGAIN),
        ("loop", "on-failure", 60, 125, None, AGAIN),
        # E: an orchestrator asks to be recycled; for the others 100 and 101 are failures.
        ("orchestrator", "on-failure", 60, 100, None, AGAIN),
        ("orchestrator", "on-failure", 60, 101, None, AGAIN),
        # F-PROC-9: a command that cannot run is not tried again.
        ("resident", "on-failure", 0.1, 127, None, GIVES_UP),
        ("resident", "on-failure", 0.1, 126, None, GIVES_UP),
        ("loop", "on-failure", 0.1, 127, None, GIVES_UP),
        ("resident", "always", 60, 0, None, AGAIN),
        ("resident", "always", 60, 1, None, AGAIN),
        ("ephemeral", "always", 60, 0, None, STAYS),
        ("resident", "never", 60, 0, None, STAYS),
        ("resident", "never", 60, 1, None, STAYS),
        ("resident", "never", 1, 0, None, STAYS),
        ("resident", "never", 400, None, 9, STAYS),
        ("orchestrator", "never", 60, 100, None, STAYS),
        ("loop", "never", 60, 0, None, AGAIN),
        ("loop", "never", 60, 1, None, STAYS),
    ],
)
def test_x4_an_end_means_what_the_kind_and_the_policy_say(
    kind: str, rule: str, lived: float, code: int | None, signal: int | None, becomes: Any
) -> None:
    story = Story(spec(kind=Kind(kind), restart=policy(rule))).lives(lived, code, signal)
    assert isinstance(story.state, becomes), story.agent.reason
    # One word for one thing: a failed start is one that was never executed, as `since` counts it.
    assert "failed start" not in story.agent.reason
    assert story.agent.desired is (Desired.STOPPED if becomes is STAYS else Desired.RUNNING)


def test_p53_exit_zero_stays_down_for_ever() -> None:
    """F-PROC-5."""
    story = Story().lives(60, 0)
    story.wait(7 * 24 * 3600)
    assert isinstance(story.state, Stopped)
    assert len(story.of(Spawn)) == 1


def test_p55_a_crash_is_restarted_at_once() -> None:
    story = Story().lives(60, signal=9)
    assert isinstance(story.state, Starting)
    assert story.run.incarnation == 2


def test_f_proc_8_five_crashes_in_half_an_hour_are_the_end_and_one_alert() -> None:
    story = Story()
    for _ in range(4):
        story.lives(20, 1).respawned()
    story.lives(20, 1)
    assert isinstance(story.state, Quarantined)
    story.wait(24 * 3600)
    assert len(story.of(Spawn)) == 5
    assert story.alerts() == ["quarantined"]
    assert "5 crashes" in story.agent.reason
    assert story.agent.item is not None
    assert story.agent.item.kind == "quarantined"


def test_p59_the_window_slides_so_that_old_crashes_are_forgotten() -> None:
    story = Story(spec(restart=RestartRules(productive=600, max_unproductive=0)))
    for _ in range(40):
        # Four crashes in any half hour, for hours.
        story.lives(500, 1).respawned()
    assert len(story.agent.crashes) == 4


def test_p59_crashes_just_outside_the_period_do_not_count() -> None:
    rules = RestartRules(max_crashes=2, period=100.0)
    story = Story(spec(restart=rules)).lives(50, 1)
    story.runs()
    story.pass_over(100)
    story.exited(1)
    assert isinstance(story.state, Starting)
    story.lives(99.9, 1)
    assert isinstance(story.state, Quarantined)


def test_p59_a_productive_run_clears_the_history() -> None:
    story = Story()
    for _ in range(4):
        story.lives(1, 1).respawned()
    story.lives(300, 1)
    assert isinstance(story.state, Starting)
    assert story.agent.crashes == ()
    story.lives(1, 1)
    assert isinstance(story.state, Starting)


@pytest.mark.parametrize("lived", [299.9, 300.0])
def test_a_run_of_five_minutes_is_no_crash(lived: float) -> None:
    story = Story().lives(lived, 1)
    assert len(story.agent.crashes) == (1 if lived < 300 else 0)


@pytest.mark.parametrize(
    ("crashes", "ceiling"), [(1, 0), (2, 1), (3, 2), (4, 4), (6, 16), (10, 256), (11, 300), (99, 300)]
)
def test_4_5_backoff_doubles_from_one_second_to_three_hundred_with_full_jitter(crashes: int, ceiling: float) -> None:
    rules = RestartRules()
    assert restart.backoff(rules, crashes, 0.0) == 0.0
    assert restart.backoff(rules, crashes, 0.5) == ceiling / 2
    assert restart.backoff(rules, crashes, 1.0) == ceiling


def test_the_second_crash_waits_and_the_first_does_not() -> None:
    story = Story().lives(1, 1)
    assert isinstance(story.state, Starting)
    story.lives(1, 1)
    assert isinstance(story.state, BackingOff)
    assert story.state.until == story.at + 0.5
    story.wait(0.4)
    assert isinstance(story.state, BackingOff)
    story.wait(0.2)
    assert isinstance(story.state, Starting)


@pytest.mark.parametrize("message", ["not found", "no-such-agent: not found"])
def test_f_proc_9_the_quarantine_names_the_command(message: str) -> None:
    story = Story(spec(argv=("no-such-agent",)))
    story.start()
    story.tell(StartFailed("a", 1, 127, message))
    assert isinstance(story.state, Quarantined)
    assert story.agent.reason.count("no-such-agent") == 1
    assert len(story.of(Spawn)) == 1
    assert story.alerts() == ["quarantined"]


@pytest.mark.parametrize("code", [126, 127])
def test_a_productive_run_that_ends_with_127_was_no_missing_command(code: int) -> None:
    assert isinstance(Story().lives(600, code).state, Starting)


def test_f_res_8_an_order_that_cannot_be_carried_out_counts_as_a_crash() -> None:
    story = Story()
    story.start()
    for incarnation in range(1, 5):
        story.tell(StartFailed("a", incarnation, 1, "no such directory: /srv/shop"))
        story.respawned()
    story.tell(StartFailed("a", 5, 1, "no such directory: /srv/shop"))
    assert isinstance(story.state, Quarantined)
    assert "no such directory" in story.agent.reason


def test_f_res_8_a_missing_directory_is_named_and_no_run_is_called_dead() -> None:
    story = Story()
    story.start()
    for incarnation in range(1, 6):
        story.tell(StartFailed("a", incarnation, 1, "the directory /srv/shop is missing", "no directory"))
        if incarnation < 5:
            story.respawned()

    assert "could not start: the directory /srv/shop is missing: 5 failed starts in " in story.agent.reason
    ends = [fact.meaning for one in story.decisions for fact in one.facts if isinstance(fact, RunEnded)]
    assert ends == ["unstarted"] * 5
    (case,) = story.fleet.cases.cases
    assert (case.cause, case.detail, case.rule) == ("logic_error", "configuration", "its directory is missing")


def test_g38_an_iteration_at_its_maximum_run_time_is_ended_and_the_next_begins() -> None:
    story = Story(spec(kind=Kind.LOOP, loop=LoopRules(pause=10, max_runtime=60)))
    story.start()
    for _ in range(20):
        story.started()
        story.wait(60)
        story.exited(signal=15)
        assert story.agent.last_exit is not None
        assert story.agent.last_exit.code == 125
        assert isinstance(story.state, BackingOff)
        story.respawned()


def test_g38_residents_have_no_maximum_run_time() -> None:
    story = Story().runs()
    story.wait(30 * 24 * 3600)
    assert isinstance(story.state, Running)


@pytest.mark.parametrize("cause", ["terminal_lost", "shim_terminated"])
def test_f_tmux_2_what_the_terminal_does_counts_against_nobody(cause: str) -> None:
    """F-TMUX-3: a session that somebody killed is no stop, which is `phoenixctl stop`: it comes back, uncounted."""
    story = Story()
    for _ in range(12):
        story.runs()
        story.pass_over(20)
        story.exited(signal=9, cause=cause)
        assert isinstance(story.state, Starting), story.agent.reason
    assert story.agent.crashes == ()


@pytest.mark.parametrize("cause", ["terminal_lost", "shim_terminated"])
def test_a_host_that_ends_every_start_is_not_stormed(cause: str) -> None:
    """An agent that kills its own shim, or a terminal that dies at each start, must not spin."""
    story = Story()
    story.start()
    for _ in range(10):
        story.started()
        story.pass_over(0.1)
        story.exited(signal=9, cause=cause)
        assert isinstance(story.state, BackingOff)
        assert story.state.until >= story.at + restart.HOST_RETRY
        story.respawned()
    assert not isinstance(story.state, Quarantined)


def test_a_shim_that_dies_at_every_order_is_not_stormed() -> None:
    story = Story()
    story.start()
    for _ in range(5):
        story.tell(ShimLost("a", story.run.incarnation))
        story.tree_gone()
        assert isinstance(story.state, BackingOff)
        assert story.state.until >= story.at + restart.HOST_RETRY
        story.respawned()


def test_f_proc_6_a_lost_shim_with_a_living_agent_is_fenced_and_counted() -> None:
    story = Story().runs()
    story.pass_over(20)
    story.tell(ShimLost("a", 1))
    assert len(story.of(Spawn)) == 1
    story.tree_gone()
    assert len(story.of(Spawn)) == 2
    assert len(story.agent.crashes) == 1


def test_p60_every_run_has_an_id_of_its_own() -> None:
    story = Story(spec(restart=RestartRules(max_crashes=100, max_unproductive=0)))
    for _ in range(30):
        story.lives(1, 1).respawned()
    spawns = story.of(Spawn)
    assert len({spawn.run_id for spawn in spawns}) == len(spawns) == 31
    assert [spawn.incarnation for spawn in spawns] == list(range(1, 32))


def test_a_run_that_went_on_while_nobody_watched_has_lived_that_long() -> None:
    """Exit 0 an hour after the daemon died is no failed start, although supervised time stood still."""
    story = Story().runs()
    story.pass_over(2)
    ended = story.wall + 3600
    story.wall += 7200
    story.exited(0, at_wall=ended)
    assert isinstance(story.state, Stopped)
    assert story.agent.last_exit is not None
    assert story.agent.last_exit.lived == pytest.approx(3602)
    assert story.agent.last_exit.at_wall == ended


def test_a_wall_clock_that_was_set_back_does_not_shorten_a_life() -> None:
    story = Story().runs()
    story.pass_over(60)
    story.exited(0, at_wall=story.wall - 1e6)
    assert isinstance(story.state, Stopped)


def test_f_proc_7_without_an_exit_record_it_is_a_crash_after_the_grace() -> None:
    story = Story().runs()
    story.pass_over(60)
    story.tell(AgentVanished("a", 1))
    assert len(story.of(Spawn)) == 1
    story.wait(5)
    assert story.state.name == "stopping"
    story.tree_gone()
    assert story.run.incarnation == 2
    assert story.agent.last_exit is not None
    assert (story.agent.last_exit.code, story.agent.last_exit.signal) == (None, None)


def test_last_exit_in_words() -> None:
    def text(code: int | None, number: int | None) -> str:
        return LastExit(1, code, number, "exit", 1.0, 0.0).text

    assert (text(1, None), text(None, 9), text(None, None)) == ("exit 1", "SIGKILL", "unknown status")
    assert text(None, signal.SIGRTMIN + 1) == f"signal {signal.SIGRTMIN + 1}", "it has no name of its own"
    assert {one: text(None, one) for one in signal.Signals if one < 32} == {
        one: one.name for one in signal.Signals if one < 32
    }


def test_an_alert_is_sent_once_however_long_a_quarantine_lasts() -> None:
    story = Story(spec(restart=RestartRules(max_crashes=1))).lives(1, 1)
    for _ in range(50):
        story.pass_over(600)
        story.tell(Tick())
    assert len(story.of(Alert)) == 1


# F-PROC-24: killed for want of memory.


def test_f_proc_24_at_its_own_limit_is_a_crash_that_names_it() -> None:
    story = Story().runs()
    story.pass_over(20)
    story.exited(signal=9, oom="agent")
    assert len(story.agent.crashes) == 1
    assert "SIGKILL, out of memory: it reached its own limit" in story.agent.reason or any(
        "SIGKILL, out of memory: it reached its own limit" in reason for reason in story.reasons
    )


def test_f_proc_24_of_the_whole_host_counts_against_nobody_and_waits_a_little() -> None:
    story = Story(claude())
    for _ in range(12):
        story.works()
        story.pass_over(600)
        story.exited(signal=9, oom="host")
        assert isinstance(story.state, BackingOff)
        assert story.state.until >= story.at + restart.HOST_RETRY
        assert "the host had none left" in story.agent.reason
        story.respawned()
    assert story.agent.crashes == story.agent.record.unproductive == ()


def test_f_proc_24_a_kill_of_ours_is_no_matter_of_memory() -> None:
    story = Story().runs()
    story.stop()
    story.exited(signal=9, oom="agent")
    assert story.agent.last_exit is not None
    assert story.agent.last_exit.oom == ""


def test_when_the_next_start_is_due_is_said_by_the_decision_and_not_by_the_reason_of_the_state() -> None:
    """A row shows how long that still is: a time in its reason would be another one, and go stale."""
    story = Story(claude()).lives(1, 1).lives(1, 1)

    assert isinstance(story.state, BackingOff)
    assert f"{story.agent.reason}, in {measured(story.state.until - story.at)}" in story.reasons
