"""Which papers of earlier sessions go: packages and records beyond those that are kept, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from phoenixd.core.seat import names
from phoenixd.documents.project import layout


@dataclass(frozen=True, slots=True)
class SessionFound:
    """A session's directory, whose record says that it was of the project.

    names: what lies in it. status: its end. created: when it began (wall), 0 where the record does not say it. agent:
    the generation whose session it was, empty where that is not known.
    """

    id: str
    status: str
    names: frozenset[str]
    created: float = 0.0
    agent: str = ""


OF_A_HANDOFF = (layout.PACKAGE, layout.ADDENDUM, layout.PROMPT)


def superfluous(sessions: Iterable[SessionFound], keep: int, spared: frozenset[str]) -> tuple[str, ...]:
    """The paths of what goes, where the newest `keep` sessions keep all; `spared`: ids of those that keep all anyway.

    A record stays as long as anything else lies beside it: by it a memory file is known as one of the project's.
    """
    known = sorted(sessions, key=lambda one: (one.created, one.id), reverse=True)
    found: list[str] = []
    for one in known[keep:]:
        if one.status != "shutdown" or one.id in spared:
            continue
        places = layout.session_paths(one.id)
        found += [f"{places.root}/{name}" for name in OF_A_HANDOFF if name in one.names]
        if not one.names - {*OF_A_HANDOFF, layout.SESSION}:
            found.append(places.record)
    return tuple(found)


def left_open(sessions: Iterable[SessionFound], seat: str, spared: frozenset[str]) -> tuple[str, ...]:
    """Sessions of the seat that are over, and whose records do not say so: no handoff came to a record of its end.

    The generations of one seat have no sessions beside those of its newest handoff, which are `spared`.
    """
    return tuple(
        one.id
        for one in sessions
        if one.status != "shutdown" and one.id not in spared and one.agent and _seat_of(one.agent) == seat
    )


def _seat_of(agent: str) -> str:
    return (names.read(agent) or (agent, 1))[0]
