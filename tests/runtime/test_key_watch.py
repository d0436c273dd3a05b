"""Keys at the terminals of those that ask are told, and at no others: with real terminals and the kernel's word."""

from __future__ import annotations

import os
import pty
import tty
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.events.evidence import KeysRead
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.drivers.files.reads import FileReads
from phoenixd.errors import TerminalFailed
from phoenixd.runtime.key_watch import KeyWatch
from tests.core.story import Story, claude
from tests.waiting import eventually


class Terminals:
    """A terminal for each agent, with a program that reads it."""

    def __init__(self, *agents: str) -> None:
        self.ends = {agent: pty.openpty() for agent in agents}
        for _, ours in self.ends.values():
            tty.setraw(ours)

    async def tty(self, agent: str) -> str:
        if agent not in self.ends:
            raise TerminalFailed(f"{agent} has no pane")
        return os.ttyname(self.ends[agent][1])

    def type(self, agent: str) -> None:
        os.write(self.ends[agent][0], b"y")
        os.read(self.ends[agent][1], 10)

    def close(self) -> None:
        for ends in self.ends.values():
            for end in ends:
                os.close(end)


def asks(name: str) -> Story:
    story = Story(claude(name))
    story.start()
    story.started()
    story.hook("session-start", source="startup")
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=1)
    return story


@asynccontextmanager
async def watching(terminals: Terminals, told: list[KeysRead], *agents: Agent) -> AsyncIterator[KeyWatch]:
    watch = KeyWatch(terminals, FileReads(), SupervisedClock(), told.append, lambda: agents)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        yield watch
        tasks.cancel_scope.cancel()
    terminals.close()


async def told_of(terminals: Terminals, told: list[KeysRead], agent: str) -> None:
    """Keys at this terminal are told; typed until they are, for it is watched a moment after the question came."""

    def found() -> bool:
        terminals.type(agent)
        return any(one.agent == agent for one in told)

    await eventually(found, what=f"keys at the terminal of {agent} are told")


async def test_keys_are_told_while_a_question_stands_and_not_after_it() -> None:
    terminals, told, story = Terminals("a", "b"), list[KeysRead](), asks("a")
    async with watching(terminals, told) as watch:
        watch.hear([story.agent])
        terminals.type("b")
        await told_of(terminals, told, "a")
        assert set(told) == {KeysRead("a", 1)}

        story.hook("tool-end", tool="Bash", seq=2)
        other = asks("b")
        watch.hear([story.agent, other.agent])
        await told_of(terminals, told, "b")
        told.clear()
        terminals.type("a")
        await told_of(terminals, told, "b")
        assert {one.agent for one in told} == {"b"}


async def test_keys_are_told_while_a_question_is_doubted_for_they_keep_its_dialog_from_being_drawn() -> None:
    terminals, told, story = Terminals("a", "b"), list[KeysRead](), asks("a")
    async with watching(terminals, told) as watch:
        story.tell(KeysRead("a", 1))
        story.wait(0.5)
        assert story.agent.items == ()
        watch.hear([story.agent])
        await told_of(terminals, told, "a")

        story.wait(6)
        other = asks("b")
        watch.hear([story.agent, other.agent])
        await told_of(terminals, told, "b")
        told.clear()
        terminals.type("a")
        await told_of(terminals, told, "b")
        assert {one.agent for one in told} == {"b"}


async def test_keys_at_one_terminal_say_nothing_of_another() -> None:
    terminals, told = Terminals("a", "b"), list[KeysRead]()
    async with watching(terminals, told, asks("a").agent, asks("b").agent):
        await told_of(terminals, told, "a")
        assert {one.agent for one in told} == {"a"}
        await told_of(terminals, told, "b")


async def test_who_asked_before_the_daemon_began_is_watched_and_who_has_no_pane_costs_nobody_else() -> None:
    terminals, told = Terminals("a"), list[KeysRead]()
    async with watching(terminals, told, asks("gone").agent, asks("a").agent):
        await told_of(terminals, told, "a")


async def test_a_new_run_that_asks_has_its_own_terminal_watched() -> None:
    terminals, told, story = Terminals("a"), list[KeysRead](), asks("a")
    async with watching(terminals, told, story.agent) as watch:
        await told_of(terminals, told, "a")
        first, terminals.ends["a"] = terminals.ends["a"], pty.openpty()
        tty.setraw(terminals.ends["a"][1])
        story.restart()
        story.exited(0)
        watch.hear([story.agent])
        story.started()
        story.hook("session-start", source="startup")
        story.hook("permission-request", tool="Bash", text="make", held=True, seq=1)
        told.clear()
        watch.hear([story.agent])
        await told_of(terminals, told, "a")
        assert {one.incarnation for one in told} == {2}
        for end in first:
            os.close(end)


async def test_a_terminal_that_could_not_be_asked_for_once_is_watched_after_what_is_heard_next() -> None:
    terminals, told, story = Terminals("a"), list[KeysRead](), asks("a")
    ends, asked = terminals.ends.pop("a"), anyio.Event()
    tty_of = terminals.tty

    async def tty(agent: str) -> str:
        asked.set()
        return await tty_of(agent)

    terminals.tty = tty  # type: ignore[method-assign]
    async with watching(terminals, told, story.agent) as watch:
        await asked.wait()
        await anyio.wait_all_tasks_blocked()
        terminals.ends["a"] = ends
        watch.hear([story.agent])
        await told_of(terminals, told, "a")


@pytest.mark.parametrize("harness", ["codex", "gemini"])
async def test_other_clis_with_hooks_are_watched_too(harness: str) -> None:
    terminals, told, story = Terminals("a"), list[KeysRead](), Story(claude(harness=harness))
    story.start()
    story.started()
    story.hook("session-start", source="startup")
    story.hook("permission-request", tool="Bash", text="make", seq=1)
    async with watching(terminals, told, story.agent):
        await told_of(terminals, told, "a")


class NoReads:
    """The kernel tells of no reads at any path that it is asked for, as on a filesystem without that."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def watch(self, path: str) -> bool:
        self.asked.append(path)
        return False

    def forget(self, path: str) -> None:
        raise AssertionError(f"{path} was never watched")

    async def next(self) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    def close(self) -> None:
        """Nothing is open."""


async def test_a_terminal_that_cannot_be_watched_is_tried_again_with_the_next_word_of_its_agent() -> None:
    terminals, reads, story = Terminals("a"), NoReads(), asks("a")
    watch = KeyWatch(terminals, reads, SupervisedClock(), lambda event: None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        for tried in (1, 2, 3):
            watch.hear([story.agent])
            await eventually(lambda tried=tried: len(reads.asked) == tried, what="it is tried once a word")  # type: ignore[misc]
            await eventually(lambda: not watch._asking, what="it is given up until then")
        tasks.cancel_scope.cancel()
    terminals.close()


class Kernel(NoReads):
    """The kernel tells of reads at any path."""

    def __init__(self) -> None:
        super().__init__()
        self.forgotten: list[str] = []

    def watch(self, path: str) -> bool:
        self.asked.append(path)
        return True

    def forget(self, path: str) -> None:
        self.forgotten.append(path)


async def test_a_question_that_is_over_while_its_terminal_is_asked_for_is_not_watched_and_the_others_are() -> None:
    over, reads = Story(claude("a")).works().agent, Kernel()

    class Panes:
        async def tty(self, agent: str) -> str:
            if agent == "a":
                watch.hear([over])
            if agent == "c":
                raise TerminalFailed("c has no pane")
            return f"/dev/{agent}"

    watch = KeyWatch(Panes(), reads, SupervisedClock(), lambda event: None)  # type: ignore[arg-type]
    watch.hear([asks(name).agent for name in "abcd"])
    await watch._follow()
    assert reads.asked == ["/dev/b", "/dev/d"]

    watch.hear([asks("e").agent])
    await watch._follow()
    assert reads.asked == ["/dev/b", "/dev/d", "/dev/e"], "each terminal is asked for once"
    watch.hear([Story(claude(name)).works().agent for name in "bd"])
    await watch._follow()
    assert reads.forgotten == ["/dev/b", "/dev/d"]
