"""The tmux server ends: the agents in it come back at once, uncounted, and people are told once (F-TMUX-2)."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Alert, ObserveTerminal, Reassure, Spawn
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Running, Starting
from phoenixd.core.causes import EndCause
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events.fleet import EpochBegun, TerminalEnded, TerminalSeen, Tick
from phoenixd.core.events.orders import StartRequested, StopRequested
from phoenixd.core.events.runs import AgentExited, ShimLost, StartFailed, TreeGone
from phoenixd.core.restart import HOST_RETRY
from phoenixd.core.terminal.state import FIRST_PAUSE, LATEST, LONGEST_PAUSE, MOST_AT_ONCE, OFTEN, STORM
from tests.core.story import Story, spec
from tests.core.test_fleet import all_running, answer, falls, fleet_of, starting

TEN = [f"a{index:02}" for index in range(10)]


def young(number: int = 10) -> Story:
    """Agents that run since a moment ago."""
    story = fleet_of(number)
    while starting(story):
        answer(story, starting(story)[0])
    story.pass_over(1)
    story.decisions.clear()
    return story


def told(story: Story) -> list[str]:
    """What people are told: alerts, and that they are over."""
    return [
        f"{'over: ' if isinstance(one, Reassure) else ''}{one.why if isinstance(one, Reassure) else one.text}"
        for one in story.actions
        if isinstance(one, Alert | Reassure)
    ]


def all_come_back(story: Story) -> None:
    while starting(story):
        answer(story, starting(story)[0])


ALL_BACK = [
    "the tmux server has ended, and with it the runs of 10 agents: all of them are started again",
    "over: the tmux server had ended; 10 agents were resumed",
]


@pytest.mark.parametrize("age", [1, 3600])
@pytest.mark.parametrize("heard", ["first", "between", "last"])
def test_f_tmux_2_all_of_a_server_that_ended_come_back_at_once_and_people_are_told_once(age: float, heard: str) -> None:
    """However young they were: nothing ends them over and over, and what ended them is known."""
    story = young()
    story.pass_over(age)
    before = {"first": 0, "between": 2, "last": 10}[heard]
    for name in TEN[:before]:
        falls(story, name)
    story.tell(TerminalEnded())
    begun = len(story.of(Spawn))
    for name in TEN[before:]:
        falls(story, name)
    assert len(story.of(Spawn)) == begun, "a start while the server is away"
    story.tell(TerminalSeen(True))
    all_come_back(story)

    agents = list(story.fleet.agents.values())
    assert all(isinstance(agent.state, Running) and agent.incarnation == 2 for agent in agents)
    assert all(agent.crashes == () for agent in agents)
    assert len(story.of(Spawn)) == 10
    assert {spawn.mode for spawn in story.of(Spawn)} == {Mode.RESUME}
    assert told(story)[-1] == ALL_BACK[1]
    assert len(told(story)) == 2
    assert heard == "last" or told(story) == ALL_BACK
    assert story.fleet.alerts == ()
    assert story.fleet.hold_until is None


def test_f_tmux_2_those_that_fell_are_decided_on_in_the_order_of_the_fleet() -> None:
    """A journal and a simulation that are played again say the same, whatever order a set has in a process."""
    story = young()
    for name in TEN:
        falls(story, name)
    story.decisions.clear()
    story.tell(TerminalEnded())
    story.tell(TerminalSeen(True))
    decided = [one.agent.name for one in story.decisions if one.agent is not None]
    assert decided[: len(TEN)] == TEN
    assert list(story.fleet.server_end.fallen if story.fleet.server_end is not None else ()) == TEN


def test_f_tmux_2_one_agent_is_told_of_in_the_singular() -> None:
    story = young(1)
    story.tell(TerminalEnded())
    falls(story, "a00")
    story.tell(TerminalSeen(True))
    all_come_back(story)
    assert told(story) == [
        "the tmux server has ended, and with it the run of 1 agent: it is started again",
        "over: the tmux server had ended; 1 agent was resumed",
    ]


def test_a_server_that_ends_with_nobody_in_it_is_started_again_and_no_alert() -> None:
    story = Story(spec("a"))
    story.tell(TerminalEnded())
    assert len(story.of(ObserveTerminal)) == 1
    story.tell(TerminalSeen(True))
    assert told(story) == []
    assert story.fleet.hold_until is None


def cut_short(story: Story, name: str, how: str) -> None:
    """A start ends with the server, before anything was executed."""
    agent = story.fleet.agents[name]
    if how == "no pane":
        story.tell(StartFailed(name, agent.incarnation, 0, "the connection to tmux is lost", "terminal gone"))
    else:
        story.tell(ShimLost(name, agent.incarnation))
        story.tell(TreeGone(name, agent.incarnation))


@pytest.mark.parametrize("how", ["no pane", "shim lost"])
@pytest.mark.parametrize("heard", ["first", "last"])
def test_f_tmux_2_starts_that_the_end_cuts_short_begin_again_at_once(how: str, heard: str) -> None:
    story = fleet_of(3)
    assert starting(story) == TEN[:3]
    if heard == "first":
        story.tell(TerminalEnded())
    for name in TEN[:3]:
        cut_short(story, name, how)
    if heard == "last":
        story.tell(TerminalEnded())
    story.tell(TerminalSeen(True))
    all_come_back(story)
    assert [agent.incarnation for agent in story.fleet.agents.values()] == [2, 2, 2]
    assert all(isinstance(agent.state, Running) for agent in story.fleet.agents.values())
    assert len(told(story)) == 2
    assert told(story)[1].endswith("the tmux server had ended; 3 began afresh")


def test_f_tmux_2_a_second_end_within_a_second_is_the_same_event_to_people() -> None:
    story = young()
    story.tell(TerminalEnded())
    for name in TEN:
        falls(story, name)
    story.tell(TerminalSeen(True))
    answer(story, "a00")
    answer(story, "a01")
    story.pass_over(0.5)
    story.tell(TerminalEnded())
    falls(story, "a00")
    falls(story, "a01")
    for name in starting(story):
        cut_short(story, name, "shim lost")
    story.tell(TerminalSeen(True))
    all_come_back(story)
    assert all(isinstance(agent.state, Running) for agent in story.fleet.agents.values())
    assert told(story) == ALL_BACK
    assert all(agent.crashes == () for agent in story.fleet.agents.values())


def ends(story: Story, number: int = 4) -> None:
    """The server ends with all that run, and is there again."""
    story.tell(TerminalEnded())
    for name in TEN[:number]:
        if isinstance(story.fleet.agents[name].state, Running):
            falls(story, name)
    story.tell(TerminalSeen(True))


@pytest.mark.parametrize("age", [0.1, 6.0])
def test_a_server_that_ends_over_and_over_is_no_storm_of_starts_and_is_told_so(age: float) -> None:
    """However long those that fall had run: what ends the server is still there."""
    story = young(4)
    for number in range(1, 8):
        story.pass_over(age)
        ends(story)
        waits = [agent.state for agent in story.fleet.agents.values() if isinstance(agent.state, BackingOff)]
        assert len(waits) == (0 if number <= MOST_AT_ONCE else 4)
        pause = FIRST_PAUSE * 2.0 ** (number - MOST_AT_ONCE - 1)
        assert all(state.until >= story.at + pause for state in waits)
        if waits:
            assert story.fleet.alerts[0].text.startswith(f"the tmux server ends over and over, {number} times by now")
            story.wait(pause + HOST_RETRY * 2)
        all_come_back(story)
        assert all(isinstance(agent.state, Running) for agent in story.fleet.agents.values())
    story.wait(LONGEST_PAUSE + STORM)
    assert story.fleet.alerts == ()
    assert next_deadline(story.fleet, story.now) is None


@pytest.mark.parametrize("age", [1.0, 5.5, 19.0, 60.0, 170.0])
def test_f_tmux_2_an_agent_that_ends_the_server_again_and_again_neither_drives_the_fleet_nor_floods_people(
    age: float,
) -> None:
    story = young(4)
    until = story.at + 3600
    while story.at < until:
        story.wait(age)
        ends(story)
        while not any(isinstance(agent.state, Running) for agent in story.fleet.agents.values()):
            all_come_back(story)
            story.wait(1)
    begun = len(story.of(Spawn)) / 4
    assert begun < 25, "starts of each agent within an hour"
    # The first few ends are told one by one, for each could have been the last.
    assert len(told(story)) <= 2 * MOST_AT_ONCE + 1
    story.wait(LONGEST_PAUSE + STORM)
    all_come_back(story)
    story.wait(LONGEST_PAUSE + STORM)
    assert story.fleet.alerts == ()
    assert told(story)[-1].startswith("over: the tmux server had ended")


def test_who_is_started_by_a_person_does_not_wait_for_a_server_that_ends_over_and_over() -> None:
    story = young(2)
    for _ in range(MOST_AT_ONCE + 1):
        story.pass_over(6)
        ends(story, 2)
        if isinstance(story.fleet.agents["a00"].state, Starting):
            all_come_back(story)
    story.tell(StartRequested("a00"))
    assert isinstance(story.fleet.agents["a00"].state, Starting)
    assert isinstance(story.fleet.agents["a01"].state, BackingOff)


@pytest.mark.parametrize("cause", ["terminal_lost", "shim_terminated"])
def test_f_tmux_3_a_session_that_somebody_killed_is_no_end_of_the_server(cause: EndCause) -> None:
    story = all_running(3)
    run = story.fleet.agents["a00"].run
    assert run is not None
    story.tell(AgentExited("a00", 1, run.run_id, None, 1, cause=cause))
    assert starting(story) == ["a00"]
    assert told(story) == []


def test_what_falls_after_it_came_back_waits_as_ever() -> None:
    """Something that ends an agent's terminal over and over is not the server that ended before."""
    story = young(2)
    story.tell(TerminalEnded())
    for name in TEN[:2]:
        falls(story, name)
    story.tell(TerminalSeen(True))
    all_come_back(story)
    story.pass_over(0.1)
    falls(story, "a00")
    state = story.fleet.agents["a00"].state
    assert isinstance(state, BackingOff)
    assert state.until >= story.at + HOST_RETRY


def test_who_was_in_another_server_is_not_waited_for_for_ever() -> None:
    story = young(3)
    story.tell(TerminalEnded())
    falls(story, "a00")
    story.tell(TerminalSeen(True))
    answer(story, "a00")
    assert [one.kind for one in story.fleet.alerts] == ["terminal"]
    assert next_deadline(story.fleet, story.now) == story.at + LATEST
    story.wait(LATEST)
    assert story.fleet.alerts == ()
    assert told(story)[-1] == "over: the tmux server had ended; 1 agent was resumed"
    assert next_deadline(story.fleet, story.now) is None


def test_who_is_stopped_meanwhile_stays_so_and_is_not_waited_for() -> None:
    story = young(2)
    story.tell(TerminalEnded())
    for name in TEN[:2]:
        falls(story, name)
    story.tell(StopRequested("a01"))
    story.tell(TerminalSeen(True))
    all_come_back(story)
    assert [agent.state.name for agent in story.fleet.agents.values()] == ["running", "stopped"]
    assert told(story)[-1] == "over: the tmux server had ended; 1 agent was resumed"


def test_a_server_that_another_starts_is_looked_for_soon_and_then_more_seldom() -> None:
    """systemd takes a second."""
    story = young(1)
    story.tell(TerminalEnded())
    began, looks = story.at, []
    falls(story, "a00")
    for _ in range(8):
        story.tell(TerminalSeen(False))
        due = next_deadline(story.fleet, story.now)
        assert due is not None
        looks.append(due - began)
        story.wait(due - story.at)
    assert looks[:5] == [0.25, 0.5, 1, 2, 4]
    assert looks[-1] - looks[-2] == story.fleet.limits.observe_retry
    assert len(told(story)) == 1
    story.tell(TerminalSeen(True))
    assert isinstance(story.fleet.agents["a00"].state, Starting)


def test_a_daemon_that_begins_looks_whether_what_was_told_of_the_server_is_over() -> None:
    """The one before was killed in between; nobody else would ever say so."""
    story = young(2)
    story.tell(TerminalEnded())
    story.tell(Tick())
    from dataclasses import replace

    story.fleet = replace(story.fleet, server_end=None, hold_until=None)
    story.tell(EpochBegun(1))
    assert story.fleet.hold_until is not None
    story.tell(TerminalSeen(True))
    assert story.fleet.alerts == ()


def test_f_tmux_2_a_start_that_is_told_after_the_end_and_falls_with_it_is_waited_for_like_the_others() -> None:
    """Its program began a moment before the server ended, and the daemon heard it a moment after."""
    story = young()
    story.tell(TerminalEnded())
    for name in TEN:
        falls(story, name)
    story.tell(TerminalSeen(True))
    late, *others = starting(story)
    story.pass_over(0.2)
    story.tell(TerminalEnded())
    answer(story, late)
    assert isinstance(story.fleet.agents[late].state, Running)
    falls(story, late)
    for name in set(TEN) - {late}:
        if name in others:
            cut_short(story, name, "no pane")
    story.tell(TerminalSeen(True))
    all_come_back(story)

    assert all(isinstance(agent.state, Running) for agent in story.fleet.agents.values())
    assert story.fleet.agents[late].incarnation == 3
    assert told(story)[-1] == ALL_BACK[1]


def test_who_is_due_when_the_server_ends_a_second_time_is_not_told_that_it_ends_over_and_over() -> None:
    """More are due than may start at once, and those that wait for their turn fall with nothing."""
    story = young()
    for _ in range(2):
        story.tell(TerminalEnded())
        for name in TEN:
            if isinstance(story.fleet.agents[name].state, Running):
                falls(story, name)
        story.tell(TerminalSeen(True))
        assert len(starting(story)) < len(TEN)
        story.pass_over(0.2)
    assert [one.reason for one in story.decisions if "over and over" in one.reason] == []


@pytest.mark.parametrize("minutes", [5, 12])
def test_a_server_that_ends_again_and_again_minutes_apart_is_told_as_that_once_and_nobody_waits(minutes: int) -> None:
    """Work goes on in between, so no start is put off; each end was told twice, and never that it was one of many."""
    story = young(2)
    for number in range(1, 21):
        story.wait(minutes * 60)
        ends(story, 2)
        assert starting(story) == TEN[:2], "at once, however often"
        all_come_back(story)
        assert len(told(story)) == (2 * number if number <= MOST_AT_ONCE else 2 * MOST_AT_ONCE + 1)
    (standing,) = story.fleet.alerts
    count, span = (12, "55 min") if minutes == 5 else (5, "48 min")
    assert standing.text == (
        f"the tmux server has ended {count} times within {span}, and with it the runs of 2 agents: all of them are "
        "started again; what ends it goes on; when it did: phoenixctl since 1h"
    )
    assert next_deadline(story.fleet, story.now) == story.at + OFTEN
    story.wait(OFTEN - 1)
    assert story.fleet.alerts != ()
    story.wait(2)
    assert story.fleet.alerts == ()
    assert told(story)[-1] == "over: the tmux server had ended; 2 agents were resumed"


def test_ends_of_the_server_that_are_further_apart_are_told_one_by_one() -> None:
    story = young(1)
    for _ in range(8):
        story.wait(1300)
        ends(story, 1)
        all_come_back(story)
    assert len(told(story)) == 16
    assert not any("times" in one for one in told(story))
