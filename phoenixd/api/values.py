"""The plain values that cross between the daemon and its API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.durability import Latency
from phoenixd.documents.project.memory import SharedFile
from phoenixd.documents.resonance.anchor import Anchor
from phoenixd.documents.resonance.session_seed import SessionSeed
from phoenixd.planting import Marker

Dismiss = Literal["none", "idle", "all"]
"""Which shims and terminals end with the daemon, where no agent runs; idle: not a server that a person works in."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The daemon about itself. started_at: wall seconds.

    tmux: version of the terminal server that answers, or None. tier: how well an agent is fenced in.
    degraded: what is or was lately wrong with saving decisions; None while all is well. halted: why nothing new is
    started now. commits: what they took. state, runtime, configuration: the directories
    that it works with, the last one None where it has none.
    """

    version: str
    pid: int
    started_at: float
    tmux: str | None
    tier: str
    degraded: str | None = None
    alerts: tuple[StandingAlert, ...] = ()
    """Those that concern no single agent."""
    state: str = ""
    runtime: str = ""
    configuration: str | None = None
    halted: str | None = None
    commits: Latency | None = None
    again: str = "phoenixctl up"
    """What starts it again once it has ended."""


@dataclass(frozen=True, slots=True)
class BriefFace:
    """What a list of agents says of a brief. written: wall seconds; age: seconds. writer: None before the first run.

    next: when it is read anew (wall), as far as that is known.
    """

    written: float
    age: float
    writer: str | None = None
    next: float | None = None


@dataclass(frozen=True, slots=True)
class LoopCounts:
    """Open loops of an agent, and how many of them are stale. brief: the page that tells them; None: none is known."""

    open: int = 0
    stale: int = 0
    brief: BriefFace | None = None
    unconfirmed: int = 0
    """Those that no session proves to be still open."""


@dataclass(frozen=True, slots=True)
class LoopsRead:
    """As of when open loops are, for a session is not read anew with each turn. Wall times.

    at: the newest reading; 0 where there was none. due: when a turn that ended since is read; 0 where none did.
    """

    at: float = 0.0
    due: float = 0.0


@dataclass(frozen=True, slots=True)
class BriefWriting:
    """The newest brief run: its writer, why it was not the one that is configured, and the tokens that it took."""

    writer: str
    note: str = ""
    tokens: int = 0
    tokens_today: int = 0


@dataclass(frozen=True, slots=True)
class BriefPage:
    """brief.md as it stands. written: wall seconds. writing: who wrote of the session, and what it cost."""

    path: str
    text: str
    written: float
    writing: BriefWriting | None = None


@dataclass(frozen=True, slots=True)
class MarkerFace:
    """What stands on disk of an agent's marker. rebuilt: what it was made anew from; empty where it was not."""

    anchor: Anchor | None
    seed: SessionSeed | None
    directory: str
    rebuilt: str = ""


@dataclass(frozen=True, slots=True)
class MemoryFace:
    """What projects share with each other, and of one project the content hash of each memory file, by path."""

    shared: tuple[SharedFile, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RebuiltMarker:
    """What a transcript gave back of a marker. phrase_lost: its code stands under another phrase."""

    marker: Marker
    role: str
    state: str
    phrase_lost: bool


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a plan. restart: whether a living run ends for it. refused: why apply could not do it."""

    agent: str
    action: Literal["add", "remove", "change", "keep"]
    detail: str = ""
    restart: bool = False
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """What apply would do, or did. after_restart: keys of the daemon's own that only its next start takes up.

    settings: those of the daemon's own that apply puts in force.
    """

    changes: tuple[Change, ...] = ()
    after_restart: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What a forced look at one agent found, and what was done about it; both for people."""

    agent: str
    found: str
    done: str = ""
