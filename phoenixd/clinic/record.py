"""What is told of a task that failed: one Case for the caller, notes on the exception, lines in the log."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable

from pydantic_ai.usage import RunUsage

from phoenixd.clinic.prescribing import Remedy
from phoenixd.clinic.treatment import Verdict
from phoenixd.core.treatment.words import Outcome
from phoenixd.documents.cleaner import Cleaner
from phoenixd.documents.clinic import MOST_STEPS, Case, Prescription, Rehabilitation, TraumaContext, Triage
from phoenixd.documents.times import timestamp

LOG = logging.getLogger("phoenixd.clinic")
NOTE_LIMIT, TEXT_LIMIT, WORD_LIMIT = 300, 4000, 200


class Record:
    """The Case of one task, from its first failure to its end. tell: is given it when the outcome is known."""

    def __init__(
        self, tell: Callable[[Case], None] | None, most: int, clean: Cleaner, now: Callable[[], float]
    ) -> None:
        self._tell, self._runs, self._clean, self._now = tell, most + 1, clean, now
        self._id = f"clinic-{secrets.token_hex(8)}"
        self._triage: list[Triage] = []
        self._done: list[Rehabilitation] = []
        self._verdict: Verdict | None = None
        self._cause = ""
        self._notes: list[str] = []

    def failed(self, run: int, trauma: TraumaContext, verdict: Verdict, occasion: str) -> None:
        """A run failed, and this is what is done about it."""
        if self._done:
            came_back = verdict.cause == self._cause
            why = "the cause came back" if came_back else f"another failure came: {verdict.cause}"
            self._settle("failed" if came_back else "moot", why)
        self._triage.append(Triage(occasion=occasion, at=timestamp(self._now()), incarnation=run, trauma=trauma))
        self._done.append(
            Rehabilitation(prescription=self._recorded(verdict.remedy), by=verdict.by[:WORD_LIMIT], incarnation=run + 1)
        )
        self._verdict, self._cause = verdict, verdict.cause
        done = f"given up: {verdict.why}" if verdict.is_end else verdict.remedy.action
        words = self._clean.tail(" ".join(trauma.error_message.split()), NOTE_LIMIT)
        note = (
            f"run {run} of {self._runs}: {trauma.error_type}: {words}: {verdict.cause}, {verdict.explanation} "
            f"(by {verdict.by}): {done}"
        )
        self._notes.append(note)
        LOG.info("clinic.%s: %s", "abandoned" if verdict.is_end else "treated", note)

    def healed(self, run: int) -> None:
        """A run ended well."""
        if self._done:
            LOG.info("clinic.healed: run %d of %d ended well", run, self._runs)
            self._settle("held", "the next run ended well")
            self._told("held")

    def stopped(self) -> None:
        """What stops the program passed through a further run: nothing is known of the treatment."""
        if self._done:
            self._settle("moot", "it was cancelled")
            self._told("moot")

    def abandoned(self, first: Exception, usage: RunUsage) -> Exception:
        """The first run's exception, with notes on what was tried and what it cost."""
        if self._done:
            self._settle("failed", self._verdict.why if self._verdict is not None else "")
            self._told("failed")
        runs = len(self._triage)
        spent = f"{usage.requests} requests, {usage.input_tokens} input and {usage.output_tokens} output tokens"
        for note in (*self._notes, f"{runs} run{'s' * (runs > 1)}: {spent}"):
            first.add_note(f"phoenixd.clinic: {note}")
        return first

    def _settle(self, outcome: Outcome, why: str) -> None:
        newest = self._done[-1].model_copy(update={"outcome": outcome, "why": self._clean.head(why, TEXT_LIMIT)})
        self._done[-1] = newest

    def _told(self, outcome: Outcome) -> None:
        if self._tell is None or self._verdict is None:
            return
        case = Case(
            id=self._id,
            kind="library",
            opened_at=self._triage[0].at,
            closed_at=timestamp(self._now()),
            triage=tuple(self._triage[-MOST_STEPS:]),
            diagnosis=self._verdict.diagnosis,
            detail=None if self._verdict.diagnosis is not None else self._verdict.finding.detail,
            rule=self._verdict.by[:WORD_LIMIT],
            prescription=self._done[-1].prescription,
            rehabilitation=tuple(self._done[-MOST_STEPS:]),
            outcome=outcome,
        )
        try:
            self._tell(case)
        except Exception:
            # A fault of the caller's callback takes neither a result nor the first exception away.
            LOG.exception("clinic.on_case: the callback failed on Case %s", self._id)

    def _recorded(self, remedy: Remedy) -> Prescription:
        """The remedy as it is written down: without secrets, and bounded."""
        prompt = self._clean.head(remedy.prompt or remedy.note, TEXT_LIMIT)
        system = self._clean.head(remedy.instructions, TEXT_LIMIT)
        return Prescription(action=remedy.action, modified_prompt=prompt or None, modified_system_prompt=system or None)
