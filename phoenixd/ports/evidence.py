"""Signs of life that come by files, changes of files, and what CLIs write of a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from phoenixd.core.agent import Agent
from phoenixd.documents.conversation import Conversation
from phoenixd.documents.conversation_end import DEFAULT_BUDGET
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.transcript import Used

T = TypeVar("T")


class Evidence(Protocol):
    """Follows heartbeat files and transcripts of living runs, and reports growth to the sink given at construction."""

    def follow(self, agent: Agent) -> None: ...

    def forget(self, agent: str) -> None: ...


class Changes(Protocol):
    """What changes in directories, told when it happens."""

    def watch(self, directory: Path) -> bool:
        """Watch it from now on, also where it is watched already; False where it is there and cannot be watched.

        Blocking, for as long as its disk does not answer."""
        ...

    def forget(self, directory: Path) -> None:
        """Watch it no more; one that is not watched is no failure."""
        ...

    async def next(self) -> frozenset[Path]:
        """Wait until something changed; a directory stands for all that is in it."""
        ...

    def close(self) -> None: ...


class Reads(Protocol):
    """Which terminals their programs read, told when it happens."""

    def watch(self, path: str) -> bool:
        """Tell of reads of this terminal from now on; whether that can be done."""
        ...

    def forget(self, path: str) -> None: ...

    async def next(self) -> frozenset[str]:
        """Wait until some were read."""
        ...

    def close(self) -> None: ...


class Aside(Protocol):
    """Runs what a disk may hold up where nothing else waits for it."""

    async def __call__(self, read: Callable[[], T]) -> T: ...


class Writes(Protocol):
    """Which files were written to, told when it happens."""

    async def watch_aside(self, path: str, aside: Aside) -> bool:
        """Tell of writes to this file from now on; whether that can be done."""
        ...

    def forget(self, path: str) -> None: ...

    async def next(self) -> frozenset[str]:
        """Wait until some were written to."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class AnswerGiven:
    """An answer to a request for permission, and what in the session's files can tell of it.

    mark: ASCII, the end of what a denied agent was told. after: the lengths of the files before it was given, in bytes.
    since: when it was given (wall), because a CLI writes some time after it has made a record. call: the id of the call
    that asks; empty where that is not known.
    """

    allow: bool
    mark: str
    after: Mapping[str, int] = field(default_factory=dict)
    since: float = 0.0
    call: str = ""


class Transcripts(Protocol):
    """What CLIs write down of a session, read where no hook tells."""

    async def end(self, agent: Agent) -> int:
        """How long the transcript is, in bytes."""
        ...

    async def ends(self, agent: Agent) -> dict[str, int]:
        """How long each file of the session is, in bytes: those of its subagents too."""
        ...

    async def answer_counted(self, agent: Agent, given: AnswerGiven) -> bool | None:
        """Whether the answer that was given to a permission counted, as the session's files tell.

        None: they do not tell yet. True also where nothing of the kind is ever written.
        """
        ...

    async def queued(self, agent: Agent, after: int) -> tuple[str, ...]:
        """Prompts that the transcript, after that many bytes, says were put off until the CLI has time for them."""
        ...

    async def facts(self, agent: Agent) -> SessionFacts | None:
        """The newest facts of the agent's session; None where no transcript can be read."""
        ...

    def end_now(self, agent: Agent) -> SessionFacts | None:
        """As `facts`, of the transcript's end alone, which is read anew beside all other readers.

        Blocking."""
        ...

    def usage_now(self, agent: Agent) -> Used | None:
        """What the newest request held; None where that is unknown, also between a compaction and the next request.

        Blocking."""
        ...

    async def conversation(self, agent: Agent, budget: int = DEFAULT_BUDGET) -> Conversation | None:
        """The end of what was said, within a budget of characters; None where no transcript can be read."""
        ...
