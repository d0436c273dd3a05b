"""How an agent's work looks, without running anything of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from phoenixd.core.agent import Agent
from phoenixd.core.work import Deed, Survey


@dataclass(frozen=True, slots=True)
class WorkReading:
    """How an agent's work looks. fingerprint: None where it cannot be told, and then `note` says why.

    done: the file that says so exists. tokens: what the session's context holds, 0 where unknown or not asked for.
    took: seconds. survey: what the next look needs to know of this one. deeds: what was made since the earlier look,
    and lost: why there may have been more. shared: other agents at work in the same worktree.
    """

    fingerprint: str | None
    note: str = ""
    done: bool = False
    tokens: int = 0
    took: float = 0.0
    survey: Survey | None = None
    deeds: tuple[Deed, ...] = ()
    lost: str = ""
    shared: tuple[str, ...] = ()


class Work(Protocol):
    """Looks at what agents work on, without running anything of it."""

    async def measure(self, agent: Agent, since: Survey | None = None) -> WorkReading:
        """Take the fingerprint of an agent's work, and tell what was made since an earlier look.

        It never raises for what the work looks like.
        """
        ...

    async def exists(self, directory: str, pattern: str) -> bool:
        """Whether a file matches a pattern below a directory; raises PhoenixdError where its disk does not answer."""
        ...

    async def can_enter(self, directory: str) -> bool | None:
        """Whether an agent could work in a directory; None where its file system does not answer."""
        ...
