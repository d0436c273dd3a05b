"""An end that its exit code does not explain waits for a look at what the run has left.

A look states which ends it may tell more about, and how long it is waited for. The end is told whatever it finds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import is_its_own
from phoenixd.core.events import Event
from phoenixd.core.events.runs import AgentExited
from phoenixd.errors import TerminalFailed
from phoenixd.ports import Sink

Found = TypeVar("Found")

HISTORY = 40
"""Lines that have scrolled off: what is written below the last words of a terminal may have moved them."""

log = structlog.get_logger()


class Look(Protocol):
    """A look at what a run has left: its transcript, or its terminal."""

    @property
    def patience(self) -> float:
        """Seconds for which an end is held back at most."""
        ...

    def may_tell(self, agent: Agent, ended: AgentExited) -> bool:
        """Whether it may tell more of this end, which nobody had ordered."""
        ...

    async def found(self, ended: AgentExited) -> tuple[Event, ...]:
        """What is told in place of this end, which is the last of it; raises TerminalFailed."""
        ...


class PostMortem:
    """Looks and tells; what follows is the core's to say."""

    def __init__(
        self, find: Callable[[str], Agent | None], tell: Sink, tasks: TaskGroup, looks: Sequence[Look]
    ) -> None:
        """looks: the first one that may tell more of an end is the one that is waited for."""
        self._find, self._tell, self._tasks, self._looks = find, tell, tasks, looks
        self._under_way: set[tuple[str, str]] = set()

    def looks_into(self, ended: AgentExited) -> bool:
        """Take an end that has to be looked into first, and tell it; False where it is to be told as it is."""
        agent = self._find(ended.agent)
        look = next((look for look in self._looks if is_unexplained(agent, ended, look)), None)
        # A shim that is asked anew says the same end again.
        if look is not None and (ended.agent, ended.run_id) not in self._under_way:
            self._under_way.add((ended.agent, ended.run_id))
            self._tasks.start_soon(self._look_into, ended, look)
        return look is not None

    async def _look_into(self, ended: AgentExited, look: Look) -> None:
        told: tuple[Event, ...] = (ended,)
        try:
            told = await in_time(look.patience, ended.agent, look.found(ended)) or told
        finally:
            self._under_way.discard((ended.agent, ended.run_id))
            for event in told:
                self._tell(event)


def is_unexplained(agent: Agent | None, ended: AgentExited, look: Look) -> bool:
    """Whether an agent's run ended by itself, and this look may tell more of it."""
    if agent is None or agent.run is None or agent.run.run_id != ended.run_id or ended.cause != "exit":
        return False
    return is_its_own(agent.state) and look.may_tell(agent, ended)


async def in_time(patience: float, agent: str, found: Awaitable[Found]) -> Found | None:
    """What a look has found; None where that takes more seconds than these, or fails."""
    try:
        with anyio.move_on_after(patience):
            return await found
    except TerminalFailed as failure:
        log.warning("end_without_screen", agent=agent, reason=failure.message)
    except Exception:
        # What an agent has left may be anything: a fault in reading it costs this look.
        log.exception("end_not_looked_into", agent=agent)
    return None
