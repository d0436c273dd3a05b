"""Brakes that only make sense across agents: the cap on starts, outages, numbers of items, the next deadline."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import ObserveTerminal, Spawn
from phoenixd.core.agent.state import BackingOff, Quarantined, Running, Starting, Stopped
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import LimitsDeclared, Rebooted, SavingHalted, SavingResumed, TerminalSeen, Tick
from phoenixd.core.events.orders import AgentDeclared, StartRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, ShimLost, TreeGone
from phoenixd.core.fleet import Fleet
from phoenixd.core.rules import RestartRules
from phoenixd.core.spec import FleetLimits
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude, spec


def fleet_of(number: int, **limits: float) -> Story:
    story = Story(*(spec(f"a{index:02}") for index in range(number)), limits=FleetLimits(**limits))
    for name in story.fleet.agents:
        story.tell(StartRequested(name))
    return story


def starting(story: Story) -> list[str]:
    return [name for name, agent in story.fleet.agents.items() if isinstance(agent.state, Starting)]


def answer(story: Story, name: str) -> None:
    run = story.fleet.agents[name].run
    assert run is not None
    story.tell(AgentStarted(name, run.incarnation, run.run_id, 1, 1))


def all_running(number: int, **limits: float) -> Story:
    story = fleet_of(number, **limits)
    while starting(story):
        answer(story, starting(story)[0])
    assert all(isinstance(agent.state, Running) for agent in story.fleet.agents.values())
    story.pass_over(3600)
    story.decisions.clear()
    return story


def falls(story: Story, name: str) -> None:
    """An agent's pane is gone."""
    run = story.fleet.agents[name].run
    assert run is not None
    story.tell(AgentExited(name, run.incarnation, run.run_id, None, 9, cause="terminal_lost"))


# The cap on concurrent starts.


def test_at_most_so_many_starts_at_once_and_each_answer_releases_the_next() -> None:
    story = fleet_of(20, max_starting=3)
    begun = ["a00", "a01", "a02"]
    assert starting(story) == begun
    for number in range(3, 20):
        answer(story, starting(story)[0])
        begun.append(f"a{number:02}")
        assert len(starting(story)) == 3
        assert [spawn.agent for spawn in story.of(Spawn)] == begun


def test_those_who_have_waited_longest_are_released_first() -> None:
    story = Story(spec("a"), spec("b"), spec("z"), limits=FleetLimits(max_starting=1))
    for name in ("a", "z", "b"):
        story.tell(StartRequested(name))
        story.pass_over(1)
    answer(story, "a")
    assert starting(story) == ["z"]
    answer(story, "z")
    assert starting(story) == ["b"]


def test_a_storm_of_sudden_deaths_never_exceeds_the_cap() -> None:
    story = all_running(40, max_starting=8)
    for name, agent in list(story.fleet.agents.items()):
        assert agent.run is not None
        story.tell(AgentExited(name, 1, agent.run.run_id, None, 9))
        assert len(starting(story)) <= 8
    assert story.fleet.hold_until is None
    while starting(story):
        answer(story, starting(story)[0])
        assert len(starting(story)) <= 8
    assert all(isinstance(agent.state, Running) for agent in story.fleet.agents.values())


def test_f_sy_5_a_reboot_staggers_the_starts() -> None:
    story = all_running(20, max_starting=4)
    story.tell(Rebooted("other"))
    assert len(story.of(Spawn)) == 4
    while starting(story):
        answer(story, starting(story)[0])
        assert len(starting(story)) <= 4
    assert len(story.of(Spawn)) == 20


def test_silent_starts_do_not_block_the_fleet_for_ever() -> None:
    """Eight CLIs whose hooks never come must not keep the ninth agent from starting."""
    story = Story(*(claude(f"a{index}") for index in range(10)), limits=FleetLimits(max_starting=8))
    for name in story.fleet.agents:
        story.tell(StartRequested(name))
    for name in starting(story):
        answer(story, name)
    story.wait(29)
    assert len(starting(story)) == 8
    story.wait(1)
    assert len(starting(story)) == 10


def test_new_limits_hold_at_once() -> None:
    story = fleet_of(6, max_starting=1)
    story.tell(LimitsDeclared(FleetLimits(max_starting=4)))
    assert len(starting(story)) == 4
    story.tell(LimitsDeclared(FleetLimits(max_starting=2)))
    answer(story, "a00")
    assert len(starting(story)) == 3
    answer(story, "a01")
    answer(story, "a02")
    assert len(starting(story)) == 2


# Outages: most of the fleet falling at once says something about tmux, not about the agents (F-TMUX-2, style 2.5).


def test_f_tmux_2_most_of_the_fleet_at_once_is_an_outage_and_starts_wait() -> None:
    story = all_running(8)
    for index in range(8):
        falls(story, f"a{index:02}")
    # The first four were lone accidents as far as anybody could know.
    assert len(story.of(Spawn)) == 4
    assert story.of(ObserveTerminal)
    assert story.fleet.hold_until is not None
    story.tell(TerminalSeen(True))
    assert story.fleet.hold_until is None
    assert len(story.of(Spawn)) == 8
    assert all(agent.crashes == () for agent in story.fleet.agents.values())


def test_f_tmux_2_while_the_terminal_does_not_answer_it_is_looked_at_one_look_at_a_time() -> None:
    story = all_running(8, observe_retry=5)
    for index in range(8):
        falls(story, f"a{index:02}")
    for _ in range(20):
        asked = len(story.of(ObserveTerminal))
        story.tell(TerminalSeen(False))
        assert len(story.of(ObserveTerminal)) == asked, "an answer asks at once again, for ever"
        story.wait(5)
        assert len(story.of(ObserveTerminal)) == asked + 1
    assert len(story.of(Spawn)) == 4
    story.tell(TerminalSeen(True))
    assert len(story.of(Spawn)) == 8


def test_the_same_look_at_a_terminal_that_is_away_for_hours_is_told_once() -> None:
    """Every five seconds it stood in the journal twice."""
    story = all_running(8, observe_retry=5)
    for index in range(8):
        falls(story, f"a{index:02}")
    story.decisions.clear()
    for _ in range(500):
        story.tell(TerminalSeen(False))
        story.wait(5)
    told = [one for one in story.decisions if one.agent is None and one.reason and one.weight != "noise"]
    assert [decision.reason for decision in told] == ["the terminal does not answer: starts wait"]
    assert len(story.of(ObserveTerminal)) == 500
    story.tell(TerminalSeen(True))
    assert story.decisions[-1].weight != "noise"


def test_a_look_that_is_never_answered_is_repeated() -> None:
    story = all_running(8, observe_retry=5)
    for index in range(8):
        falls(story, f"a{index:02}")
    story.wait(50)
    assert len(story.of(ObserveTerminal)) == 11


@pytest.mark.parametrize(
    ("number", "fallen", "spread", "outage"),
    [(8, 4, 0.0, False), (8, 5, 0.0, True), (20, 10, 0.0, False), (20, 11, 0.0, True), (8, 8, 1.0, False)],
)
def test_an_outage_is_five_agents_and_more_than_half_within_two_seconds(
    number: int, fallen: int, spread: float, outage: bool
) -> None:
    story = all_running(number)
    for index in range(fallen):
        falls(story, f"a{index:02}")
        story.pass_over(spread)
    assert (story.fleet.hold_until is not None) is outage


def test_deaths_of_the_agents_themselves_are_no_outage() -> None:
    story = all_running(10)
    for name, agent in list(story.fleet.agents.items()):
        assert agent.run is not None
        story.tell(AgentExited(name, 1, agent.run.run_id, 1, None))
    assert story.fleet.hold_until is None


def test_one_agent_falling_over_and_over_is_no_outage() -> None:
    story = all_running(6)
    for _ in range(12):
        story.tell(ShimLost("a00", story.agent.incarnation))
    assert story.fleet.hold_until is None


def test_old_words_make_no_outage() -> None:
    story = all_running(6)
    for index in range(6):
        story.tell(ShimLost(f"a{index:02}", 0))
        story.tell(AgentExited(f"a{index:02}", 9, "x", None, 9, cause="terminal_lost"))
        story.tell(ShimLost(f"stranger{index}", 1))
    assert story.fleet.hold_until is None
    assert story.fleet.falls == ()


def test_shims_that_die_together_are_fenced_at_once_and_started_later() -> None:
    story = all_running(6)
    for index in range(6):
        story.tell(ShimLost(f"a{index:02}", 1))
    for index in range(6):
        story.tell(TreeGone(f"a{index:02}", 1))
    assert not story.of(Spawn)
    story.tell(TerminalSeen(True))
    assert len(story.of(Spawn)) == 6


# Items.


def test_items_are_numbered_once_and_upwards_across_the_fleet() -> None:
    story = Story(claude("a"), claude("b"), spec("c", restart=RestartRules(max_crashes=1)))
    for name in story.fleet.agents:
        story.tell(StartRequested(name))
        answer(story, name)
    seen: list[int] = []
    for _ in range(3):
        for name in ("a", "b"):
            story.tell(hook_of(name, 1, "permission-request", tool="Bash", text="x"))
            item = story.fleet.agents[name].item
            assert item is not None
            seen.append(item.id)
            story.tell(hook_of(name, 1, "tool-end", tool="Bash"))
    run = story.fleet.agents["c"].run
    assert run is not None
    story.tell(AgentExited("c", 1, run.run_id, 1, None))
    item = story.fleet.agents["c"].item
    assert item is not None
    seen.append(item.id)
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    assert story.fleet.next_item == 8


def test_the_decision_shows_the_item_as_numbered() -> None:
    story = Story(spec(restart=RestartRules(max_crashes=1))).lives(1, 1)
    decided = [decision.agent for decision in story.decisions if decision.agent and decision.agent.item]
    assert [agent.item.id for agent in decided if agent.item] == [1]


# The next deadline.


def test_an_idle_fleet_needs_no_tick() -> None:
    assert next_deadline(Fleet(), Story().now) is None
    story = Story(spec("a"), claude("b"))
    story.tell(StartRequested("a"))
    answer(story, "a")
    assert next_deadline(story.fleet, story.now) is None


def test_the_earliest_deadline_is_next() -> None:
    story = Story(spec("a"), spec("b"))
    story.tell(StartRequested("a"))
    story.pass_over(3)
    story.tell(StartRequested("b"))
    assert next_deadline(story.fleet, story.now) == 30
    answer(story, "a")
    assert next_deadline(story.fleet, story.now) == 33


def test_starts_that_are_due_but_capped_or_held_need_no_tick_of_their_own() -> None:
    story = fleet_of(5, max_starting=1)
    assert next_deadline(story.fleet, story.now) == 30
    story = all_running(8, observe_retry=5)
    for index in range(8):
        falls(story, f"a{index:02}")
    for name in starting(story):
        answer(story, name)
    assert isinstance(story.fleet.agents["a07"].state, BackingOff)
    assert next_deadline(story.fleet, story.now) == story.at + 5


def test_a_step_leaves_the_old_fleet_as_it_was() -> None:
    story = Story(spec("a"))
    before, shown = story.fleet, repr(story.fleet)
    story.start()
    story.tell(AgentDeclared(spec("b"), start=True))
    assert repr(before) == shown
    assert story.fleet is not before


def test_no_value_of_an_agents_environment_stands_where_the_fleet_is_shown() -> None:
    story = Story(spec(env=(("KEY", "hunter2-hunter2"),)))
    story.start()
    assert "hunter2" not in repr(story.fleet) + repr(story.actions)


def test_a_declared_agent_starts_by_itself_when_it_is_to() -> None:
    story = Story(spec("a"))
    story.tell(AgentDeclared(spec("b"), start=True))
    assert isinstance(story.fleet.agents["b"].state, Starting)
    assert story.fleet.agents["a"].state.name == "stopped"


def test_a_quarantine_is_the_agents_own_and_the_others_work_on() -> None:
    story = Story(spec("a", restart=RestartRules(max_crashes=1)), spec("b"))
    story.tell(StartRequested("b"))
    answer(story, "b")
    story.lives(1, 1)
    assert isinstance(story.state, Quarantined)
    story.tell(Tick())
    assert isinstance(story.fleet.agents["b"].state, Running)


def test_a_mere_note_of_evidence_is_not_journaled() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Read")
    story.decisions.clear()
    story.hook("tool-end", tool="Read")
    assert [decision.is_worth_keeping for decision in story.decisions] == [False]
    assert not Decision(story.agent).is_worth_keeping


def test_nothing_is_started_while_decisions_cannot_be_saved_and_all_goes_on_after_that() -> None:
    story = Story().runs()
    story.tell(SavingHalted("the disk is full"))
    story.exited(signal=9)
    story.wait(3600)
    assert len(story.of(Spawn)) == 1
    assert next_deadline(story.fleet, story.now) is None, "nothing to wake up for"
    story.stop()
    assert isinstance(story.state, Stopped), "what ends something is decided all the same"
    story.start()
    story.tell(SavingResumed())
    assert len(story.of(Spawn)) == 2


def test_a_start_that_waits_for_the_disk_loses_none_of_its_time() -> None:
    story = Story()
    story.start()
    assert isinstance(story.state, Starting)
    for _ in range(3):
        story.wait(2)
        story.tell(SavingHalted("a commit is late"))
        story.tell(SavingHalted("a commit is late"))
        assert next_deadline(story.fleet, story.now) is None, "nothing to wake up for"
        story.wait(1000)
        story.tell(Tick())
        story.tell(SavingResumed())
    assert isinstance(story.state, Starting), "its order never went out: nobody can have answered it"
    story.wait(23.5)
    assert isinstance(story.state, Starting)
    story.wait(1)
    assert not isinstance(story.state, Starting), "thirty seconds in all in which it could have been answered"
