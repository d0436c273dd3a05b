"""What was seen of a run that lives: growth, usage, its screen, its calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from phoenixd.core.causes import CutHow
from phoenixd.core.hooks import Failure, Named


@dataclass(frozen=True, slots=True)
class CallWorkSeen:
    """What the run's processes that began at `ticks` or later have done in their lives, and their dead children.

    cpu: seconds. io: bytes from and to storage. unread: processes where some of that could not be read.
    """

    agent: str
    incarnation: int
    ticks: int
    cpu: float
    io: int
    processes: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True)
class EvidenceSeen:
    """The transcript grew, or somebody wrote a heartbeat.

    age: how old it said it was when it was written, in seconds; below 0 for a time in the future, None without one.
    ordered: an operator wants this claim believed, as `heartbeat simulate` does.
    """

    agent: str
    incarnation: int
    source: str
    age: float | None = None
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class UsageSeen:
    """How full the context of the run's session is, or how large its window. None: not told.

    tokens: what the newest request of the main thread held and brought forth; None from the transcript means that it
    is unknown, as after a compaction. source: "transcript", whose limit is the rollout's window, or "status line". at:
    when the request was answered (wall). model: the one whose window the status line tells. problem: why the status
    line cannot be read.
    """

    agent: str
    incarnation: int
    tokens: int | None
    limit: int | None
    source: Literal["transcript", "status line"]
    at: float | None
    session_id: str = ""
    model: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FailureStatusSeen:
    """The transcript says which HTTP status the API gave to the turn that has just failed; the hook did not.

    failure, named: what the turn failed for by the codes that stand there too; "" where they say no more.
    """

    agent: str
    incarnation: int
    status: int
    failure: Failure | Literal[""] = ""
    named: Named = ""


@dataclass(frozen=True, slots=True)
class AnswerCut:
    """The transcript says that an answer of the turn that has just ended was cut at its end.

    at: when that answer was written (wall). went_on: the CLI asked for the rest by itself, and its last message is the
    last part alone. calls: the tools that it called in that answer, which were executed.
    """

    agent: str
    incarnation: int
    how: CutHow
    at: float | None
    went_on: bool = False
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScreenSeen:
    """What somebody read from the pane. verdict: permission, trust, login, working, idle, unknown ...

    reader: "look" where a decision asked for it; "escape" after Escape was pressed on an open turn, or on a dialog that
    stands all the same; else who looked for a purpose of his own. His word on dialogs counts.
    attended: a person has touched the terminal in the last minute, so that a menu there may be his own.
    """

    agent: str
    incarnation: int
    verdict: str
    reader: str = "look"
    attended: bool = False


@dataclass(frozen=True, slots=True)
class KeysRead:
    """A program read its terminal while it asked something there: somebody typed, and may have answered it."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class IncidentRecorded:
    """What could be seen of a failure is kept, in this file of the agent's directory.

    opened: when it was noticed (wall). record: the file's content, which the journal keeps in a table of its own. case:
    the Case that it belongs to; empty for a run that we ended, whose Case is opened by its end. number: within it.
    """

    agent: str
    incarnation: int
    kind: str
    file: str
    lines: int
    opened: float = 0.0
    record: str = field(default="", repr=False)
    case: str = ""
    number: int = 1
