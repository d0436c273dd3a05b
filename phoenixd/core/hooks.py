"""What a harness reports by its hooks: a class for each, so that no rule compares the names of hooks.

`documents.hooks` reads a hook's input into one of them. Text fields are an agent's words: data, never instructions. A
word of the harness's own (`source`, `error`, `notification`) is kept for people; what it means is the typed field
beside it, which the same reader fills in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from phoenixd.core.causes import Disk

Beginning = Literal["startup", "resume", "clear", "other"]
"""How a session began: anew, with the context of an earlier one, or emptied by a person."""

Failure = Literal["limit", "overload", "login", "billing", "full", "request", "length", "other"]
"""Why a turn failed. limit: its account's. overload: a service that is overloaded or out of reach. full: the window
cannot hold what was asked, by a word for just that. request: the request was refused; length: the answer was cut;
either may be for a full context. other: by a word that none of our rules knows, or knows no remedy for."""

Named = Literal["", "request", "service", "limit", "certificate", "answer", "other"]
"""What the code or the fixed words of a failed turn name, beside its class; "": nothing that we know. request: what is
wrong with the request, or which part of it. service: a service, or a way to it, that failed for a while. limit: a rate,
or a quota of a time. certificate: one of TLS that nobody here trusts. answer: one that was given, and cut. other: a
cause that its class is not for, such as a bill in place of a rate: then the class proves nothing."""

PASSING = frozenset({408, 409, 425, 429})
"""Statuses of HTTP by which a request is refused for a moment alone."""

OF_A_SERVICE = frozenset({408, 425, 499, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""Statuses of a service, or of what stands before it, that failed for a while."""

WRONG_BY_STATUS = frozenset({405, 406, 407, 410, 411, 415, 426, 428, 431, 451, 501, 505, 511})
"""Statuses that say what is wrong with a request, where neither waiting nor another history helps."""

Notice = Literal["idle", "permission", "question", "dialog", "other"]
"""What a notification says: that the agent waits for its next prompt, or that a dialog asks a person."""

Compaction = Literal["auto", "manual", "other"]
"""Who has a context shortened: the harness by itself, a person, or a word that we do not know."""


def is_refusal(status: int | None) -> bool:
    """Whether the API said by this status of HTTP that the request itself is wrong, so that waiting does not help."""
    return status is not None and 400 <= status < 500 and status not in PASSING


@dataclass(frozen=True, slots=True)
class Hook:
    """What every hook says. One that no class below fits is an `OtherHook`.

    tool_use_id: the call that it is about. sub: it comes from a subagent. cwd: the directory that the agent was in.
    seq: the shim's number of a spooled hook, which it sends again until it is acknowledged; 0 for mere evidence.
    more: how many of the same kind came just before, too fast to be kept one by one.
    """

    agent: str
    incarnation: int
    session_id: str | None = None
    tool_use_id: str | None = None
    sub: bool = False
    seq: int = 0
    more: int = 0
    cwd: str | None = None

    @property
    def kind(self) -> str:
        """The hook's name on the wire, in the journal and in what people read."""
        return KIND_OF[type(self)]


@dataclass(frozen=True, slots=True)
class SessionStarted(Hook):
    """A session began, or went on in this process. model: as the harness names it; window: the tokens that the model's
    context holds, where its name says that. unheard: it began while no daemon lived."""

    source: str | None = None
    beginning: Beginning = "other"
    model: str | None = None
    window: int | None = None
    unheard: bool = False


@dataclass(frozen=True, slots=True)
class SessionEnded(Hook):
    """A session ended. by_person: somebody left it from inside, as far as the harness tells."""

    source: str | None = None
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class PromptSubmitted(Hook):
    """A prompt began a turn, or came into one. source: "machine" for one that nobody submitted.

    size: its bytes; `text` may be their beginning; 0 where nobody told.
    """

    text: str = field(default="", repr=False)
    source: Literal["machine"] | None = None
    size: int = 0


@dataclass(frozen=True, slots=True)
class ToolStarted(Hook):
    """A tool call began.

    lease: seconds that it declared for itself. command: what it runs. jobs: what it begins in the background. ticks:
    clock ticks since boot at which it began. limit: seconds after which the harness ends it by itself, where it does.
    """

    tool: str | None = None
    lease: float | None = None
    is_subagent_call: bool = False
    jobs: tuple[str, ...] | None = None
    command: str = field(default="", repr=False)
    ticks: int | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class ToolEnded(Hook):
    """A tool call ended well. jobs: as in ToolStarted."""

    tool: str | None = None
    is_subagent_call: bool = False
    jobs: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ToolFailed(Hook):
    """A tool call failed. jobs: what it had been to begin."""

    tool: str | None = None
    is_subagent_call: bool = False
    error: str | None = None
    jobs: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SubagentStarted(Hook):
    """A subagent began its work."""


@dataclass(frozen=True, slots=True)
class SubagentEnded(Hook):
    """A subagent ended its work."""


@dataclass(frozen=True, slots=True)
class PermissionAsked(Hook):
    """A call has to be allowed by a person.

    held: the shim holds its answer back; `text` is then all that is asked for, and `seq` what to answer. veiled:
    secrets were taken out of that text, so nobody sees all of it.
    """

    text: str = field(default="", repr=False)
    tool: str | None = None
    held: bool = False
    veiled: bool = False


@dataclass(frozen=True, slots=True)
class CallKept(Hook):
    """A call was about to begin, and an armed answer denied it."""

    tool: str | None = None


@dataclass(frozen=True, slots=True)
class PermissionDenied(Hook):
    """A call was not allowed."""

    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Notified(Hook):
    """The harness told its user something."""

    text: str = field(default="", repr=False)
    notification: str | None = None
    notice: Notice = "other"


@dataclass(frozen=True, slots=True)
class TurnEnded(Hook):
    """A turn came to its end. jobs: all that goes on in the background; None where nothing was said of it.

    check: what it answered to a check at its end, part neither of its work nor of `text`; None: there was no check.
    """

    text: str = field(default="", repr=False)
    error: str | None = None
    jobs: tuple[str, ...] | None = None
    check: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class TurnKept(Hook):
    """A turn was about to end, and an armed answer had it go on."""

    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class TurnFailed(Hook):
    """An error ended a turn. reset_wall: when the limit that ended it is over, where the harness named a time.

    named: what its words name beside the class. status: of HTTP, where a transcript tells it as a number of its own.
    full_disks: those of the run without room then.
    """

    text: str = field(default="", repr=False)
    error: str | None = None
    failure: Failure = "other"
    named: Named = ""
    reset_wall: float | None = None
    status: int | None = None
    full_disks: tuple[Disk, ...] = ()


@dataclass(frozen=True, slots=True)
class CompactionBegun(Hook):
    """The harness is about to shorten the agent's context. blocked: it was, and an armed answer forbade it."""

    source: str | None = None
    blocked: bool = False
    trigger: Compaction = "other"


@dataclass(frozen=True, slots=True)
class Compacted(Hook):
    """The agent's context was shortened."""

    source: str | None = None


@dataclass(frozen=True, slots=True)
class OtherHook(Hook):
    """A hook of a name that this version does not know: a sign of life, and a row of the journal."""

    word: str = ""
    text: str = field(default="", repr=False)
    tool: str | None = None
    source: str | None = None
    error: str | None = None

    @property
    def kind(self) -> str:
        """The name that came."""
        return self.word


HookEvent = (
    SessionStarted
    | SessionEnded
    | PromptSubmitted
    | ToolStarted
    | ToolEnded
    | ToolFailed
    | SubagentStarted
    | SubagentEnded
    | PermissionAsked
    | PermissionDenied
    | Notified
    | TurnEnded
    | TurnKept
    | CallKept
    | TurnFailed
    | CompactionBegun
    | Compacted
    | OtherHook
)

HOOKS: dict[str, type[HookEvent]] = {
    "session-start": SessionStarted,
    "session-end": SessionEnded,
    "prompt-submit": PromptSubmitted,
    "tool-start": ToolStarted,
    "tool-end": ToolEnded,
    "tool-failure": ToolFailed,
    "subagent-start": SubagentStarted,
    "subagent-stop": SubagentEnded,
    "permission-request": PermissionAsked,
    "permission-denied": PermissionDenied,
    "notification": Notified,
    "stop": TurnEnded,
    "stop-blocked": TurnKept,
    "tool-denied": CallKept,
    "stop-failure": TurnFailed,
    "pre-compact": CompactionBegun,
    "compacted": Compacted,
}
"""The classes by the names on the wire, which the journal keeps too."""

KIND_OF: dict[type[Hook], str] = {kind: name for name, kind in HOOKS.items()}

CallOver = ToolEnded | ToolFailed | PermissionDenied
"""After these a call is in flight no longer."""

EVIDENCE: tuple[type[Hook], ...] = (ToolStarted, ToolEnded, ToolFailed, SubagentStarted, SubagentEnded, CallKept)
"""Hooks that only prove life: kept as the latest per agent, never journaled one by one."""
