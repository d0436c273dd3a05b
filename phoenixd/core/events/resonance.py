"""What was planted in an agent's context, what was seen of it, and what operators ask about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from phoenixd.planting import Planting


@dataclass(frozen=True, slots=True)
class CodesPlanted:
    """Codes were minted, and stand in ledger, anchor and seed. persona, project: as the anchor names them.

    rebuilt: why anchor or seed had to be made anew; empty where they were whole.
    """

    agent: str
    incarnation: int
    planting: Planting = field(repr=False)
    at: float
    persona: str = ""
    project: str = ""
    rebuilt: str = ""


@dataclass(frozen=True, slots=True)
class PlantingFailed:
    """Codes were ordered, and could not be minted or written."""

    agent: str
    incarnation: int
    why: str


@dataclass(frozen=True, slots=True)
class CodesSeen:
    """Codes stood in a call, in its result or in a file that was read, when (wall): they prove nothing any more."""

    agent: str
    incarnation: int
    codes: tuple[str, ...] = field(repr=False)
    where: str
    at: float


@dataclass(frozen=True, slots=True)
class AnchorSeen:
    """The session's transcript shows that the session was given its codes, when (wall). marker: its code."""

    agent: str
    incarnation: int
    marker: str = field(repr=False)
    at: float


@dataclass(frozen=True, slots=True)
class FooterSeen:
    """A footer ended what the agent itself said. marker: its code; state: Stable, Degraded or Recovering."""

    agent: str
    incarnation: int
    marker: str = field(repr=False)
    role: str
    state: str
    at: float


@dataclass(frozen=True, slots=True)
class SeedRead:
    """The session seed is there for a new session. rebuilt: why it was made of state and brief.

    words: what it says, in short and without any code, for a session that was not told it at its beginning.
    checkpoint: when it was brought up to date last, on the wall clock; None where that is unknown.
    """

    agent: str
    incarnation: int
    rebuilt: str = ""
    words: str = field(default="", repr=False)
    checkpoint: float | None = None


@dataclass(frozen=True, slots=True)
class CheckRequested:
    """An operator, or who has important work for the agent, wants a code asked for at the next turn's end."""

    agent: str
    by: str = "operator"
    why: str = ""


@dataclass(frozen=True, slots=True)
class RestorationRequested:
    """An operator wants the agent restored in a new session."""

    agent: str
    by: str = "operator"


ResonanceEvent = CodesPlanted | PlantingFailed | CodesSeen | AnchorSeen | FooterSeen | SeedRead
"""What was seen or done about a run that lives."""
