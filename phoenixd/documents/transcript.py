"""What the lines of a transcript tell of a session's main thread, whichever CLI wrote them. Times are wall seconds.

Everything here was written by an agent: texts are neither redacted nor to be trusted, and unknown is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from phoenixd.core.causes import CutHow
from phoenixd.documents.conversation import Speaker
from phoenixd.documents.deeds import Deed, TaskRow

RecordKind = Literal["prompt", "assistant", "tool", "system"]
Ending = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Used:
    """What one request held and brought forth, in tokens; the newest one tells how full the context is.

    input: what was neither read from a cache nor written to one, whatever the CLI calls it. window: the model's, where
    the CLI says so itself.
    """

    request: str | None
    input: int
    cache_read: int
    cache_creation: int
    output: int
    model: str | None
    at: float | None
    window: int | None = None

    @property
    def tokens(self) -> int:
        """How much of the context is taken."""
        return self.input + self.cache_read + self.cache_creation + self.output


@dataclass(frozen=True, slots=True)
class CutShort:
    """An answer ended before it was whole.

    calls: the tools that it called, which the CLI executes all the same; None: those that were called since the usage
    of the request before it was told.
    """

    how: CutHow
    at: float | None
    calls: tuple[str, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Unended:
    """A part of an answer that was written without the word that ends the answer: more of it is to come."""

    at: float | None


@dataclass(frozen=True, slots=True)
class Prompted:
    """A person, or `send`, submitted a prompt; queued: it was read in the middle of a turn.

    turn: the CLI's name of the turn, where it writes the second prompt of one as it writes the first.
    """

    text: str
    at: float | None
    queued: bool = False
    turn: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """A turn's end was held up by a check of ours: until the turn is over, what is said is no part of the work."""

    at: float | None


@dataclass(frozen=True, slots=True)
class TurnBegan:
    """A turn began without a person's prompt: the CLI told itself something."""


@dataclass(frozen=True, slots=True)
class TurnUnclear:
    """The turn may be over, or a tool may be at work: this CLI does not write down which."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over."""

    how: Ending
    at: float | None


@dataclass(frozen=True, slots=True)
class ToolBegan:
    """A tool was called; no ToolEnded yet: it is in flight."""

    call: str
    name: str
    at: float | None


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool call came back."""

    call: str
    failed: bool
    at: float | None


@dataclass(frozen=True, slots=True)
class ApiFailed:
    """The API refused, and the CLI gave up. kind: the CLI's word for it; resets: when a limit ends, if it was said.

    codes: those of the API, or closer ones of the CLI, where they stand apart from the text.
    """

    kind: str
    text: str
    at: float | None
    status: int | None = None
    resets: float | None = None
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compacted:
    """The context was replaced by a summary. before, after: its tokens."""

    at: float | None
    trigger: str | None = None
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class SessionNamed:
    """The transcript says whose it is."""

    session_id: str


Turn = TurnBegan | TurnUnclear | TurnEnded
Standing = (
    Used | CutShort | Unended | Prompted | Checked | Turn | ToolBegan | ToolEnded | ApiFailed | Compacted | SessionNamed
)
Fact = Standing | Deed


@dataclass(frozen=True, slots=True)
class Record:
    """One line that belongs to the main thread, and what it tells. kind None: it tells that nobody did anything."""

    kind: RecordKind | None
    at: float | None
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """Something said, as one line has it. call: of a tool's use and its result, which alone does not know its name."""

    speaker: Speaker
    text: str
    at: str | None = None
    tool: str = ""
    call: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """What hooks added to a session's context, as its transcript shows that the CLI took it."""

    text: str
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What a line says to a reader. key: a later line with the same one says it anew, and this one is void."""

    pieces: tuple[Piece, ...]
    key: str | None = None


class TranscriptForm(Protocol):
    """How one CLI writes its transcripts. No method raises, whatever the line."""

    def matters(self, head: bytes) -> bool:
        """Whether a line that begins so may tell or say anything."""
        ...

    def may_tell_usage(self, line: bytes) -> bool:
        """Whether a line may say how full the context is, told at a fraction of a parser's cost."""
        ...

    def record(self, line: bytes) -> Record | None:
        """What a line tells; None where it is no record, or none of the main thread's."""
        ...

    def said(self, line: bytes) -> Said | None:
        """What a line says; None where it says nothing."""
        ...

    def given(self, line: bytes) -> Given | None:
        """What a line shows that a hook added to the context of the main thread; None where it shows nothing of it."""
        ...

    def beginning(self, head: bytes) -> Record | None:
        """What can be told of a line that is too long to be parsed, by how it begins."""
        ...

    def task_directory(self, transcript: str) -> str | None:
        """Where the CLI keeps the task list of a transcript's session in files; None for one that keeps none."""
        ...

    def task_file(self, content: bytes) -> TaskRow | None:
        """The task that such a file holds; None where it holds none."""
        ...
