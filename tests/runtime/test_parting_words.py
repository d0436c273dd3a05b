"""A CLI that dies before anything was heard of it: its terminal says why, and people are told that (F-PROC)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Quarantined
from phoenixd.core.events import Event
from phoenixd.core.events.runs import AgentExited
from phoenixd.documents.incident import NOTHING_RUNS, last_paragraph
from phoenixd.errors import TerminalFailed
from phoenixd.runtime.parting_words import AT_ONCE, PartingWords
from tests.core.story import Story, claude, spec

NO_NETWORK = (Path(__file__).parents[1] / "harness" / "claude" / "ended" / "no-network.txt").read_text()
"""What Claude Code 2.1.332 draws at its first start in a network namespace of its own."""


class House:
    """One agent, and what its terminal shows; None: tmux does not answer."""

    def __init__(self, shows: str | None, story: Story) -> None:
        self.story, self.shows, self.looks = story, shows, 0
        self.parting = PartingWords(self.find, self.tell, self, lambda name, text: text.replace("hunter2", "***"))

    def find(self, name: str) -> Agent | None:
        return self.story.fleet.agents.get(name)

    def tell(self, event: Event) -> None:
        self.story.tell(event)

    async def capture(self, agent: str, history: int = 0) -> str:
        self.looks += 1
        await anyio.lowlevel.checkpoint()
        if self.shows is None:
            raise TerminalFailed("no server")
        return f"{self.shows.rstrip()}\n\nphoenixd: a ended with exit status 1.\n{NOTHING_RUNS.format(agent='a')}\n"

    async def ends(self, code: int | None = 1) -> None:
        run = self.story.run
        ended = AgentExited("a", run.incarnation, run.run_id, code, None, lived=2.0)
        if self.parting.may_be(ended):
            await self.parting.tell(ended)
        else:
            self.tell(ended)


async def test_who_is_given_up_for_want_of_a_network_at_its_first_start_is_told_with_the_cause() -> None:
    house = House(NO_NETWORK, Story(claude()))
    house.story.start()
    while not isinstance(house.story.state, Quarantined):
        house.story.started()
        house.story.pass_over(2)
        await house.ends()
        if not isinstance(house.story.state, Quarantined):
            house.story.respawned()
    cause = house.story.state.cause
    assert "Unable to connect to Anthropic services / Failed to connect to api.anthropic.com: EAI_AGAIN" in cause
    assert "5 crashes" in cause
    assert any("Unable to connect to Anthropic services" in alert.text for alert in house.story.of(Alert))


async def test_a_terminal_that_cannot_be_read_leaves_the_end_as_it_is() -> None:
    house = House(None, Story(claude()))
    house.story.start()
    house.story.started()
    await house.ends()
    assert house.looks == 1
    assert house.story.agent.last_exit is not None
    assert house.story.agent.last_exit.shown == ""
    assert any("died, exit 1 after" in reason for reason in house.story.reasons)


async def test_of_many_that_die_in_one_moment_few_terminals_are_read_at_once_and_each_end_is_told() -> None:
    """Each takes a process of tmux and descriptors of the daemon's."""
    most, reading, told, let_go = 0, 0, list[Event](), anyio.Event()

    class Slow:
        async def capture(self, agent: str, history: int = 0) -> str:
            nonlocal most, reading
            reading += 1
            most = max(most, reading)
            try:
                await let_go.wait()
                return f"{agent} has no network"
            finally:
                reading -= 1

    parting = PartingWords(lambda name: None, told.append, Slow(), patience=60.0)
    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(parting.tell, AgentExited(f"a{number}", 1, "run", 1, None, lived=1.0))
        await anyio.wait_all_tasks_blocked()
        let_go.set()
    assert most == AT_ONCE
    assert {f"{one.agent} has no network" for one in told if isinstance(one, AgentExited)} == {
        one.shown for one in told if isinstance(one, AgentExited)
    }
    assert len(told) == 100


async def test_no_terminal_is_read_where_the_agent_was_heard_of_or_tells_nothing_anyway() -> None:
    heard = House(NO_NETWORK, Story(claude()).works())
    heard.story.hook("tool-end", tool="Bash")
    await heard.ends()
    program = House(NO_NETWORK, Story(spec()).runs())
    await program.ends()
    well = House(NO_NETWORK, Story(claude()))
    well.story.start()
    well.story.started()
    await well.ends(0)
    assert (heard.looks, program.looks, well.looks) == (0, 0, 0)


async def test_what_an_earlier_run_left_above_is_not_told_as_this_ones_words() -> None:
    house = House("no network\n\nphoenixd: a ended with exit status 1 at 2026-11-30T00:00:00.123Z.\n", Story(claude()))
    house.story.start()
    house.story.started()
    house.story.pass_over(2)
    await house.ends()
    assert house.story.agent.last_exit is not None
    assert house.story.agent.last_exit.shown == ""


async def test_what_a_terminal_shows_is_one_bounded_line_without_secrets_and_decides_nothing() -> None:
    shows = f"drawn\n.....\n\x1b]0;x\x07the key hunter2 is refused\n{'word ' * 100}"
    house, plain = House(shows, Story(claude())), House(None, Story(claude()))
    for one in (house, plain):
        one.story.start()
        one.story.started()
        one.story.pass_over(2)
        await one.ends()
    end = house.story.agent.last_exit
    assert end is not None
    assert "hunter2" not in end.shown
    assert "drawn" not in end.shown
    assert len(end.shown) <= 161
    assert all(character.isprintable() for character in end.shown)
    state, other = house.story.state, plain.story.state
    assert state == other
    assert replace(end, shown="") == plain.story.agent.last_exit


@pytest.mark.parametrize(
    ("screen", "told"),
    [
        ("", ""),
        ("▐▛███▜▌\n....", ""),
        ("one thing\n\nanother", "one thing / another"),
        ("left out\n-----\nError: no such model", "Error: no such model"),
    ],
)
def test_the_last_words_of_a_screen_are_what_stands_below_its_drawing(screen: str, told: str) -> None:
    assert last_paragraph(screen, lambda text: text) == told
