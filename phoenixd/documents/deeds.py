"""What a transcript tells of a session's work: tasks, commands, files, plans, questions, timers, and what was said.

A call and what came of it stand in two lines, and only the first names the tool: facts of both bear the call's id, and
who hears them in order joins them. Everything here was written by an agent: bounded, not redacted, not to be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

TaskStatus = Literal["open", "active", "done", "dropped"]
JobEnd = Literal["done", "failed", "stopped"]

TASK_LIMIT, COMMAND_LIMIT, PLAN_LIMIT, QUESTION_LIMIT, PATH_LIMIT, WHAT_LIMIT = 300, 500, 8000, 600, 1024, 300
MOST_ROWS, MOST_PATHS, MOST_QUESTIONS, MOST_OPTIONS = 300, 100, 8, 12
ID_LIMIT = 200
SPOKEN_LIMIT = 32_768

OF_WORDS = "".join(map(chr, range(0x21, 0x7F)))
"""What secrets are made of. Scripts that have no blanks between words are cut anywhere."""

_STATUSES: dict[str, TaskStatus] = {
    "pending": "open", "blocked": "open", "in_progress": "active", "completed": "done", "done": "done",
    "cancelled": "dropped", "deleted": "dropped",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task of the CLI's own list. id: None where the CLI gives none."""

    id: str | None
    text: str
    status: TaskStatus


@dataclass(frozen=True, slots=True)
class TasksListed:
    """The list is so, once `call` came back well; at once where there is no call. is_whole: no other task exists."""

    call: str | None
    rows: tuple[TaskRow, ...]
    is_whole: bool
    at: float | None


@dataclass(frozen=True, slots=True)
class TaskAsked:
    """The agent asks for a new task (no id), or for a change of one; only TaskTold makes it so."""

    call: str
    id: str | None
    text: str | None
    status: TaskStatus | None
    at: float | None


@dataclass(frozen=True, slots=True)
class TaskTold:
    """The CLI says that a task is so; None: as the call asked for it, else as it was."""

    call: str
    id: str
    text: str | None
    status: TaskStatus | None
    at: float | None


@dataclass(frozen=True, slots=True)
class CommandBegan:
    """A command was handed to the shell tool."""

    call: str
    text: str
    at: float | None


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """A command came to its end. failed None: the CLI does not say. interrupted: stopped by another hand, so that its
    end says nothing of what it was to show."""

    call: str
    code: int | None
    failed: bool | None
    interrupted: bool
    at: float | None


@dataclass(frozen=True, slots=True)
class JobAsked:
    """A call that is to go on in the background, and is no command: a subagent, a watch."""

    call: str
    what: str
    at: float | None


@dataclass(frozen=True, slots=True)
class JobBegan:
    """What a call began goes on in the background, under an id of the CLI's."""

    call: str
    job: str
    at: float | None


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A background job is over. One of job and call is known; how None: the CLI has a word that we do not know."""

    job: str | None
    call: str | None
    how: JobEnd | None
    code: int | None
    at: float | None


@dataclass(frozen=True, slots=True)
class FileWritten:
    """The CLI's own tools wrote or edited a file. failed None: the end of the call tells."""

    call: str
    path: str
    failed: bool | None
    at: float | None


@dataclass(frozen=True, slots=True)
class PlanProposed:
    """A plan waits to be approved; the text may stand in a file alone."""

    call: str
    text: str | None
    path: str | None
    at: float | None


@dataclass(frozen=True, slots=True)
class PlanAnswered:
    """A plan was approved or refused; text and path where the answer has them: the person may have edited it."""

    call: str
    approved: bool
    text: str | None
    path: str | None
    at: float | None


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and the labels of its options."""

    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The agent asks the person."""

    call: str
    questions: tuple[Question, ...]
    at: float | None


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """What the person answered, one text for each question that has an answer."""

    call: str
    answers: tuple[str, ...]
    at: float | None


@dataclass(frozen=True, slots=True)
class TimerAsked:
    """A wake-up or a schedule is asked for; only TimerSet makes it so. is_schedule: it comes again and again.

    prompt: what the CLI will tell itself then; when: the schedule, or why to wake up, in the agent's words.
    """

    call: str
    when: str
    prompt: str
    is_schedule: bool
    at: float | None


@dataclass(frozen=True, slots=True)
class TimerSet:
    """A timer stands. due: wall seconds, None where unknown. is_durable: it outlives the process."""

    call: str
    timer: str | None
    due: float | None
    is_durable: bool
    at: float | None


@dataclass(frozen=True, slots=True)
class TimerGone:
    """A timer is taken back, once the call came back well."""

    call: str
    timer: str
    at: float | None


@dataclass(frozen=True, slots=True)
class PromptQueued:
    """Something waits for the CLI to read it: a person's prompt, or a note of the CLI's own."""

    text: str
    by_cli: bool
    at: float | None


@dataclass(frozen=True, slots=True)
class PromptTaken:
    """Something waits no longer: it was read, or taken back. text None: it is what waited longest."""

    text: str | None
    at: float | None


@dataclass(frozen=True, slots=True)
class Spoke:
    """The agent said something. is_final: its turn ended with it; None: only what follows can tell.

    key: a later one with the same key says it anew.
    """

    text: str
    is_final: bool | None
    at: float | None
    key: str | None = None


Deed = (
    TasksListed | TaskAsked | TaskTold | CommandBegan | CommandEnded | JobAsked | JobBegan | JobEnded | FileWritten
    | PlanProposed | PlanAnswered | QuestionAsked | QuestionAnswered | TimerAsked | TimerSet | TimerGone
    | PromptQueued | PromptTaken | Spoke
)  # fmt: skip


def task_status(word: str | None) -> TaskStatus | None:
    """What a CLI's word for a task's status means; a word that is not known means nothing."""
    return _STATUSES.get(word) if word is not None else None


def cut(text: str | None, limit: int) -> str | None:
    """A text within its bound; None for one that says nothing."""
    return clipped(text, limit) if text is not None and text.strip() else None


def clipped(text: str, limit: int) -> str:
    """A text within its bound. No word is cut in two: secrets are taken out later, and half of one is not known."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    return (head.rstrip(OF_WORDS) or "…") if text[limit] in OF_WORDS else head


def named(identity: str | None) -> str | None:
    """What a CLI calls a call, a job, a task or a record by. It is only ever compared: a long one is its digest."""
    if identity is None or not identity.strip():
        return None
    return identity if len(identity) <= ID_LIMIT else sha256(identity.encode("utf-8", "replace")).hexdigest()


def cut_path(path: str | None) -> str | None:
    """A path within its bound; None for one that says nothing."""
    return path[:PATH_LIMIT] if path is not None and path.strip() else None
