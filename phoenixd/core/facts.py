"""What a decision established, as typed values: what counts reads these, and never the words of a reason.

They stand in the journal beside reason and readings. An older row has none; a fact that a newer version wrote is left
out by an older one. So every fact is small, carries its `name`, and each field but the first ones has a default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.causes import CutHow
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.treatment.examined import FailureRead
from phoenixd.core.treatment.words import Occasion, Outcome, RootCause, Treatment

Weight = Literal["story", "detail", "noise"]
"""story: what a person would tell of the night. detail: a note with its reason. noise: a look that changed nothing."""

Meaning = Literal[
    "asked",
    "finished",
    "iteration",
    "recycled",
    "limit",
    "unstarted",
    "death",
    "answer",
    "no answer",
    "attempt",
    "sealed",
]
"""What an end was. asked: somebody ended it. iteration: of a loop that goes on. finished: as it should; `then` says
whether a run follows, as the policy always has it.

recycled: it asked for a fresh start. limit: a limit or an outage ended its work. unstarted: it was never executed.
answer, no answer: of what a sequence asks whether a turn comes; neither is a death.
attempt: a worker's run ended badly, and its task says what follows. sealed: it was asked for its seal alone.
"""

Then = Literal["stay", "restart", "park", "quarantine", "remove"]
Verb = Literal[
    "declare", "remove", "start", "stop", "restart", "send", "answer", "breaker", "undo", "mute", "unmute",
    "acknowledge",
]  # fmt: skip
VERBS: tuple[Verb, ...] = get_args(Verb)


@dataclass(frozen=True, slots=True)
class RunBegan:
    """A run was ordered; `prompt` is what it is told first."""

    incarnation: int
    mode: Mode
    prompt: PromptKind
    name: Literal["run_began"] = "run_began"


@dataclass(frozen=True, slots=True)
class StateOpened:
    """The row opened the state in which its agent is since then (wall), or gave that state another reason."""

    since_wall: float
    name: Literal["state_opened"] = "state_opened"


@dataclass(frozen=True, slots=True)
class RunProductive:
    """A run has shown progress, by the rule of design section 3; said once for each run."""

    incarnation: int
    name: Literal["run_productive"] = "run_productive"


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """A task has failed for good: its id, and why, in words."""

    task: str
    why: str
    name: Literal["task_failed"] = "task_failed"


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """A worker's run has failed by what is known of its task, and nothing in its end told so.

    how: it took too long, or how its last answer ended, as core.tasks.state.Stop has it. words: of its transcript.
    """

    incarnation: int
    task: str
    how: Literal["timeout", "failed", "interrupted", "cut", "open", "missing"]
    words: str = ""
    name: Literal["attempt_failed"] = "attempt_failed"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run is over and its tree is gone. `lived` is seconds; code and signal are None where nobody could know.

    by_person: somebody left the session from inside.
    """

    incarnation: int
    meaning: Meaning
    then: Then
    cause: str
    code: int | None = None
    signal: int | None = None
    lived: float = 0.0
    by_person: bool = False
    name: Literal["run_ended"] = "run_ended"


@dataclass(frozen=True, slots=True)
class HungInCall:
    """A run is ended as hung while a call was open; seconds, as in agent.activity.OpenCall."""

    incarnation: int
    tool: str
    command: str
    ran: float
    declared: float | None = None
    idle: float | None = None
    name: Literal["hung_in_call"] = "hung_in_call"


@dataclass(frozen=True, slots=True)
class PutInQuarantine:
    """The agent stays down until an operator starts it. by_breaker: its breaker is open."""

    cause: str
    by_breaker: bool = False
    name: Literal["put_in_quarantine"] = "put_in_quarantine"


@dataclass(frozen=True, slots=True)
class ProgressMade:
    """What its newest iteration or turn did to the work has closed a breaker that had warned, or was on trial."""

    incarnation: int
    name: Literal["progress_made"] = "progress_made"


@dataclass(frozen=True, slots=True)
class BeganParking:
    """Nothing is asked of the agent before a wall time. of: the account, or what else, whose limit or outage it is."""

    kind: ParkingKind
    until_wall: float
    of: str = ""
    name: Literal["began_parking"] = "began_parking"


@dataclass(frozen=True, slots=True)
class EndedParking:
    """The agent goes on, or is down for another reason."""

    name: Literal["ended_parking"] = "ended_parking"


@dataclass(frozen=True, slots=True)
class Asked:
    """An inbox item was opened."""

    item: int
    kind: str
    name: Literal["asked"] = "asked"


@dataclass(frozen=True, slots=True)
class AskingOver:
    """An inbox item was closed by what this row tells."""

    item: int
    kind: str
    name: Literal["asking_over"] = "asking_over"


@dataclass(frozen=True, slots=True)
class Ordered:
    """An operator's order. taken: it was not refused. moved: it changed the agent's state, or what it is to be."""

    verb: Verb
    by: str
    taken: bool = True
    moved: bool = False
    name: Literal["ordered"] = "ordered"


@dataclass(frozen=True, slots=True)
class AnswerJudged:
    """It is known what became of an operator's answer to an item, which may be closed by then. taken: it counted."""

    item: int
    taken: bool
    name: Literal["answer_judged"] = "answer_judged"


@dataclass(frozen=True, slots=True)
class AnswerFellShort:
    """An answer was cut at its end. went_on: the CLI asked for the rest by itself."""

    incarnation: int
    how: CutHow
    went_on: bool = False
    name: Literal["answer_fell_short"] = "answer_fell_short"


@dataclass(frozen=True, slots=True)
class Treating:
    """The clinic itself orders a treatment. incarnation: that had failed. proposed: a person is asked before.

    allowed: it is what a person has allowed, and was counted when it was proposed.
    """

    incarnation: int
    case: str
    treatment: Treatment
    proposed: bool = False
    allowed: bool = False
    name: Literal["treating"] = "treating"


@dataclass(frozen=True, slots=True)
class ProposalAnswered:
    """A person has answered a proposal of the clinic's. incarnation: that had failed."""

    incarnation: int
    case: str
    treatment: Treatment
    allowed: bool
    by: str
    name: Literal["proposal_answered"] = "proposal_answered"


@dataclass(frozen=True, slots=True)
class TreatmentDropped:
    """A person has allowed a treatment of the clinic's, and it is not done. incarnation: that had failed."""

    incarnation: int
    case: str
    treatment: Treatment
    by: str = ""
    why: str = ""
    name: Literal["treatment_dropped"] = "treatment_dropped"


@dataclass(frozen=True, slots=True)
class CaseNoted:
    """What the clinic noted of one agent's failure; the tables `incidents` and `treatments` have the whole (C40).

    diagnosis: occasion, cause, detail, rule and confidence; again where a Case claims something else by what became
    known later. prescription: a treatment began, the `number`th of its Case, and by whose rules. outcome: it is known
    what came of it in the run `run`, which was productive `seconds` after the failure, None where it never was.
    incarnation: that had failed.
    """

    incarnation: int
    case: str
    what: Literal["diagnosis", "prescription", "outcome"]
    occasion: Occasion | Literal[""] = ""
    cause: RootCause | None = None
    detail: str = ""
    rule: str = ""
    confidence: float = 0.0
    number: int = 0
    treatment: Treatment | Literal[""] = ""
    by: str = ""
    run: int = 0
    outcome: Outcome | Literal[""] = ""
    why: str = ""
    seconds: float | None = None
    name: Literal["case_noted"] = "case_noted"


@dataclass(frozen=True, slots=True)
class MarkerNoted:
    """What became of the marker of a run's session; rows of the table `markers`, and never a code.

    planted: codes were given. asked: code `number` was asked for. checked: what the answer proves (verdict). seen:
    codes stood in a call or a result. footer: the agent's own word of its state (verdict). restoration: its `step`, 1
    to 7. tokens: what it took, 0 where unknown. checkpoint: when the seed was written that a restoration goes on from.
    """

    incarnation: int
    what: Literal["planted", "asked", "checked", "seen", "footer", "restoration"]
    verdict: str = ""
    number: int = 0
    step: int = 0
    why: str = ""
    tokens: int = 0
    checkpoint: float | None = None
    name: Literal["marker_noted"] = "marker_noted"


@dataclass(frozen=True, slots=True)
class WatchBegan:
    """A daemon began; since then (wall) nobody had watched. ended: what told the daemon before to end; else empty."""

    since: float
    ended: str = ""
    name: Literal["watch_began"] = "watch_began"


@dataclass(frozen=True, slots=True)
class HandoffEnded:
    """A handoff is over; said again where more became known of it. Without the texts that were sent meanwhile."""

    handoff: Handoff
    name: Literal["handoff_ended"] = "handoff_ended"


Fact = (
    StateOpened
    | RunBegan
    | RunProductive
    | RunEnded
    | TaskFailed
    | AttemptFailed
    | HungInCall
    | PutInQuarantine
    | ProgressMade
    | BeganParking
    | EndedParking
    | Asked
    | AskingOver
    | Ordered
    | AnswerJudged
    | AnswerFellShort
    | MarkerNoted
    | CaseNoted
    | Treating
    | ProposalAnswered
    | TreatmentDropped
    | FailureRead
    | HandoffEnded
    | WatchBegan
)
