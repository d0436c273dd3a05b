"""A task: what an orchestrator or an operator wants done by a worker of its own, and how far that has come."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from phoenixd.core.moment import Instant
from phoenixd.core.rules import MINUTE
from phoenixd.core.spec import AgentSpec

TaskState = Literal["waiting", "running", "collecting", "done", "failed", "canceled", "unknown"]
"""unknown: its directory is there, and nothing tells what became of it, for the journal was lost."""
Stop = Literal["done", "failed", "interrupted", "cut", "open", "missing", "none"]
"""How a worker's last answer ended, by its transcript. cut: it is not whole. open: nothing says that the turn is over.
missing: its CLI keeps a transcript, and none was found. none: nothing is known of how it keeps one."""
Sealed = Literal["", "sealed", "unsealed", "cut", "front lost"]
"""Whether a worker's last answer is whole, by the two words that it was asked to frame it with. Empty: none were asked
for. unsealed: only its CLI says so."""
Told = Literal["", "typing", "told", "nobody"]
"""Whether the agent that asked was told of the end; nobody: no agent asked, there is none of its name any more, or
too many other ends waited to be told."""

ENDED: frozenset[TaskState] = frozenset({"done", "failed", "canceled", "unknown"})
BUSY: frozenset[TaskState] = frozenset({"running", "collecting"})

MOST_OPEN = 100
"""Tasks that wait and run at most; a request for one more is refused."""
MOST_ENDED = 100
"""Ended tasks that are remembered here; reports and journal tell of the others."""
MOST_UNTOLD = 400
"""Older ones that are remembered for their plan alone."""
WHY_LIMIT = 300


@dataclass(frozen=True, slots=True)
class JobRules:
    """`[jobs]`. at_once: workers of the whole fleet. timeout: seconds that one run of a task may take.

    keep: how many tasks, the newest, keep their results and what their workers left.
    """

    at_once: int = 2
    timeout: float = 45 * MINUTE
    keep: int = 1000


@dataclass(frozen=True, slots=True)
class Cut:
    """Why a run of ours is being ended."""

    kind: Literal["timeout", "canceled"]
    words: str


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """One claim of a worker's report: its words, without secrets, and what the facts say of it."""

    kind: str
    said: str
    verdict: Literal["contradicted", "verified", "unverifiable"]
    why: str


@dataclass(frozen=True, slots=True)
class JudgedReport:
    """What became of the claims of a worker's report; of all but the first few, contradicted ones first, the number.

    source: where the report stood. problem: why none of it could be judged.
    """

    source: str
    contradicted: int = 0
    verified: int = 0
    unverifiable: int = 0
    claims: tuple[JudgedClaim, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a worker's run left, read when it was over. report: a path. problem: why something could not be read."""

    stop: Stop = "none"
    words: str = ""
    """What its transcript says of a turn that failed."""
    report: str = ""
    outputs: int = 0
    refused: int = 0
    """Entries of its directory that were not taken: links, sockets, what is too large."""
    problem: str = ""
    judged: JudgedReport | None = None
    """None where the worker left no report of its own."""
    seal: Sealed = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One task. `agent` is the name of its worker, which is declared for it and removed after it.

    due: when a run ends by its timeout, a retry may begin, or a collection is ordered again. runs: how many began.
    spared: those of them that count against nobody. key: the caller's, by which a repeated request is known.
    """

    id: str
    agent: str
    key: str = ""
    spec: AgentSpec | None = None
    """How its worker is started; None once the task has ended."""
    asked_by: str = ""
    """The agent that asked; empty for an operator."""
    by: str = "operator"
    project: str = ""
    plan: str = ""
    """The task of the project's plan that this one does."""
    phase: str = ""
    """The phase in whose plan it stands; empty where that is not known."""
    workspace: str = ""
    """The workspace of the project, which another one of the same name may have too; empty where it is not known."""
    after: tuple[str, ...] = ()
    place: str = ""
    """Its workspace, without symbolic links."""
    writes: bool = True
    timeout: float = 45 * MINUTE
    tries: int = 2
    asked_wall: float = 0.0
    state: TaskState = "waiting"
    since_wall: float = 0.0
    why: str = ""
    due: Instant | None = None
    left: float | None = None
    """Seconds of its time that are left, while its worker waits and the clock of the run stands still."""
    runs: int = 0
    spared: int = 0
    cut: Cut | None = None
    ordered: int = 0
    """How often the collection of this run was ordered."""
    outcome: Outcome | None = None
    sealing: int = 0
    """The incarnation whose answer came without its seal, while its session is asked for that alone; 0: it is not."""
    doubted: bool = False
    """The journal was older than the world, and it may have ended since: no worker begins before a person says so."""
    told: Told = ""
    message: str = ""
    """The message that tells of its end, while it is typed."""
    tell_at: Instant | None = None
    """When that is tried again."""

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def is_open(self) -> bool:
        """Whether anything is left to do about it."""
        return not self.has_ended or self.told in ("", "typing")

    @property
    def counted(self) -> int:
        """The runs that count against its budget."""
        return self.runs - self.spared


@dataclass(frozen=True, slots=True)
class Tasks:
    """All tasks, in the order in which they were asked for. next: the number of the next one."""

    next: int = 1
    open: tuple[Task, ...] = ()
    ended: tuple[Task, ...] = field(default=())
    untold: tuple[Task, ...] = ()
    """Of those that ended before: the newest end of each task of a plan, until the plan is told of it."""

    def find(self, task_id: str) -> Task | None:
        """The task of this id."""
        return next((one for one in (*self.open, *self.ended) if one.id == task_id), None)

    def with_new(self, task: Task) -> Tasks:
        """With one more."""
        return replace(self, next=self.next + 1, open=(*self.open, task))

    def taking(self, task: Task) -> Tasks:
        """With this task in the place of the one of its id; an ended one moves to the ended."""
        if task.is_open:
            known = replace(self, open=tuple(task if one.id == task.id else one for one in self.open))
            untold = [one for one in known.open if one.has_ended]
            if len(untold) <= MOST_ENDED:
                return known
            # The asker is down, or never idle: it finds the oldest ones by `task status`.
            return known.taking(replace(untold[0], told="nobody", message="", tell_at=None))
        left = tuple(one for one in self.open if one.id != task.id)
        ended, of_plans = (*self.ended, task), self.untold
        for older in ended[:-MOST_ENDED]:
            of_plans = _with_older(of_plans, older)
        return replace(self, open=left, ended=ended[-MOST_ENDED:], untold=of_plans)

    def remembering(self, kept: tuple[Task, ...]) -> Tasks:
        """With those that stand on the disk and are known no more; older ones than all that are known come first."""
        known = {one.id for one in (*self.open, *self.ended, *self.untold)}
        back = tuple(one for one in kept if one.id not in known)
        return replace(self, ended=(*back, *self.ended)[-MOST_ENDED:]) if back else self

    def told_of(self, project: str, workspace: str, until_wall: float) -> Tasks:
        """The plans of this project were told of all that had ended until then."""
        untold = tuple(one for one in self.untold if not is_of(one, project, workspace) or one.since_wall >= until_wall)
        return self if len(untold) == len(self.untold) else replace(self, untold=untold)


def _with_older(untold: tuple[Task, ...], task: Task) -> tuple[Task, ...]:
    """With a task that is remembered no longer, as far as its plan is to be told of it: hundreds are saved as one."""
    if not (task.project and task.plan and task.phase) or task.state in ("canceled", "unknown"):
        return untold
    judged = task.outcome.judged if task.outcome is not None else None
    outcome = Outcome(judged=JudgedReport("", contradicted=judged.contradicted)) if judged is not None else None
    slim = replace(task, key="", after=(), why=task.why[:WHY_LIMIT], cut=None, outcome=outcome, message="")
    return (*(one for one in untold if _planned(one) != _planned(task)), slim)[-MOST_UNTOLD:]


def _planned(task: Task) -> tuple[str, str, str, str]:
    return task.project, task.workspace, task.phase, task.plan


def is_of(task: Task, project: str, workspace: str) -> bool:
    """Whether a task is one of this project's. Of one from before that was noted the workspace is not known."""
    return task.project == project and task.workspace in ("", workspace.rstrip("/") or workspace)
