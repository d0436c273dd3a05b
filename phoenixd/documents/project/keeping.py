"""Which papers of earlier sessions go: packages and records beyond those that are kept, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from phoenixd.documents.project import layout


@dataclass(frozen=True, slots=True)
class SessionFound:
    """A session's directory, whose record says that it was of the project. names: what lies in it; status: its end."""

    id: str
    status: str
    names: frozenset[str]


OF_A_HANDOFF = (layout.PACKAGE, layout.ADDENDUM, layout.PROMPT)


def superfluous(sessions: Iterable[SessionFound], keep: int, spared: frozenset[str]) -> tuple[str, ...]:
    """The paths of what goes, where the newest `keep` sessions keep all; `spared`: ids of those that keep all anyway.

    A record stays as long as anything else lies beside it: by it a memory file is known as one of the project's.
    """
    known = sorted(sessions, key=lambda one: one.id, reverse=True)
    found: list[str] = []
    for one in known[keep:]:
        if one.status != "shutdown" or one.id in spared:
            continue
        places = layout.session_paths(one.id)
        found += [f"{places.root}/{name}" for name in OF_A_HANDOFF if name in one.names]
        if not one.names - {*OF_A_HANDOFF, layout.SESSION}:
            found.append(places.record)
    return tuple(found)
