"""What is known of a failure when it is judged: typed facts. No rule reads the words in `said`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from phoenixd.core.causes import CutHow, EndCause, Obstacle, Told
from phoenixd.core.hooks import Failure, Named
from phoenixd.core.treatment.words import Occasion

SAID_LIMIT = 2000
"""Characters of an error that are kept: its end."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts. Empty, None and False: not so, or not known.

    code, signal, cause, lived, oom: of the run's end. disk_full: the kernel says so, of these disks. session_seen: its
    session began. worked: its main thread did something. failure, word, named, status: of its newest turn, where that
    failed, by type; word is the harness's own one, and named what its words name beside the class. reset: a time was
    named at which the limit is over. cut: its newest answer was, and went_on: its CLI asked for the rest. call: the
    tool that was open. fill: the share of the window that is taken. told: what its exit code says, by the operator's
    word or the program's own. said: words for people, without secrets.

    An end that somebody asked for opens no Case, and nor does a dialog alone: the inbox asks a person.
    """

    occasion: Occasion = "end"
    harness: str = ""
    is_alive: bool = False
    code: int | None = None
    signal: int | None = None
    cause: EndCause | Literal[""] = ""
    lived: float | None = None
    oom: Literal["", "agent", "host"] = ""
    disk_full: bool = False
    disks: str = ""
    mode: Literal["", "fresh", "resume"] = ""
    sessionless: bool = False
    """It was started as one that resumes, and nothing shows that it keeps a session."""
    session_seen: bool = False
    worked: bool = False
    turn_open: bool = False
    failure: Failure | Literal[""] = ""
    word: str = ""
    named: Named = ""
    status: int | None = None
    reset: bool = False
    cut: CutHow | Literal[""] = ""
    went_on: bool = False
    call: str = ""
    fill: float | None = None
    obstacle: Obstacle | Literal[""] = ""
    told: Told | Literal[""] = ""
    crashes: int = 0
    said: str = ""


Reading = tuple[str, str | int | float | None]


def cited(evidence: Evidence, names: tuple[str, ...]) -> tuple[Reading, ...]:
    """The facts of these names, as a decision keeps readings."""
    return tuple((name, _reading(getattr(evidence, name))) for name in names)


def known(evidence: Evidence) -> tuple[Reading, ...]:
    """All that is known."""
    empty = Evidence()
    names = tuple(one.name for one in fields(Evidence) if getattr(evidence, one.name) != getattr(empty, one.name))
    return cited(evidence, ("occasion", *(name for name in names if name != "occasion")))


def _reading(value: object) -> str | int | float | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str | int | float) else None
