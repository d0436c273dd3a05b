"""What is known of an agent's work at the time of its report. None is unknown, and unknown contradicts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

RunEnd = Literal["over", "refused", "interrupted", "running", "unknown"]
FileState = Literal["file", "absent", "outside", "link", "directory", "special", "unread", "report"]


@dataclass(frozen=True, slots=True)
class Ran:
    """One call of a shell tool, on the main thread or in a sidechain.

    is_clipped: the end of the line is lost. code, failed: how it ended, where that is told. end: `refused` is a call
    that was denied, so that nothing ran. output: what it printed, None where the transcript does not hold it.
    """

    line: str
    code: int | None = None
    failed: bool | None = None
    end: RunEnd = "over"
    output: str | None = None
    is_clipped: bool = False


@dataclass(frozen=True, slots=True)
class Wrote:
    """One call of the CLI's own file tool."""

    path: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Witness:
    """What the transcripts of a task tell up to its report, oldest first.

    is_whole: every line of every transcript was read, sidechains included; gaps says what was not. other_calls: tools
    that may have run programs that nothing is written down of.
    """

    runs: tuple[Ran, ...] = ()
    writes: tuple[Wrote, ...] = ()
    is_whole: bool = False
    gaps: tuple[str, ...] = ()
    other_calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileSeen:
    """One path of a report as it was at the report's time.

    later: it was changed after the report, so what stands there now says nothing. changed: whether it was changed
    between the task's beginning and the report. before: its hash at the beginning, empty where it did not exist.
    """

    state: FileState
    sha256: str | None = None
    later: bool = False
    changed: bool | None = None
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """All that claims are held against.

    files: by the path as it is claimed. written: paths of the workspace that are known to have changed, to tell a path
    that was given from another directory. closed: loops that are known closed; open: those that are known open, None
    where only the transcript can tell. commits: the subjects of all commits of the task, None where unknown.
    """

    witness: Witness = field(default_factory=Witness)
    files: Mapping[str, FileSeen] = field(default_factory=dict)
    written: tuple[str, ...] = ()
    closed: frozenset[str] = frozenset()
    open: frozenset[str] | None = None
    commits: tuple[str, ...] | None = None
    root: str = ""
