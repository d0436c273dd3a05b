"""What an operator did to one agent, with all that taking it back needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from phoenixd.core.agent.run import Session
from phoenixd.core.agent.state import Quarantined
from phoenixd.core.moment import Instant
from phoenixd.core.traits import traits_of

UndoVerb = Literal["stop", "remove", "fresh", "mute", "unmute"]

NOUNS: Mapping[UndoVerb, str] = MappingProxyType({
    "stop": "stop", "remove": "removal", "fresh": "fresh start", "mute": "mute", "unmute": "unmute",
})  # fmt: skip
"""What an act is called where it is spoken of."""
KEPT = 7 * 86400.0
"""Seconds for which an act can be taken back."""
MOST = 2_000
"""Acts that are kept at most, the newest ones: a verb for a thousand agents is a thousand of them."""


@dataclass(frozen=True, slots=True)
class Undoable:
    """One act on one agent. act: the same for all agents that one verb was given for. agent: as people name it.

    was_up: it was to run before. session: the one that its next start would have gone back to. cannot: why this one
    cannot be taken back; empty where it can. incarnation, generation: which run and which holder of its seat it met.
    muted_until: of a mute or its end, until when (wall) the agent was muted before; 0 where it was not.
    kind, harness, project, labels: what it was then, by which selectors choose it; empty where an older version noted
    the act. launch: what it was started from, in short (see telling.launch_of).
    """

    act: str
    verb: UndoVerb
    agent: str
    at_wall: float
    by: str
    was_up: bool = False
    session: Session | None = None
    cannot: str = ""
    incarnation: int = 0
    generation: int = 0
    kind: str = ""
    harness: str = ""
    project: str | None = None
    labels: tuple[str, ...] = ()
    launch: str = ""
    at: Instant | None = None
    """When it was done in supervised time, which no clock is set in; None in journals of older versions."""
    muted_until: float = 0.0
    quarantine: Quarantined | None = None
    """The quarantine that a stop or a removal ended; None in a removal that an older version noted."""
    left_out: bool = False
    """Somebody had it have no turns in its sequence already."""


def is_nothing(harness: str, session: Session | None) -> bool:
    """Whether a CLI has kept nothing of this session that it could go back to."""
    return session is not None and session.empty and not traits_of(harness).resumes_empty


def newest(
    young: Iterable[Undoable], names: frozenset[str] | None = None, act: str | None = None
) -> tuple[Undoable, ...]:
    """What `undo` takes back: the newest act with all of its agents; of named agents the newest act of each.

    young: the acts that can be taken back, the oldest first (see age.kept). act: that one, and no other.
    """
    meant = [one for one in young if (names is None or one.agent in names) and (act is None or one.act == act)]
    if names is None:
        return tuple(one for one in meant if one.act == meant[-1].act)
    return tuple({one.agent: one for one in meant}.values())


def without(acts: tuple[Undoable, ...], agent: str) -> tuple[Undoable, ...]:
    """The acts that can still be taken back once an agent is gone: of its own, only the removal. Its name is free."""
    left = tuple(one for one in acts if one.agent != agent or one.verb == "remove")
    return left if len(left) < len(acts) else acts
