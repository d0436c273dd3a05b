"""What a brief shows of a session's work: its last words, its commits and files, and how its checks went.

Texts are redacted and plain; they are the session's own, and stand on the page in quotation marks or behind `> `.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Origin = Literal["transcript", "hooks"]


@dataclass(frozen=True, slots=True)
class Quote:
    """Something that was said. pieces: what is shown of it; between two of them something was left out.

    at: wall seconds. note: a fact about it that the daemon adds. rank: the greater it is, the sooner the quote may go.
    is_cut: something is missing at its end.
    """

    speaker: Literal["person", "agent"]
    pieces: tuple[str, ...]
    at: float | None = None
    note: str = ""
    rank: int = 0
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class LastWords:
    """The last utterances, oldest first. origin: hooks where no transcript could be read."""

    quotes: tuple[Quote, ...] = ()
    origin: Origin = "transcript"


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A command whose outcome tells how things stand. first, newest: exit codes in words; the same after one run."""

    command: str
    first: str
    newest: str
    at: float | None = None


@dataclass(frozen=True, slots=True)
class SessionWork:
    """What a session did. began: wall seconds. files: newest first; more_files: those that are not named here."""

    began: float | None = None
    files: tuple[str, ...] = ()
    more_files: int = 0
    checks: tuple[CheckRun, ...] = ()
