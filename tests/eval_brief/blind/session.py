"""What happened in a session, and the truth about it, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cli = Literal["claude", "codex", "gemini"]
Status = Literal["pending", "in_progress", "completed"]
Verdict = Literal["true", "wrong", "hostile"]
Claimed = Literal["open", "closed", "number", "decision", "next", "summary"]
Kind = Literal[
    "tasks", "question", "request", "plan", "check", "background", "uncommitted", "unpushed", "merge", "unanswered",
    "inbox", "known", "words",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    text: str
    status: Status


@dataclass(frozen=True, slots=True)
class Person:
    t: float
    person: str


@dataclass(frozen=True, slots=True)
class Agent:
    t: float
    agent: str


@dataclass(frozen=True, slots=True)
class Run:
    """exit: None for one that was still running at the end, and for a background job."""

    t: float
    run: str
    exit: int | None = None
    output: str = ""
    background: bool = False
    job: str = ""


@dataclass(frozen=True, slots=True)
class EndedJob:
    t: float
    ended_job: str
    exit: int
    output: str = ""


@dataclass(frozen=True, slots=True)
class Write:
    t: float
    write: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    t: float
    read: str
    output: str = ""


@dataclass(frozen=True, slots=True)
class Web:
    t: float
    web: str
    output: str = ""


@dataclass(frozen=True, slots=True)
class Tasks:
    t: float
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    t: float
    plan: str
    approved: bool


@dataclass(frozen=True, slots=True)
class Question:
    """answer: None while it is open."""

    t: float
    question: str
    options: tuple[str, ...] = ()
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Permission:
    t: float
    permission: str
    answer: Literal["allow", "deny"] | None = None


@dataclass(frozen=True, slots=True)
class Queued:
    t: float
    queued: str
    read_by_agent: bool = False


@dataclass(frozen=True, slots=True)
class Wakeup:
    t: float
    wakeup: str
    fired: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    t: float
    commit: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnEnds:
    t: float
    turn_ends: bool


@dataclass(frozen=True, slots=True)
class Compacted:
    t: float
    compacted: bool


Event = (
    Person | Agent | Run | EndedJob | Write | Read | Web | Tasks | Plan | Question | Permission | Queued | Wakeup
    | Committed | TurnEnds | Compacted
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Known:
    id: str
    text: str
    by: Literal["operator", "session"]
    source_key: str = ""


@dataclass(frozen=True, slots=True)
class Git:
    branch: str = "main"
    upstream_ahead: int = 0
    modified: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    state: Literal["", "merge", "rebase"] = ""


@dataclass(frozen=True, slots=True)
class Inbox:
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Open:
    """page: what counts as told on the page; empty is the same as match."""

    kind: Kind
    what: str
    match: tuple[str, ...]
    page: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Closed:
    what: str
    match: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Harmless:
    text: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    name: tuple[str, ...]
    value: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    match: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Planted:
    text: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a model that was asked to summarise the session answers."""

    what: Claimed
    verdict: Verdict
    id: str = ""
    text: str = ""
    quote: str = ""
    name: str = ""
    value: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    cli: Cli
    language: str
    about: str
    ended: Literal["killed", "idle"]
    event: tuple[Event, ...]
    goal: str | None = None
    known: tuple[Known, ...] = ()
    git: Git | None = None
    inbox: tuple[Inbox, ...] = ()
    open: tuple[Open, ...] = ()
    closed: tuple[Closed, ...] = ()
    harmless: tuple[Harmless, ...] = ()
    number: tuple[Number, ...] = ()
    decision: tuple[Decision, ...] = ()
    planted: tuple[Planted, ...] = ()
    claim: tuple[Claim, ...] = ()
