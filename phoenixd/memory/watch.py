"""The brief-watchdog: an agent's state.json and brief.md, looked at when they may be too old, and no sooner (P41, P42).

It wakes at the earliest instant at which a brief could be too old; while an alert of its own stands, also a while after
each publication, so that the cure is told. What is wrong is decided by documents.brief.health; this only looks.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import anyio
from anyio import to_thread

from phoenixd.core import alerts
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.directories import Directories
from phoenixd.documents.brief.health import Fault, age_is_due, check_brief, check_state
from phoenixd.documents.state_reading import SIZE_LIMIT as STATE_LIMIT
from phoenixd.errors import FileUnreadable, UnsafeFile
from phoenixd.memory.bulkhead import bulkhead
from phoenixd.memory.files import Files
from phoenixd.ports import Clock

BRIEF_LIMIT = 4 << 20
FIRST_LOOK = 60.0
LOOK_AGAIN = 3600.0
"""Seconds after which an agent is looked at again while something of it is wrong, or after it was repaired."""


class DocumentWatch:
    """Tells TroubleSeen and TroubleGone of the kinds `brief` and `state`. agents: those that are known now."""

    def __init__(
        self,
        directories: Directories,
        files: Files,
        clock: Clock,
        max_age: float,
        agents: Callable[[], Iterable[Agent]],
        tell: Callable[[Event], None],
    ) -> None:
        self._directories = directories
        self._files = files
        self._clock = clock
        self._max_age = max_age
        self._agents = agents
        self._tell = tell
        self._due: dict[str, float] = {}
        self._damaged_until: dict[str, float] = {}
        """Until when damage is told (wall): it is repaired within a second, and nobody would see it."""
        self._woken = anyio.Event()

    def published(self, agent: Agent) -> None:
        """An agent's documents were written: what stood of its brief may be over."""
        if shown(agent) not in self._due or alerts.find(agent.alerts, "brief") is not None:
            self._due[shown(agent)] = 0.0
            self._woken.set()

    def damaged(self, name: str, text: str) -> None:
        """Something of an agent's was not to be relied on, and was kept beside what was put in its place."""
        self._tell(TroubleSeen(name, "state", text))
        self._damaged_until[name] = self._due[name] = self._clock.now().wall + LOOK_AGAIN
        self._woken.set()

    async def run(self) -> None:
        """Watch for ever."""
        for agent in self._agents():
            # What a daemon finds too old at its start, it is about to write anew (F-BR-8).
            self._due.setdefault(shown(agent), self._clock.now().wall + FIRST_LOOK)
        while True:
            self._woken = anyio.Event()
            for agent in tuple(self._agents()):
                if self._due.get(shown(agent), math.inf) <= self._clock.now().wall:
                    # Once more within the hour, should this fail.
                    self._due[shown(agent)] = self._clock.now().wall + LOOK_AGAIN
                    with bulkhead(agent.name, "a look at its documents"):
                        await self._look(agent)
            self._forget_strangers()
            await self._rest()

    async def _rest(self) -> None:
        """Until the earliest look is due, or somebody wakes it."""
        now = self._clock.now()
        # The wall clock may jump ahead, and the due times with it.
        until = min([now.wall + LOOK_AGAIN, *self._due.values()])

        async def wake() -> None:
            await self._woken.wait()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wake)
            await self._clock.sleep_until(now.at + max(0.0, until - now.wall))
            tasks.cancel_scope.cancel()

    async def _look(self, agent: Agent) -> None:
        state, brief, written = await to_thread.run_sync(self._read, shown(agent))
        now = self._clock.now().wall
        faults: tuple[Fault, ...] = ()
        if agent.desired is Desired.RUNNING and agent.has_begun:
            faults = check_brief(brief, shown(agent), written, now, self._max_age)
        self._report(agent, "brief", faults, "brief.md is whole, and young enough")
        broken = tuple(fault for fault in check_state(state, shown(agent), now) if fault.kind == "schema")
        if broken or self._damaged_until.get(shown(agent), 0.0) <= now:
            self._report(agent, "state", broken, "state.json is sound")
        wrong = bool(faults or broken)
        fresh = age_is_due(written, self._max_age) if written is not None else now + LOOK_AGAIN
        due = now + LOOK_AGAIN if wrong or fresh <= now else fresh
        damaged = self._damaged_until.get(shown(agent), 0.0)
        self._due[shown(agent)] = min(due, damaged) if damaged > now else due

    def _report(self, agent: Agent, kind: str, faults: tuple[Fault, ...], sound: str) -> None:
        if faults:
            self._tell(TroubleSeen(agent.name, kind, "; ".join(fault.text for fault in faults[:3])))
        elif alerts.find(agent.alerts, kind) is not None:
            self._tell(TroubleGone(agent.name, kind, sound))

    def _read(self, name: str) -> tuple[bytes | None, bytes | None, float | None]:
        """Content of state.json and brief.md, and when the brief was written."""
        directory = self._directories.agent_state(name)
        brief = self._content(directory / "brief.md", BRIEF_LIMIT)
        return self._content(directory / "state.json", STATE_LIMIT), brief, _written(directory / "brief.md")

    def _content(self, path: Path, limit: int) -> bytes | None:
        try:
            return self._files.read_plain(path, limit)
        except FileUnreadable:
            raise
        except (FileNotFoundError, UnsafeFile):
            return None

    def _forget_strangers(self) -> None:
        known = {shown(agent) for agent in self._agents()}
        self._due = {name: due for name, due in self._due.items() if name in known}
        self._damaged_until = {name: until for name, until in self._damaged_until.items() if name in known}


def shown(agent: Agent) -> str:
    """The name under which an agent's papers stand: that of its seat, where it has one."""
    return agent.spec.seat or agent.name


def _written(path: Path) -> float | None:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime
    except OSError:
        return None
