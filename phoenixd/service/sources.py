"""What the service asks of other rooms: of agents' papers, transcripts and starts, of projects and handoffs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from phoenixd.api.values import BriefPage, LoopCounts, LoopsRead, MarkerFace, RebuiltMarker
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.brief.health import Fault
from phoenixd.documents.log_lines import LogLine
from phoenixd.documents.project.memory import SharedFile
from phoenixd.documents.project.package import Doubts
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.resolved import Resolved
from phoenixd.documents.state import OpenLoop
from phoenixd.documents.turn_rows import TurnRow
from phoenixd.planting import Marker


class Markers(Protocol):
    """What the service asks of the papers of markers."""

    async def face(self, agent: Agent) -> MarkerFace: ...

    async def mint(self, phrase: str | None) -> Marker: ...

    async def from_transcript(self, agent: Agent) -> RebuiltMarker | None: ...


class Knowledge(Protocol):
    """What the service reads of agents' files."""

    def loops(self, agent: str) -> LoopCounts: ...

    def loops_read(self, agent: str, holder: str) -> LoopsRead: ...

    def stale_loops(self, agents: Iterable[str]) -> Mapping[str, int]: ...

    @property
    def stale_days(self) -> int: ...

    async def open_loops(self, agent: str) -> tuple[OpenLoop, ...]: ...

    async def brief(self, agent: str) -> BriefPage | None: ...

    async def check_brief(self, agent: str) -> tuple[Fault, ...]: ...

    async def generate_brief(self, agent: Agent) -> BriefPage: ...

    async def resolve(self, agent: Agent, loop_id: str, reason: str) -> Resolved: ...

    def heartbeat(self, agent: str) -> Mapping[str, object] | None: ...

    @property
    def resonance(self) -> Markers: ...

    async def look_at_breaker(self, agent: Agent) -> Event | None:
        """What somebody did to a loop's breaker file, None for nothing."""
        ...

    def clean(self, agent: str | None, text: str) -> str:
        """A text without its secrets, also those of the agent's variables."""
        ...

    def clean_of_all(self, agent: str | None, text: str) -> str:
        """A text without the secrets of any agent."""
        ...


class AgentLog(Protocol):
    """LogReader of the API, of agents in the place of names."""

    async def newest(self, agents: Sequence[Agent], most: int, since: float | None, now: float) -> list[LogLine]: ...

    async def added(self, agents: Sequence[Agent], since: float, most: int) -> tuple[list[LogLine], bool]: ...

    async def earlier(self, agent: Agent, most: int, since: float) -> list[LogLine]:
        """What the agent's session said, where that is not the one that it is in: the newest lines since then."""
        ...

    def resume(self, places: Mapping[str, str]) -> None: ...

    def places(self) -> dict[str, str]: ...


class Transcripts(Protocol):
    """What the service asks of the transcripts: a new reader of what they say."""

    def log(self, clean: Callable[[str, str], str]) -> AgentLog: ...

    async def turns(self, agent: Agent, most: int, clean: Callable[[str], str]) -> list[TurnRow]: ...


class Starts(Protocol):
    """What the service asks of starts: how runs are named to outsiders, and what a start would meet."""

    def token(self, run_id: str) -> str: ...

    def command_problem(self, spec: AgentSpec) -> str | None:
        """Why the command cannot be run as things stand, for warnings of `plan` and `apply`. Blocking."""
        ...

    async def start_problems(self, agent: Agent) -> tuple[str, ...]:
        """What stands in the way of an unattended start, for warnings at `add` and `run`."""
        ...


class SharedMemory(Protocol):
    """What the service asks of the memory that projects share; see phoenixd.memory.sharing. Blocking."""

    def listed(self) -> tuple[SharedFile, ...]: ...

    def hashes(self, workspace: str, tree: Tree, agent: str | None) -> Mapping[str, str]: ...

    def share(self, workspace: str, tree: Tree, path: str, agent: str | None) -> tuple[SharedFile, bool]: ...

    def withdraw(self, project: str) -> tuple[str, ...]: ...


class Handover(Protocol):
    """What the service asks of the packages on disk."""

    async def doubts(self, seat: Seat, quoted: str) -> Doubts: ...

    async def fault(self, seat: Seat) -> str | None: ...
