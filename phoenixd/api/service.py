"""What the API needs of the daemon, as Protocols; the values that cross them stand in `values.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from phoenixd.api.finding import Finding
from phoenixd.api.values import (
    BriefPage,
    Dismiss,
    Facts,
    LoopCounts,
    LoopsRead,
    MarkerFace,
    MemoryFace,
    Planned,
    RebuiltMarker,
    Rechecked,
)
from phoenixd.core.agent import Agent
from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.moment import Moment
from phoenixd.core.sight import Sight
from phoenixd.documents.brief.health import Fault
from phoenixd.documents.log_lines import LogLine
from phoenixd.documents.project.memory import SharedFile
from phoenixd.documents.project.package import Doubts
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.resolved import Resolved
from phoenixd.documents.state import OpenLoop
from phoenixd.documents.turn_rows import TurnRow
from phoenixd.planting import Marker
from phoenixd.ports.journal import Journal, StoredEntry
from phoenixd.ports.processes import Leftovers


class LogReader(Protocol):
    """What agents' transcripts say. What a reader was given of an agent, it is not given again."""

    async def newest(self, names: Sequence[str], most: int, since: float | None, now: float) -> list[LogLine]:
        """The newest `most` lines of all together in the order of time, none older than `since`; all in wall seconds.

        now: no line can be newer.
        """
        ...

    async def added(self, names: Sequence[str], since: float, most: int) -> tuple[list[LogLine], bool]:
        """What was added, agent by agent, each in order, and whether there is more of it. Of an agent that is new to
        the reader the newest `most` lines, none older than `since` (wall seconds)."""
        ...

    def resume(self, places: Mapping[str, str]) -> None:
        """Begin where another reader was."""
        ...

    def places(self) -> dict[str, str]:
        """Where reading goes on, by agents, in words for `resume`; those that said something last come first."""
        ...


class Gate(Protocol):
    """What holds back what agents tell while an operator is being answered."""

    def enter(self, who: object) -> None: ...

    def leave(self, who: object) -> None:
        """To be called as often as one likes."""
        ...


class Attendant(Protocol):
    """What is told of each change, after it was saved or is late with that; it never waits."""

    def turned(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None: ...

    def seen(self, agent: str) -> None:
        """Something else is seen of this agent (see core.sight)."""
        ...

    def saved(self, newest: int) -> None:
        """The journal has this row."""
        ...


class Service(Protocol):
    """The daemon as the handlers see it. All may raise PhoenixdError, whose message and remedy reach the caller."""

    @property
    def journal(self) -> Journal:
        """For reads, and for remember and recall; the handlers never commit."""
        ...

    def fleet(self) -> Fleet: ...

    def now(self) -> Moment: ...

    def facts(self) -> Facts: ...

    def loops(self, agent: str) -> LoopCounts: ...

    def loops_read(self, agent: str) -> LoopsRead: ...

    def stale_loops(self, agents: Iterable[str]) -> Mapping[str, int]:
        """How many open loops of each of these are stale, where any are."""
        ...

    def sight(self, agent: Agent) -> Sight:
        """What is seen of an agent beside what is decided on, without secrets."""
        ...

    def attend(self, attendant: Attendant) -> None:
        """Tell it of each change from now on."""
        ...

    async def look_at_terminals(self) -> None:
        """Have who is attached where be known as of now, where that is to be had soon."""
        ...

    async def meter(self, agent: str) -> None:
        """Have how full the agent's context is be known as of now, before an order that hangs on it."""
        ...

    @property
    def stale_days(self) -> int:
        """The age in days beyond which an open loop is stale."""
        ...

    async def open_loops(self, agent: str) -> tuple[OpenLoop, ...]:
        """The agent's open loops as they stand in its files now."""
        ...

    async def resolve(self, agent: str, loop_id: str, reason: str) -> Resolved:
        """Close an open loop; unless the answer is `resolved`, nothing was written."""
        ...

    async def brief(self, agent: str) -> BriefPage | None:
        """The agent's brief; None where there is none that can be read."""
        ...

    async def check_brief(self, agent: str) -> tuple[Fault, ...]:
        """What is wrong with the agent's state.json and brief.md."""
        ...

    async def generate_brief(self, agent: str) -> BriefPage:
        """Write the agent's brief anew now, also where nothing changed."""
        ...

    async def marker(self, agent: str) -> MarkerFace:
        """What stands on disk of an agent's marker."""
        ...

    async def mint(self, phrase: str | None) -> Marker:
        """A marker of its own, noted in the ledger; raises ValueError for a phrase that no marker can bear."""
        ...

    async def rebuild_marker(self, agent: str) -> RebuiltMarker | None:
        """Make an agent's papers anew from its transcript's footers; None where there is none."""
        ...

    async def past_handoffs(self, seat: str, most: int) -> list[Handoff]:
        """A seat's handoffs that are over, the newest first."""
        ...

    async def package_fault(self, seat: str) -> str | None:
        """Why the package of a seat's newest handoff cannot be read or rested on; None: it can, or there is none."""
        ...

    async def package_doubts(self, seat: str, quoted: str) -> Doubts:
        """Why the package of a handoff, which is acknowledged by this hash, cannot be rested on."""
        ...

    async def projects(self, workspace: str) -> tuple[str, ...]:
        """The names of a workspace's projects."""
        ...

    async def project(self, workspace: str, project: str) -> Tree:
        """A project as it is on the disk now; an empty one where there is none."""
        ...

    async def shared_memory(self, workspace: str, tree: Tree, agent: str | None) -> MemoryFace:
        """What projects share, and the content hashes of this one's memory. agent: whose secrets are left out too."""
        ...

    async def share_memory(self, workspace: str, tree: Tree, path: str, agent: str | None) -> tuple[SharedFile, bool]:
        """Share one memory file; whether its text is new there. Raises PhoenixdError and OSError."""
        ...

    async def withdraw_memory(self, project: str) -> tuple[str, ...]:
        """Take back all that a project has shared; the names. Raises OSError."""
        ...

    async def order(self, event: Event) -> Refusal | None:
        """Put an event on the queue; return after the commit that holds it, with the refusal if it was refused."""
        ...

    async def wait_for(self, predicate: Callable[[Fleet], bool], timeout: float) -> bool:
        """Return True as soon as the predicate holds (at once if it does), False after `timeout` seconds."""
        ...

    async def wait_committed(self, after: int, timeout: float) -> bool:
        """Return True as soon as the journal holds a row newer than `after`, False after `timeout` seconds.

        A doorbell without content: followers read the rows themselves, so that no queue has to be bounded.
        """
        ...

    async def add(self, name: str, table: Mapping[str, object]) -> Refusal | tuple[str, ...]:
        """Declare an agent from the keys of an [agent.NAME] table: check, write agents.d/NAME.toml, order it.

        Returns warnings for people (a missing binary is one), or the refusal, with nothing written.
        """
        ...

    async def remove(self, name: str, by: str = "operator", act: str = "") -> Refusal | None:
        """Withdraw an agent and its agents.d file; the run is ended by decisions that follow.

        act: under which name that can be taken back; without one it cannot.
        """
        ...

    async def bring_back(self, name: str, by: str, act: str) -> Refusal | None:
        """Take an act on an agent back; one that was removed is declared again as it was."""
        ...

    async def plan(self) -> Planned:
        """Compare the files with the fleet; raises ConfigurationError."""
        ...

    async def apply(self) -> Planned:
        """Do what `plan` shows, and return what was done; raises ConfigurationError, with nothing done."""
        ...

    async def doctor(self, shell_path: str) -> tuple[Finding, ...]:
        """shell_path: the PATH of the shell that asks; empty where nobody is told what that finds."""
        ...

    def size_next(self, name: str, columns: int, lines: int) -> None:
        """Have the agent's next run, if it starts soon, begin at the size of a terminal that waits to show it."""
        ...

    async def pane(self, name: str, lines: int) -> str:
        """The last lines of the agent's terminal as plain text, history included where there is some."""
        ...

    async def screen(self, name: str, lines: int) -> str:
        """The same with its colours: SGR sequences stand in it, and nothing else that a terminal obeys."""
        ...

    async def turns(self, name: str, most: int) -> list[TurnRow]:
        """The newest turns of the agent's session, without secrets, the oldest of them first."""
        ...

    def log(self) -> LogReader:
        """A new reader of what the agents' transcripts say, without secrets."""
        ...

    async def heartbeat(self, name: str) -> Mapping[str, object] | None:
        """The agent's heartbeat.json as read safely, None where there is none."""
        ...

    async def look_at_breaker(self, name: str) -> None:
        """Take in what somebody did to the file of an agent's breaker."""
        ...

    async def clean(self, name: str, dry_run: bool, by: str) -> Leftovers:
        """End what the agent's runs left over, and what its rules choose of the living one; strangers are listed."""
        ...

    def without_secrets(self, body: dict[str, Any]) -> dict[str, Any]:
        """What is told of files that any agent may have written, without the secrets of any."""
        ...

    async def recheck(self) -> tuple[Rechecked, ...]:
        """Look at every agent's processes and evidence now; one entry for each agent."""
        ...

    def shut_down(self, dismiss: Dismiss = "none") -> None:
        """Begin to end the daemon, leaving the agents alone; returns at once.

        dismiss: which shims and terminals end as well, for no agent runs any more.
        """
        ...

    def default_argv(self, harness: str) -> tuple[str, ...]:
        """The program of an agent CLI where nobody names one."""
        ...

    def agent_of_token(self, token: str) -> str | None:
        """The agent whose living run was given this token; compared in constant time."""
        ...

    def shim_pids(self) -> Mapping[int, str]:
        """The pid of every living shim, with its agent. Complete before the API is bound."""
        ...

    @property
    def agents_dir(self) -> str:
        """The directory of all agents' own directories, which every process of a run has in its environment."""
        ...

    @property
    def agents_cgroup(self) -> str | None:
        """The cgroup below which `<agent>/<incarnation>` lie, as /proc/PID/cgroup spells it."""
        ...
