"""The transcript of an open turn is looked at when it is written, where nothing else tells of a refused turn: with real
files and the kernel's word."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from phoenixd.core.agent import Agent
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.drivers.files.reads import FileWrites
from phoenixd.ports.evidence import Aside
from phoenixd.runtime.turn_watch import TurnWatch
from tests.core.story import Story, claude
from tests.hung_disk import hung_mount
from tests.waiting import eventually


class Seen:
    """A transcript for each agent, and the agents of which one was looked at."""

    def __init__(self, place: Path, *stories: Story) -> None:
        self.place = place
        self.agents = {story.agent.name: story for story in stories}
        self.looks: list[str] = []
        self.asked: list[str] = []

    def find(self, name: str) -> Agent | None:
        return self.agents[name].agent if name in self.agents else None

    async def file(self, agent: Agent) -> str | None:
        self.asked.append(agent.name)
        path = self.of(agent.name)
        return str(path) if path.exists() else None

    async def look(self, agent: Agent) -> None:
        self.looks.append(agent.name)

    def of(self, name: str) -> Path:
        return self.place / f"{name}.jsonl"

    def write(self, name: str) -> None:
        with self.of(name).open("a") as file:
            file.write("{}\n")

    async def until_looked_at(self, name: str, *, writing: bool = False) -> None:
        """Written to until it is, for it is watched a moment after its turn began."""
        self.looks.clear()

        def found() -> bool:
            if writing:
                self.write(name)
            return name in self.looks

        await eventually(found, what=f"the transcript of {name} is looked at")


def works(name: str, harness: str = "codex") -> Story:
    return Story(claude(name, harness=harness)).works()


@asynccontextmanager
async def watching(seen: Seen) -> AsyncIterator[TurnWatch]:
    """As a daemon begins that finds these agents."""
    watch = TurnWatch(
        seen.find, seen, FileWrites(), seen, SupervisedClock(), lambda: [story.agent for story in seen.agents.values()]
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        yield watch
        tasks.cancel_scope.cancel()


async def test_what_is_written_in_an_open_turn_is_looked_at_and_nothing_of_others(tmp_path: Path) -> None:
    seen = Seen(tmp_path, works("a"), works("b", "claude"), works("c"))
    seen.agents["c"].hook("stop")
    for name in "abc":
        seen.write(name)
    async with watching(seen):
        await seen.until_looked_at("a")
        seen.write("b")
        seen.write("c")
        await seen.until_looked_at("a", writing=True)

        assert set(seen.looks) == {"a"}
        assert seen.asked == ["a"], "where it is, is asked once for a turn"


async def test_a_transcript_that_begins_after_its_turn_is_watched_then(tmp_path: Path) -> None:
    seen = Seen(tmp_path, works("a"))
    async with watching(seen):
        await eventually(lambda: seen.asked, what="it is looked for")
        assert not seen.looks
        seen.write("a")
        await seen.until_looked_at("a")
        await seen.until_looked_at("a", writing=True)


async def test_a_turn_that_is_over_is_watched_no_more_and_the_next_one_is(tmp_path: Path) -> None:
    a, b = works("a"), works("b")
    seen = Seen(tmp_path, a, b)
    seen.write("a")
    seen.write("b")
    async with watching(seen) as watch:
        await seen.until_looked_at("a", writing=True)
        a.hook("stop")
        watch.hear([a.agent])
        await seen.until_looked_at("b", writing=True)
        seen.looks.clear()
        seen.write("a")
        await seen.until_looked_at("b", writing=True)
        assert "a" not in seen.looks

        a.hook("prompt-submit", text="and this")
        watch.hear([a.agent])
        await seen.until_looked_at("a", writing=True)


async def test_an_agent_that_is_removed_is_watched_no_more(tmp_path: Path) -> None:
    seen = Seen(tmp_path, works("a"), works("b"))
    seen.write("a")
    seen.write("b")
    async with watching(seen) as watch:
        await seen.until_looked_at("a", writing=True)
        del seen.agents["a"]
        watch.forget_removed(["a"])
        seen.write("a")
        await seen.until_looked_at("b", writing=True)

        assert set(watch._watched) == set(watch._working) == {"b"}


class OneHangs(Seen):
    """The transcript of `dead` lies on a disk that hangs."""

    def __init__(self, place: Path, dead: Path, *stories: Story) -> None:
        super().__init__(place, *stories)
        self.dead = dead

    async def file(self, agent: Agent) -> str | None:
        found = await super().file(agent)
        return str(self.dead / "dead.jsonl") if agent.name == "dead" else found


def test_a_transcript_on_a_disk_that_hangs_is_in_nobodys_way(tmp_path: Path) -> None:
    """The kernel was asked to watch it on the daemon's own loop: all of the daemon stood still with that disk."""
    looked_at = threading.Event()

    async def story(dead: Path) -> None:
        seen = OneHangs(tmp_path, dead, works("dead"))
        async with watching(seen) as watch:
            await eventually(lambda: seen.asked, what="the one that hangs is looked for")
            seen.agents["well"] = works("well")
            seen.write("well")
            watch.hear([seen.agents["well"].agent])
            await seen.until_looked_at("well")
            await seen.until_looked_at("well", writing=True)
        looked_at.set()

    with hung_mount(tmp_path / "hung") as dead:
        # A loop of its own: one that stands still must not hold up the end of this test.
        threading.Thread(target=anyio.run, args=(story, dead), daemon=True).start()
        assert looked_at.wait(60)


async def test_a_turn_that_ended_before_its_transcript_was_watched_leaves_no_watch(tmp_path: Path) -> None:
    a = works("a")
    seen, writes = Seen(tmp_path, a), Late()
    seen.write("a")
    watch = TurnWatch(seen.find, seen, writes, seen, SupervisedClock(), lambda: [a.agent])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        with anyio.fail_after(60):
            await writes.begun.wait()
            a.hook("stop")
            watch.hear([a.agent])
            writes.may_end.set()
            await writes.forgotten.wait()
        tasks.cancel_scope.cancel()
    assert (watch._watched, seen.looks) == ({}, [])


class Late(FileWrites):
    """Watches a file when it is told to, and tells what it watches no more."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.may_end, self.forgotten = anyio.Event(), anyio.Event(), anyio.Event()

    async def watch_aside(self, path: str, aside: Aside) -> bool:
        self.begun.set()
        await self.may_end.wait()
        return await super().watch_aside(path, aside)

    def forget(self, path: str) -> None:
        super().forget(path)
        self.forgotten.set()
