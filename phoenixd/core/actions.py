"""What is to be done: imperative, frozen, safe to repeat, and bound to an incarnation."""

from __future__ import annotations

from dataclasses import dataclass, field

from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Incident, Mode
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.moment import Instant
from phoenixd.core.resonance.state import Why
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.examined import ReaderRules
from phoenixd.core.work import Survey


@dataclass(frozen=True, slots=True)
class Spawn:
    """Make sure of pane and shim, write the order, and have the shim start the run."""

    agent: str
    incarnation: int
    run_id: str
    mode: Mode
    session_id: str
    prompt: PromptKind


@dataclass(frozen=True, slots=True)
class Terminate:
    """Ask the run to end: SIGTERM to its process group."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Kill:
    """End the run's whole tree, and go on until it is empty."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Fence:
    """End what is left of a run without its shim's help, and report when nothing is left."""

    agent: str
    incarnation: int
    run_id: str
    pid: int | None
    start_time: int | None


@dataclass(frozen=True, slots=True)
class Deliver:
    """Type a text into the pane, and find evidence that it arrived.

    opening: the text is what the run is told first, which its launch knows; it waits until the screen stands still.
    """

    agent: str
    incarnation: int
    message_id: str
    text: str = field(repr=False)
    until: Instant | None = None
    """When it is too late to begin; None: never."""
    opening: bool = False


@dataclass(frozen=True, slots=True)
class OrphanAnswer:
    """What the shim says of an answer that an earlier daemon was giving when it ended.

    held: it still holds the request, so the agent has no answer. taken: whether the agent took the answer; None: it
    tells of none. says: a shim of this version says what came of each answer. whole: the answer is known.
    """

    held: bool
    taken: bool | None = None
    says: bool = True
    whole: bool = True


@dataclass(frozen=True, slots=True)
class AnswerHold:
    """Give an operator's answer to a request that the shim holds, and say what became of it.

    item: the inbox item's number, by which a denial is found in the transcript. updated: what the tool is given
    instead, as JSON; empty: what it asked for. orphan: an earlier daemon was at it, and may have given it.
    """

    agent: str
    incarnation: int
    hold: int
    item: int
    allow: bool
    reason: str = ""
    updated: str = field(default="", repr=False)
    orphan: OrphanAnswer | None = None


@dataclass(frozen=True, slots=True)
class AttendHold:
    """Let go of a request as soon as somebody sits at the terminal, where its dialog shows only then."""

    agent: str
    incarnation: int
    hold: int


@dataclass(frozen=True, slots=True)
class ReleaseHold:
    """Let go of a request that was answered elsewhere."""

    agent: str
    incarnation: int
    hold: int


@dataclass(frozen=True, slots=True)
class Arm:
    """Tell the run's shim beforehand how to answer a hook; the same answer again only moves its end."""

    agent: str
    incarnation: int
    answer: ArmedAnswer


@dataclass(frozen=True, slots=True)
class Disarm:
    """Take an armed answer back; one that does not stand is no error."""

    agent: str
    incarnation: int
    id: str


@dataclass(frozen=True, slots=True)
class LookAtScreen:
    """Read the pane once, as the last resort where no hook can tell."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class SeeAttendance:
    """See whether somebody who can type sits at the agent's terminal."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class DismissDialog:
    """Say no to a dialog, as the operator wrote down beforehand, if it is still the one on the screen; never Enter."""

    agent: str
    incarnation: int
    dialog: str


@dataclass(frozen=True, slots=True)
class InterruptTurn:
    """Press Escape, once, unless a dialog is open, and tell what the screen shows then, where it showed work before."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class LookAtCall:
    """Sum up the work of those processes of the run that began at `ticks` (clock ticks since boot) or later."""

    agent: str
    incarnation: int
    ticks: int


@dataclass(frozen=True, slots=True)
class CleanUp:
    """End what a run left over that its own end did not, and look who holds the agent's ports."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class RecordIncident:
    """Keep what can be seen of a run that is about to be ended, and the readings that its end rests on."""

    agent: str
    incarnation: int
    incident: Incident
    readings: tuple[tuple[str, str | int | float | None], ...]


@dataclass(frozen=True, slots=True)
class Release:
    """Close pane and shim of an agent that is removed."""

    agent: str


@dataclass(frozen=True, slots=True)
class TakeSession:
    """Give the terminal session of a seat's holder the seat's name; clients of the session before are moved to it."""

    agent: str
    seat: str
    generation: int


@dataclass(frozen=True, slots=True)
class Alert:
    """Tell the operator of trouble; the fleet gives it its number, and leaves out what stands already.

    agent: None for the fleet. watched: a watch outside the core says when it is over.
    """

    agent: str | None
    kind: str
    text: str
    id: int = 0
    raised_wall: float = 0.0
    watched: bool = False
    answerable: bool = False
    """It stands for an item that `phoenixctl answer` reaches by that number."""
    about: tuple[str, ...] = ()
    """What its text was made of, where that may have to be made anew; of an outage its group."""
    gist: str = ""
    """The text without the next command, where it holds one."""
    held: bool = False
    """A mute of its agent holds it back: it is logged, and nobody is told."""


@dataclass(frozen=True, slots=True)
class Reassure:
    """Tell the operator that what an alert told is over, and what proved it."""

    agent: str | None
    kind: str
    text: str
    id: int
    raised_wall: float
    why: str
    held: bool = False
    """Nobody was told of the alert, so nobody is told of its end."""


@dataclass(frozen=True, slots=True)
class ObserveTerminal:
    """Look whether the terminal server lives, after `after`; revive it where that is ours to do."""

    after: Instant


@dataclass(frozen=True, slots=True)
class MeasureWork:
    """Take the fingerprint of an agent's work, before or after (`at_end`) the iteration of that number.

    since: what the look before it saw. turn: it is about that turn of a resident's run, and not about an iteration.
    """

    agent: str
    number: int
    at_end: bool
    since: Survey | None = None
    turn: int = 0


@dataclass(frozen=True, slots=True)
class LookForFile:
    """See whether a file matches a pattern below a directory, as the condition of a turn."""

    agent: str
    number: int
    turn: int
    directory: str
    pattern: str


@dataclass(frozen=True, slots=True)
class LookForDirectory:
    """See whether the directory can be entered that an agent is to work in. incarnation: its newest."""

    agent: str
    incarnation: int
    directory: str


@dataclass(frozen=True, slots=True)
class UpdatePapers:
    """Bring a project's plans, contexts and manifests up to date, by ledger and reports. agent: the seat."""

    agent: str
    handoff: str
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class WritePackage:
    """Write the package of a handoff to both sessions' directories. agent: the seat."""

    agent: str
    handoff: str
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class CheckPackage:
    """See whether the package that a successor's last words, or its file, quote can be rested on; PackageChecked tells.
    agent: the seat."""

    agent: str
    handoff: str
    package: str


@dataclass(frozen=True, slots=True)
class WriteAddendum:
    """Write down what came too late for the package: changed files, prompts to the predecessor. agent: the seat."""

    agent: str
    handoff: str


@dataclass(frozen=True, slots=True)
class RecordSessions:
    """Say in the records of both sessions what became of a handoff. agent: the seat."""

    agent: str
    handoff: str


@dataclass(frozen=True, slots=True)
class PlantCodes:
    """Mint a marker and codes, and write ledger, anchor and seed; the event CodesPlanted tells what came of it.

    why: as in resonance.state.Why. With a session that begins it is told what stands in them; else the core tells it.
    """

    agent: str
    incarnation: int
    why: Why


@dataclass(frozen=True, slots=True)
class ReadSeed:
    """Read the session seed, or make it of state and brief, for a session in place of a lost one."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class CollectTask:
    """Take in what a worker left: its answer from the transcript, its outputs; write manifest and report."""

    agent: str
    incarnation: int
    task: str
    run: int
    """The number of the run, among those of the task."""


@dataclass(frozen=True, slots=True)
class ExamineCase:
    """Show a failure that no rule knows to the configured reader; the event CaseExamined tells what came of it.

    number: of the question. rule: what triage says of it. times: how often its Case was noticed. command: what the open
    call ran, without secrets.
    """

    agent: str
    incarnation: int
    case: str
    number: int
    reader: ReaderRules = field(repr=False)
    rule: str
    times: int
    evidence: Evidence = field(repr=False)
    command: str = field(default="", repr=False)


Action = LookForFile | (
    MeasureWork
    | CollectTask
    | ExamineCase
    | PlantCodes
    | ReadSeed
    | Spawn
    | Terminate
    | Kill
    | Fence
    | Deliver
    | LookAtScreen
    | SeeAttendance
    | DismissDialog
    | InterruptTurn
    | LookAtCall
    | CleanUp
    | LookForDirectory
    | AnswerHold
    | AttendHold
    | ReleaseHold
    | Arm
    | Disarm
    | RecordIncident
    | Release
    | TakeSession
    | Alert
    | Reassure
    | UpdatePapers
    | WritePackage
    | CheckPackage
    | WriteAddendum
    | RecordSessions
    | ObserveTerminal
)
