"""A CLI that dies before anything was heard of it: its terminal says why, and people are told that (F-PROC)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from phoenixd.core.actions import Alert
from phoenixd.core.agent.state import Quarantined
from phoenixd.core.events.runs import AgentExited
from phoenixd.documents.incident import last_paragraph
from phoenixd.runtime.parting_words import AT_ONCE, PartingWords
from phoenixd.shim.notice import MARK
from tests.core.story import Story, claude, spec
from tests.runtime.morgue import Morgue, Pane

NO_NETWORK = (Path(__file__).parents[1] / "harness" / "claude" / "ended" / "no-network.txt").read_text()
"""What Claude Code 2.1.332 draws at its first start in a network namespace of its own."""


class House(Morgue):
    """One agent, and what its terminal shows; None: tmux does not answer."""

    def __init__(self, shows: str | None, story: Story) -> None:
        self.pane = Pane(shows)
        super().__init__(story, PartingWords(self.pane, lambda name, text: text.replace("hunter2", "***")))


async def died(shows: str | None) -> House:
    """One that was started, and died two seconds later."""
    story = Story(claude())
    story.start()
    story.started()
    story.pass_over(2)
    house = House(shows, story)
    await house.ends(house.end())
    return house


async def test_who_is_given_up_for_want_of_a_network_at_its_first_start_is_told_with_the_cause() -> None:
    house = House(NO_NETWORK, Story(claude()))
    house.story.start()
    while not isinstance(house.story.state, Quarantined):
        house.story.started()
        house.story.pass_over(2)
        await house.ends(house.end())
        if not isinstance(house.story.state, Quarantined):
            house.story.respawned()
    cause = house.story.state.cause
    assert "Unable to connect to Anthropic services / Failed to connect to api.anthropic.com: EAI_AGAIN" in cause
    assert "5 crashes" in cause
    assert any("Unable to connect to Anthropic services" in alert.text for alert in house.story.of(Alert))


async def test_a_terminal_that_cannot_be_read_leaves_the_end_as_it_is() -> None:
    house = await died(None)
    assert house.pane.looks == 1
    assert house.story.agent.last_exit is not None
    assert house.story.agent.last_exit.shown == ""
    assert any("died, exit 1 after" in reason for reason in house.story.reasons)


async def test_of_many_that_die_in_one_moment_few_terminals_are_read_at_once_and_each_end_is_told() -> None:
    """Each takes a process of tmux and descriptors of the daemon's."""
    most, reading, told, let_go = 0, 0, list[AgentExited](), anyio.Event()

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

    parting = PartingWords(Slow())

    async def dies(name: str) -> None:
        told.extend(await parting.found(AgentExited(name, 1, "run", 1, None, lived=1.0)))

    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(dies, f"a{number}")
        await anyio.wait_all_tasks_blocked()
        let_go.set()
    assert most == AT_ONCE
    assert {one.shown for one in told} == {f"a{number} has no network" for number in range(100)}
    assert all(one.shown.startswith(f"{one.agent} ") for one in told)


async def test_no_terminal_is_read_where_the_agent_was_heard_of_or_tells_nothing_anyway() -> None:
    heard = House(NO_NETWORK, Story(claude()).works())
    heard.story.hook("tool-end", tool="Bash")
    program = House(NO_NETWORK, Story(spec()).runs())
    well = House(NO_NETWORK, Story(claude()).runs())
    assert not await heard.ends(heard.end())
    assert not await program.ends(program.end())
    assert not await well.ends(well.end(0))


async def test_what_an_earlier_run_left_above_is_not_told_as_this_ones_words() -> None:
    house = await died(f"no network\n\n{MARK}a ended with exit status 1 at 2026-11-30T00:00:00.123Z.\n")
    assert house.story.agent.last_exit is not None
    assert house.story.agent.last_exit.shown == ""


async def test_what_a_terminal_shows_is_one_bounded_line_without_secrets_and_decides_nothing() -> None:
    house = await died(f"drawn\n.....\n\x1b]0;x\x07the key hunter2 is refused\n{'word ' * 100}")
    plain = await died(None)
    end = house.story.agent.last_exit
    assert end is not None
    assert "hunter2" not in end.shown
    assert "drawn" not in end.shown
    assert len(end.shown) <= 161
    assert all(character.isprintable() for character in end.shown)
    assert house.story.state == plain.story.state
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
