"""The runtime's looks after a turn's end and at an idle screen, over transcripts in files, in a story's time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from phoenixd.core.actions import LookAtScreen
from phoenixd.core.agent import Agent
from phoenixd.core.moment import Instant, Moment
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.harness.screens import Screens
from phoenixd.runtime.cut_answers import CutAnswers
from phoenixd.runtime.screening import Screening
from tests.core.story import Story


class Clock:
    """The story's time, for what sleeps in the runtime."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._sleeping: list[tuple[Instant, anyio.Event]] = []

    def at(self) -> Instant:
        return self._story.at

    def now(self) -> Moment:
        return self._story.now

    async def sleep_until(self, at: Instant) -> None:
        woken = anyio.Event()
        self._sleeping.append((at, woken))
        await woken.wait()

    def next_due(self) -> Instant | None:
        """When the first of them wakes."""
        return min((at for at, _ in self._sleeping), default=None)

    def wakes(self) -> None:
        due = [one for one in self._sleeping if one[0] <= self._story.at]
        self._sleeping = [one for one in self._sleeping if one[0] > self._story.at]
        for _, woken in due:
            woken.set()


class ShownScreens(Screens):
    """Every screen shows that its agent is at work, or nothing but an input line."""

    shown = "working"

    def classify(self, agent: Agent, screen: str) -> str:
        return self.shown


class Transcripts:
    """Implements what the looks need of ports.Transcripts: the real reader, in this thread."""

    def __init__(self, room: Path) -> None:
        self._room = room
        self.files = TranscriptFiles(lambda agent: str(self.file(agent)))

    def file(self, agent: Agent) -> Path:
        return self._room / f"{agent.name}-{agent.session.session_id if agent.session is not None else ''}.jsonl"

    def write(self, agent: Agent, line: bytes) -> None:
        with self.file(agent).open("ab") as file:
            file.write(line + b"\n")

    async def facts(self, agent: Agent) -> SessionFacts | None:
        return self.files.facts_now(agent)


class Looks:
    """Looks, and keeps what was found until the story tells it."""

    def __init__(self, story: Story, find: Callable[[str], Agent | None], room: Path) -> None:
        self.clock, self.transcripts = Clock(story), Transcripts(room)
        self._found: list[Any] = []
        # The protocol has more methods than looks use.
        read = cast(Any, self.transcripts)
        self.cut_answers = CutAnswers(find, self._found.append, self.clock, read)
        self.screens = ShownScreens(lambda: story.wall)
        outside = SimpleNamespace(
            terminal=SimpleNamespace(capture=_nothing, last_typed=_never),
            screens=self.screens,
            transcripts=read,
            clock=self.clock,
        )
        self._screening = Screening(cast(Any, outside), find, self._found.append)

    def begin(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        tasks.start_soon(self.cut_answers.run)

    async def done(self, ordered: list[LookAtScreen]) -> list[Any]:
        """Have the looks done that are due, and return what they found."""
        self.clock.wakes()
        for one in ordered:
            self._tasks.start_soon(self._screening.look, one)
        await anyio.wait_all_tasks_blocked()
        found = self._found.copy()
        self._found.clear()
        return found


async def _nothing(agent: str) -> str:
    return ""


async def _never(agent: str) -> None:
    return None
