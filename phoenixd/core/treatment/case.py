"""A Case: one id over what was noticed, the diagnosis, what was done about it, and what came of that (C2).

Values alone. Fleet.cases holds what goes on now and what ended within the hour; the journal's tables hold the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phoenixd.core.change import replace
from phoenixd.core.hooks import Failure, Named
from phoenixd.core.moment import Instant
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.examined import Examinations, FailureRead
from phoenixd.core.treatment.triage import Diagnosis
from phoenixd.core.treatment.words import Occasion, Outcome, RootCause, Treatment

JOINS_WITHIN = 3600.0
"""Supervised seconds after the newest failure within which the same one joins its Case."""
MOST_CASES = 300
MOST_TREATED = 60
"""Treatments of a Case that are kept with their outcome; those that are open are kept beside them."""
MOST_OPEN = 400
MOST_AGENTS = 200
WHY_LIMIT = 300

By = Literal["restart", "limits", "cut answers", "inbox", "clinic", "resonance"]
"""Which rules ordered a treatment. The clinic names what the others did, and adds what is missing."""


@dataclass(frozen=True, slots=True)
class Treated:
    """One treatment of one agent. Wall times, but for `since`.

    number: within the Case. incarnation: that had failed; run: the one that shows what came of it, 0 until it began.
    failed_at: when the failure was noticed; at: when the treatment began. productive: when that run was; since: the
    same in supervised time. turns, worked: turns, and seconds of open turns, from there on. ended: the open seconds of
    a turn that is over; a look at the screen has yet to show whether it ended well.
    """

    number: int
    agent: str
    incarnation: int
    treatment: Treatment
    by: By
    failed_at: float
    at: float
    run: int = 0
    productive: float | None = None
    turns: int = 0
    worked: float = 0.0
    since: Instant | None = None
    ended: float | None = None
    outcome: Outcome = "open"
    why: str = ""
    decided: float | None = None

    @property
    def is_open(self) -> bool:
        return self.outcome == "open"


@dataclass(frozen=True, slots=True)
class Case:
    """What fails in one way, within one scope: an agent, or all that share an account.

    key: by which the same failure is known. opened, newest, closed: wall; seen: the newest failure in supervised time.
    incidents: how often it was noticed. outcome: of the newest treatment; moot where nothing was done.
    """

    id: str
    scope: str
    key: str
    cause: RootCause | None
    detail: str
    rule: str
    confidence: float
    harness: str
    opened: float
    newest: float
    agents: tuple[str, ...] = ()
    incidents: int = 1
    treated: tuple[Treated, ...] = ()
    treatments: int = 0
    """How many there were, with those that are forgotten here."""
    closed: float | None = None
    outcome: Outcome = "open"
    seen: Instant = 0.0
    examined: FailureRead | None = None
    """What came of asking a model about it, where no rule knows it."""

    @property
    def is_treated(self) -> bool:
        """Whether the outcome of a treatment is yet to be known."""
        return any(one.is_open for one in self.treated)

    def with_treated(self, one: Treated) -> Case:
        """The Case with a newer state of that treatment."""
        kept = tuple(one if known.number == one.number else known for known in self.treated)
        return replace(self, treated=kept)


@dataclass(frozen=True, slots=True)
class Patient:
    """An agent that failed and whose next run has not begun, or that has done nothing since its turn failed.

    failure, word, named, status, reset, said: why the turn failed, by which the end of the same run is explained too.
    number: which failure of its Case that is. disks: those without room when its turn failed. ended: a further turn of
    it is over, and a look at the screen has yet to show whether it ended well.
    """

    agent: str
    incarnation: int
    case: str
    failed_at: float
    failure: Failure | Literal[""] = ""
    word: str = ""
    reset: bool = False
    said: str = ""
    ended: bool = False
    status: int | None = None
    number: int = 1
    disks: str = ""
    named: Named = ""


@dataclass(frozen=True, slots=True)
class Prescribed:
    """A treatment that the clinic itself ordered, or proposed, for a Case; by these its caps are counted.

    at: wall; since: the same in supervised time, which no setting of the clock moves.
    """

    case: str
    agent: str
    incarnation: int
    treatment: Treatment
    at: float
    since: Instant = 0.0


@dataclass(frozen=True, slots=True)
class Unsure:
    """An end, while the terminal has not said yet whether a person sat there: it is no failure where one did."""

    agent: str
    incarnation: int
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Cases:
    """Those that are open, or were closed within the hour. next: the number of the next one."""

    next: int = 1
    cases: tuple[Case, ...] = ()
    patients: tuple[Patient, ...] = ()
    prescribed: tuple[Prescribed, ...] = ()
    """What the clinic ordered for these Cases, and within the newest six hours."""
    examinations: Examinations = Examinations()  # noqa: RUF009 - frozen
    """What a model is asked about Cases that no rule knows, and what that has cost."""
    unsure: tuple[Unsure, ...] = ()
    """Ends that may be a person's; each is a failure or none before its agent runs again."""

    def find(self, number: str) -> Case | None:
        """The Case of that id, as long as it stands here."""
        return next((one for one in self.cases if one.id == number), None)

    def standing_of(self, agent: str) -> Case | None:
        """The newest Case of an agent that is not closed."""
        found = [one for one in self.cases if one.closed is None and agent in one.agents]
        return max(found, key=lambda one: one.newest, default=None)

    def patient(self, agent: str) -> Patient | None:
        """The agent as a patient, if it is one."""
        return next((one for one in self.patients if one.agent == agent), None)

    def open_of(self, agent: str) -> tuple[tuple[Case, Treated], ...]:
        """The treatments of an agent that have no known outcome yet."""
        return tuple(
            (case, one) for case in self.cases if case.closed is None for one in case.treated
            if one.agent == agent and one.is_open
        )  # fmt: skip

    def with_case(self, case: Case) -> Cases:
        """With a newer state of that Case, or a new one."""
        if self.find(case.id) is None:
            return replace(self, cases=(*self.cases, case))
        return replace(self, cases=tuple(case if one.id == case.id else one for one in self.cases))

    def with_patient(self, patient: Patient) -> Cases:
        """With that agent as a patient."""
        others = tuple(one for one in self.patients if one.agent != patient.agent)
        return replace(self, patients=(*others, patient))

    def without_patient(self, agent: str) -> Cases:
        """Without that agent among the patients."""
        if self.patient(agent) is None:
            return self
        return replace(self, patients=tuple(one for one in self.patients if one.agent != agent))


@dataclass(frozen=True, slots=True)
class Noticed:
    """One failure as it was noticed, for the journal's table of incidents.

    number: within the Case, from 1 on. is_more: it is told already, and more is known of it now. is_corrected: by
    that its Case claims something else than before.
    """

    case: str
    agent: str
    incarnation: int
    occasion: Occasion
    at: float
    evidence: Evidence
    diagnosis: Diagnosis
    number: int = 1
    is_more: bool = False
    is_corrected: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """What an event changed of a Case, for the journal's tables: the Case, what was noticed, and treatments."""

    case: Case
    noticed: tuple[Noticed, ...] = ()
    treated: tuple[Treated, ...] = ()
