"""The files of breakers: written after decisions, and looked at for what an operator did to them.

A file that is gone resets its breaker, one that was edited sets it, and a corrupt one puts it on trial (G33, F-CB-8).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import anyio
import structlog
from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.core.breaker import is_new
from phoenixd.core.events import Event
from phoenixd.core.events.orders import BreakerCorrupt, BreakerEdited, BreakerReset
from phoenixd.core.turns import is_judged
from phoenixd.directories import Directories
from phoenixd.documents.breaker_file import NAME, SIZE_LIMIT, BreakerFile, read_breaker, render_breaker
from phoenixd.errors import FileUnreadable, UnsafeFile
from phoenixd.memory.bulkhead import bulkhead
from phoenixd.memory.files import Files

INTERVAL = 10.0
"""Seconds between two looks at the files; a start and `breaker show` look at once."""
TRIES = 5
PATIENCE = 1.0
"""Seconds after which a file that cannot be read is no write of another hand in progress."""

log = structlog.get_logger("phoenixd.documents")


class BreakerFiles:
    """Writes what was decided, unless somebody else has written since; that is told first, and decided upon."""

    def __init__(self, directories: Directories, files: Files) -> None:
        self._directories = directories
        self._files = files
        self._written: dict[str, bytes | None] = {}
        self._told: dict[str, bytes | None] = {}
        """What stood in a file when somebody's change of it was told last: that may be written over."""
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    def leave(self, name: str) -> None:
        """Keep nothing of an agent that was removed but its file."""
        if name in self._locks and not self._locks[name].locked():
            for known in (self._written, self._told, self._locks):
                known.pop(name, None)

    async def publish(self, agent: Agent) -> Event | None:
        """Bring a loop's file up to date; returns what somebody did to it instead, if so. Raises OSError."""
        if not is_judged(agent):
            return None
        async with self._locks[agent.name]:
            for _ in range(TRIES):
                content, found = await self._read(agent)
                if found is not None:
                    return found
                rendered = render_breaker(agent.breaker, _others(content))
                if await to_thread.run_sync(self._write, agent, rendered, content):
                    self._told.pop(agent.name, None)
                    self._written[agent.name] = rendered
                    return None
            log.warning("breaker_file_not_written", agent=agent.name, reason="another hand writes it all the time")
            return None

    async def look(self, agent: Agent) -> Event | None:
        """What somebody did to a loop's file since it was written, None for nothing."""
        if not is_judged(agent):
            return None
        async with self._locks[agent.name]:
            return (await self._read(agent))[1]

    async def look_at_all(self, agents: Callable[[], Iterable[Agent]], tell: Callable[[Event], None]) -> None:
        """Tell what somebody did to any agent's file."""
        for agent in filter(is_judged, tuple(agents())):
            with bulkhead(agent.name, "a look at its breaker's file"):
                if (found := await self.look(agent)) is not None:
                    tell(found)

    async def _read(self, agent: Agent) -> tuple[bytes | None, Event | None]:
        """What stands in the file, and what somebody did to it, told once."""
        content, reading = await to_thread.run_sync(self._load, agent)
        if isinstance(reading, str):
            await anyio.sleep(PATIENCE)
            content, reading = await to_thread.run_sync(self._load, agent)
        name = agent.name
        if any(name in known and known[name] == content for known in (self._told, self._written)):
            return content, None
        event = self._event(agent, content, reading)
        if event is None:
            return content, None
        if isinstance(event, BreakerCorrupt) and content:
            kept = self._path(agent) + ".damaged"
            await to_thread.run_sync(self._files.replace, kept, content)
        self._told[name] = content
        log.warning("breaker_file_changed", agent=name, what=type(event).__name__)
        return content, event

    def _write(self, agent: Agent, rendered: bytes, content: bytes | None) -> bool:
        """Write unless somebody else has done something to the file since it was read."""
        if rendered == content:
            return True
        if content == b"":
            # Nothing that could be compared stood there: a link, a FIFO, an empty file.
            self._files.replace(self._path(agent), rendered)
            return True
        return self._files.replace_unchanged(self._path(agent), rendered, content)

    def _event(self, agent: Agent, content: bytes | None, reading: BreakerFile | str | None) -> Event | None:
        match reading:
            case None:
                # A new breaker's file may not have been written yet, and a reset would change nothing.
                return None if is_new(agent.breaker) else BreakerReset(agent.name, f"the deletion of {NAME}")
            case str(why):
                return BreakerCorrupt(agent.name, why)
            case BreakerFile(by="daemon"):
                return None
            case BreakerFile(state=state, no_progress=count):
                return BreakerEdited(agent.name, state, count)

    def _load(self, agent: Agent) -> tuple[bytes | None, BreakerFile | str | None]:
        try:
            content = self._files.read_plain(self._path(agent), SIZE_LIMIT)
        except FileNotFoundError:
            return None, None
        except FileUnreadable:
            raise
        except UnsafeFile as unsafe:
            return b"", unsafe.message
        return content, read_breaker(content)

    def _path(self, agent: Agent) -> str:
        return os.path.join(self._directories.agent_state(agent.name), NAME)


def make_file(agent: Agent, directory: Path, files: Files) -> None:
    """Make the file of a breaker that has judged nothing, before its agent runs (G18). Blocking; raises OSError.

    Its first judgements may come faster than documents are written, and a file that is not there later was deleted,
    which resets the breaker (G33).
    """
    path = directory / NAME
    if is_judged(agent) and is_new(agent.breaker) and not os.path.lexists(path):
        files.replace_unchanged(path, render_breaker(agent.breaker, {}), None)


def _others(content: bytes | None) -> dict[str, object]:
    reading = read_breaker(content) if content else None
    return dict(reading.others) if isinstance(reading, BreakerFile) else {}
