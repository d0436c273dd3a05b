"""What stands of a session's work, kept up to date record by record: bounded, and kept as JSON between two readings.

It judges nothing: which of it is an open loop is for the brief to say.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from phoenixd.documents.deeds import (
    SPOKEN_LIMIT,
    WHAT_LIMIT,
    CommandBegan,
    CommandEnded,
    Deed,
    FileWritten,
    JobAsked,
    JobBegan,
    JobEnded,
    PlanAnswered,
    PlanProposed,
    PromptQueued,
    PromptTaken,
    QuestionAnswered,
    QuestionAsked,
    Spoke,
    TaskAsked,
    TasksListed,
    TaskTold,
    TimerAsked,
    TimerGone,
    TimerSet,
    clipped,
)
from phoenixd.documents.ledger_rows import (
    AskedQuestion,
    Job,
    Plan,
    Run,
    Timer,
    Waiting,
    WrittenFile,
    digest,
    is_called,
    keep_row,
    known_as,
)
from phoenixd.documents.ledger_tasks import TaskList
from phoenixd.documents.ledger_words import Speech
from phoenixd.documents.transcript import (
    Checked,
    Fact,
    Prompted,
    Record,
    SessionNamed,
    ToolEnded,
    TurnBegan,
    TurnEnded,
    TurnUnclear,
)
from phoenixd.planting import is_ours

MOST_RUNS, MOST_FILES, MOST_JOBS, MOST_TIMERS, MOST_WAITING, MOST_PENDING = 200, 300, 64, 64, 32, 256
MOST_PLANS, MOST_QUESTIONS = 8, 16
WAITING_LIMIT = 2000

Pending = TasksListed | TaskAsked | CommandBegan | JobAsked | FileWritten | TimerAsked | TimerGone
"""Calls that take effect once they came back, by id."""


@dataclass(slots=True)
class SessionLedger:
    """All rows; those that are kept by a key are in the order in which they were touched, oldest first."""

    session_id: str | None = None
    began_at: float | None = None
    newest_at: float | None = None
    turn_open: bool | None = None
    """Whether a turn is open; None: unknown."""
    ending: TurnEnded | None = None
    """How the last turn ended; None while one is open."""
    writes_no_ends: bool = False
    """This CLI does not write down where a turn ends that ends well."""
    prompt_turn: str | None = None
    """The CLI's name of the turn that the newest prompt belongs to."""
    tasks: TaskList = field(default_factory=TaskList)
    runs: dict[str, Run] = field(default_factory=dict)
    """The newest ended run of each command; a command is known by its whole text."""
    jobs: dict[str, Job] = field(default_factory=dict)
    files: dict[str, WrittenFile] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    questions: dict[str, AskedQuestion] = field(default_factory=dict)
    timers: dict[str, Timer] = field(default_factory=dict)
    waiting: list[Waiting] = field(default_factory=list)
    taken: int = 0
    """How many of these the CLI says that it took without saying which: the prompts that follow tell."""
    speech: Speech = field(default_factory=Speech)
    pending: dict[str, Pending] = field(default_factory=dict)
    checking: bool = False
    """A check of ours is being answered."""

    def hear(self, record: Record) -> None:
        """Take one record of the main thread into account."""
        if record.at is not None:
            self.newest_at = record.at
            # A CLI may write a prompt behind the answer to it.
            self.began_at = record.at if self.began_at is None else min(self.began_at, record.at)
        if record.kind == "assistant":
            self._settle_taken()
        if record.kind in ("assistant", "tool"):
            self.turn_open, self.ending = True, None
        for fact in record.facts:
            self._take(fact)

    def running(self) -> tuple[CommandBegan, ...]:
        """Commands that were begun and have not come back."""
        return tuple(one for one in self.pending.values() if isinstance(one, CommandBegan))

    def _take(self, fact: Fact) -> None:
        match fact:
            case SessionNamed(session_id):
                self.session_id = session_id[:200]
            case Checked():
                self.checking = True
            case Prompted() if is_ours(fact.text):
                # Some CLIs write what held up a turn's end as a prompt.
                self.checking = True
            case Prompted():
                self.checking = False
                if fact.turn is not None and fact.turn == self.prompt_turn:
                    fact = replace(fact, queued=True)
                self.prompt_turn = fact.turn
                if self._read_from_queue(fact.text):
                    self.taken = max(0, self.taken - 1)
                self.speech.prompted(fact)
                if not fact.queued:
                    self.turn_open, self.ending = True, None
            case TurnBegan():
                self.speech.turn_began()
                self.turn_open, self.ending = True, None
            case TurnUnclear():
                self.turn_open, self.writes_no_ends = None, True
            case TurnEnded():
                self._turn_over(fact)
                self.checking = False
            case Spoke() if self.checking:
                pass  # The answer to a check is no part of the work.
            case ToolEnded():
                self._came_back(fact)
            case Spoke():
                self.speech.spoke(fact)
            case TasksListed() | TaskAsked() | TaskTold():
                self._take_task(fact)
            case CommandBegan() | CommandEnded() | JobAsked() | JobBegan() | JobEnded():
                self._take_work(fact)
            case _:
                self._take_rest(fact)

    def _take_task(self, fact: TasksListed | TaskAsked | TaskTold) -> None:
        if isinstance(fact, TaskTold):
            asked = self._pending(fact.call)
            self.tasks.told(fact, asked if isinstance(asked, TaskAsked) else None)
        elif isinstance(fact, TasksListed) and fact.call is None:
            self.tasks.listed(fact)
        elif fact.call is not None:
            self._wait(fact.call, fact)

    def _take_work(self, fact: CommandBegan | CommandEnded | JobAsked | JobBegan | JobEnded) -> None:
        match fact:
            case CommandBegan():
                if fact.call not in self.jobs and fact.call not in self.pending:
                    self._wait(fact.call, fact)
            case JobAsked():
                self._wait(fact.call, fact)
            case CommandEnded():
                begun = self._pending(fact.call)
                if isinstance(begun, CommandBegan):
                    self._ran(begun, fact.at, fact.code, fact.failed, fact.interrupted)
            case JobBegan():
                begun = self._pending(fact.call)
                if isinstance(begun, CommandBegan | JobAsked):
                    is_command = isinstance(begun, CommandBegan)
                    what = begun.text if isinstance(begun, CommandBegan) else begun.what
                    keep_row(self.jobs, fact.call, Job(fact.call, fact.job, what, is_command, begun.at), MOST_JOBS)
            case JobEnded():
                self._job_over(fact)

    def _take_rest(self, fact: Fact | Deed) -> None:
        match fact:
            case FileWritten(failed=None) | TimerAsked() | TimerGone():
                self._wait(fact.call, fact)
            case FileWritten():
                self._wrote(fact, bool(fact.failed), fact.at)
            case TimerSet():
                self._timer_set(fact)
            case PlanProposed():
                keep_row(self.plans, fact.call, Plan(fact.call, fact.text, fact.path, fact.at), MOST_PLANS)
            case PlanAnswered():
                self._plan_answered(fact)
            case QuestionAsked():
                asked = AskedQuestion(fact.call, fact.questions, fact.at)
                keep_row(self.questions, fact.call, asked, MOST_QUESTIONS)
            case QuestionAnswered():
                if (question := self.questions.get(known_as(fact.call, self.questions))) is not None:
                    question.answers, question.answered = fact.answers, fact.at
            case PromptQueued():
                self._queued(fact)
            case PromptTaken():
                if fact.text is not None:
                    self._read_from_queue(fact.text)
                else:
                    self.taken += 1
            case _:
                pass  # What tells how full the context is belongs to session_facts.

    def _pending(self, call: str) -> Pending | None:
        """The call that came back, which waits no longer."""
        return self.pending.pop(known_as(call, self.pending), None)

    def _wait(self, call: str, fact: Pending) -> None:
        keep_row(self.pending, call, fact, MOST_PENDING)

    def _came_back(self, fact: ToolEnded) -> None:
        asked = self._pending(fact.call)
        match asked:
            case CommandBegan():
                # The CLI tells how a command ended that ran to its end; this one did not.
                self._ran(asked, fact.at, None, None, interrupted=fact.failed)
            case TasksListed() if not fact.failed:
                self.tasks.listed(asked)
            case FileWritten():
                self._wrote(asked, fact.failed, fact.at)
            case TimerGone() if not fact.failed:
                for key in [key for key, one in self.timers.items() if is_called(one.timer, asked.timer)]:
                    del self.timers[key]
            case _:
                pass
        plan = self.plans.get(known_as(fact.call, self.plans))
        question = self.questions.get(known_as(fact.call, self.questions))
        if plan is not None and plan.approved is None:
            plan.approved, plan.answered = not fact.failed, fact.at
        if question is not None and question.answers is None:
            question.answers, question.answered = (), fact.at

    def _turn_over(self, fact: TurnEnded) -> None:
        self._settle_taken()
        # The CLI closes its books on every turn, also on one that had ended badly.
        if self.turn_open is False and self.ending is not None:
            return
        self.turn_open, self.ending = False, fact
        self.speech.turn_over(fact.how)
        for call in [call for call, one in self.pending.items() if isinstance(one, CommandBegan)]:
            begun = self.pending.pop(call)
            if isinstance(begun, CommandBegan):
                self._ran(begun, fact.at, None, None, interrupted=fact.how == "interrupted")
        self.pending.clear()

    def _ran(
        self, begun: CommandBegan, ended: float | None, code: int | None, failed: bool | None, interrupted: bool
    ) -> None:
        key = digest(" ".join(begun.text.split()))
        before = self.runs.get(key)
        run = Run(begun.call, begun.text, begun.at, ended, code, failed, interrupted)
        if before is not None and before.first_failed is not None:
            run.first_code, run.first_failed = before.first_code, before.first_failed
        elif not interrupted:
            run.first_code, run.first_failed = code, failed
        if before is not None and run.outcome is None:
            run.before = before.outcome
        keep_row(self.runs, key, run, MOST_RUNS)

    def _job_over(self, fact: JobEnded) -> None:
        job = self.jobs.get(known_as(fact.call, self.jobs)) if fact.call is not None else None
        if job is None and fact.job is not None:
            job = next((one for one in reversed(self.jobs.values()) if is_called(one.job, fact.job)), None)
        if job is None or job.is_over:
            return
        job.is_over, job.how, job.code, job.ended = True, fact.how, fact.code, fact.at
        if job.is_command and fact.how is not None:
            begun, failed = CommandBegan(job.call, job.what, job.began), fact.how == "failed"
            stopped = fact.how == "stopped"
            self._ran(begun, fact.at, fact.code, None if stopped else failed, interrupted=stopped)

    def _wrote(self, fact: FileWritten, failed: bool, at: float | None) -> None:
        if not failed:
            keep_row(self.files, digest(fact.path), WrittenFile(fact.path, at), MOST_FILES)

    def _timer_set(self, fact: TimerSet) -> None:
        asked = self._pending(fact.call)
        if isinstance(asked, TimerAsked):
            timer = Timer(
                fact.call, fact.timer, asked.when, asked.prompt, asked.is_schedule, fact.due, fact.is_durable, asked.at
            )  # fmt: skip
            keep_row(self.timers, fact.call, timer, MOST_TIMERS)

    def _plan_answered(self, fact: PlanAnswered) -> None:
        if (plan := self.plans.get(known_as(fact.call, self.plans))) is not None:
            plan.approved, plan.answered = fact.approved, fact.at
            plan.text, plan.path = fact.text or plan.text, fact.path or plan.path

    def _queued(self, fact: PromptQueued) -> None:
        self._settle_taken()
        # A timer's prompt is queued as a person's is when it fires; one that fires once is gone then.
        fired = [key for key, one in self.timers.items() if one.prompt and one.prompt == clipped(fact.text, WHAT_LIMIT)]
        for key in fired:
            if not self.timers[key].is_schedule:
                del self.timers[key]
        by_cli = fact.by_cli or bool(fired)
        self.waiting.append(
            Waiting(digest(clipped(fact.text, SPOKEN_LIMIT)), clipped(fact.text, WAITING_LIMIT), by_cli, fact.at)
        )
        del self.waiting[:-MOST_WAITING]

    def _read_from_queue(self, text: str) -> bool:
        """Whether it waited."""
        key = digest(clipped(text, SPOKEN_LIMIT))
        at = next((index for index, one in enumerate(self.waiting) if one.key == key), None)
        if at is not None:
            del self.waiting[at]
        return at is not None

    def _settle_taken(self) -> None:
        """Nothing told which of what waited was taken: it was a note of the CLI's own, or else what waited longest.

        What waited when an earlier process ended is not among the new one's, and stays in front of them.
        """
        while self.taken > 0 and self.waiting:
            notes = (index for index, one in enumerate(self.waiting) if one.by_cli)
            del self.waiting[next(notes, 0)]
            self.taken -= 1
        self.taken = 0
