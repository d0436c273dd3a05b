"""A run, its session, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from phoenixd.core.agent.activity import OpenCall, PromptKind
from phoenixd.core.causes import CutHow, Disk, EndCause, Obstacle, signal_name
from phoenixd.core.merit import Merit, Proof
from phoenixd.core.moment import Instant
from phoenixd.core.treatment.words import Occasion

Achieved = Literal["nothing", "calls", "turn"]
"""What was done in a session. calls: its main thread called a tool. turn: a turn came to its end."""


class Mode(StrEnum):
    """How a run began."""

    FRESH = "fresh"
    RESUME = "resume"


@dataclass(frozen=True, slots=True)
class Deaf:
    """The link to a run's shim is lost: since when, and why."""

    since: Instant
    since_wall: float
    why: str


@dataclass(frozen=True, slots=True)
class Giving:
    """An operator's answer on its way to a held request, as long as nobody knows what became of it.

    hold: the request. item: the number that it was asked under. answer: allow, deny or answered, in one word. reason,
    updated: as the shim is to be told it. whole: these are known; an older phoenixd did not keep them. orphaned: an
    earlier daemon was at it when it ended.
    """

    hold: int
    item: int
    answer: str
    reason: str = ""
    updated: str = field(default="", repr=False)
    whole: bool = True
    orphaned: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """One incarnation's process, from the decision to spawn it. Times: Instant, and wall seconds for people."""

    incarnation: int
    run_id: str
    mode: Mode
    session_id: str
    prompt: PromptKind
    began: Instant
    began_wall: float
    pid: int | None = None
    start_time: int | None = None
    exec_at: Instant | None = None
    session_seen: bool = False
    """The harness reported its session start in this run."""
    prompt_seen: bool = False
    """The harness reported the prompt that this run was started with."""
    opening: str = ""
    """The message that types the prompt of this run, for a program that is told it by paste, until it arrived."""
    prompt_bytes: int = 0
    """How long the newest prompt of its main thread is; 0 where nothing has told."""
    evidence: bool = False
    """The main thread did something in this run: a prompt, a tool, a record in the transcript."""
    hook_seq: int = 0
    """The newest spooled hook that was heard; what the shim sends again is known by it."""
    left: bool = False
    """A person ended the session from inside: whatever time it lived, that was no failed start."""
    drawn: bool = False
    """A look at its screen found its input line."""
    jobs: tuple[str, ...] = ()
    """What goes on in its background and ends with its process, as far as was heard; an agent's words."""
    merit: Merit = Merit()  # noqa: RUF009 - frozen
    """What it has to show for itself."""
    deaf: Deaf | None = None
    """What it says does not arrive."""
    refused: int = 0
    """Hooks of its own that its shim did not take in."""
    strangers: int = 0
    """Requests at its hook endpoint that bore no token of its, and were turned away."""
    link: int = 0
    """The protocol that its shim's link speaks; 0: not told."""
    giving: tuple[Giving, ...] = ()
    """The operators' answers that are on their way to it."""
    guessed: bool = False
    """It was found alive without a journal that knew it, and nothing has told yet whether a turn of it is open."""
    goes_on: bool = False
    """It was begun to go on with a turn that was open, and nothing has told yet that it took that up."""
    unwatched: bool = False
    """For a while nobody watched it, and time stood still for the supervisor: by its own it lived longer."""


@dataclass(frozen=True, slots=True)
class Session:
    """The harness session that a resume would go back to. Wall times."""

    session_id: str
    created_wall: float
    active_wall: float
    spoiled: str | None = None
    """Why it must not be resumed again; None while it may."""
    turn_open: bool = False
    """Whether a turn was open when the newest run of it ended."""
    hangs: int = 0
    achieved: Achieved = "turn"
    """The most that was done in it; of a session that was not seen from its start nobody knows, and it is trusted."""
    may_be_over: bool = False
    """A turn of it ended by the word of a CLI that says the same where the API refused it; what follows tells."""
    empty: bool = False
    """It was seen from its start, and nothing was said in it yet: its CLI has kept nothing of it."""


@dataclass(frozen=True, slots=True)
class EarlierSession:
    """A session that a run left for another one, as after `/clear`: the journal has the newest one of each run.

    Wall times.
    """

    session_id: str
    incarnation: int
    began_wall: float
    until_wall: float


MOST_EARLIER = 20
"""Sessions that are remembered so, the newest."""
EARLIER_KEPT = 30 * 86400.0
"""Seconds for which they are: as long as the journal has the runs."""


OOM_WORDS = {
    "": "",
    "agent": ", out of memory: it reached its own limit",
    "host": ", out of memory: the host had none left",
}


@dataclass(frozen=True, slots=True)
class LastExit:
    """How the newest run ended. `code` and `signal` are both None when nobody could know."""

    incarnation: int
    code: int | None
    signal: int | None
    cause: EndCause
    lived: float
    at_wall: float
    killed: int = 0
    ran: bool = True
    """Whether the command was ever executed in this run."""
    left: bool = False
    """Whether a person ended the session from inside."""
    limited: bool = False
    """Whether a limit, or a service that was out of order, had ended its work: nothing of it counts against it."""
    until_wall: float | None = None
    """When the limit is over that had ended its work; None where there was none."""
    oom: Literal["", "agent", "host"] = ""
    """Whether the kernel killed it for memory: at its own limit, or because the host had none left."""
    proof: Proof = ""
    """By what the run was productive; empty if it was not."""
    note: str = ""
    """Why it could not be started, in words; or a shim's word for a cause that we do not know."""
    attended: bool | None = None
    """Whether somebody sat at its terminal, once that was told; None: not asked, or not told yet."""
    full_disks: tuple[Disk, ...] = ()
    """The disks of the run that had no room at its end."""
    failed_turn: bool = False
    """Whether its last turn had failed, and it then ended with 0 by itself: no person left it, or had it stopped."""
    obstacle: Obstacle | Literal[""] = ""
    """What stood in the way of its start; empty where it was executed."""
    ordered: str = ""
    """Why phoenixd ended it, in words, where that end was an order and no failure; empty: it ended by itself."""
    shown: str = ""
    """What its terminal showed last, where it ended before anything was heard of it. For people; nothing goes by it."""

    @property
    def told(self) -> str:
        """The cause as people and scripts are told it."""
        return self.note or self.cause

    @property
    def text(self) -> str:
        """The end in words."""
        if self.signal is not None:
            return f"{signal_name(self.signal)}{OOM_WORDS[self.oom]}"
        if self.code is not None:
            return f"{self.cause}, exit {self.code}" if self.cause in ("hung", "overtime") else f"exit {self.code}"
        return "unknown status"


@dataclass(frozen=True, slots=True)
class Incident:
    """A failure whose evidence is kept in a file: its run, its kind, why, and when (wall).

    hung, overtime: a run that we ended although nobody had asked. The other kinds are what the clinic noticed.
    """

    incarnation: int
    kind: Occasion
    reason: str
    at_wall: float
    call: OpenCall | None = None
    """What it hung in, where a call was open."""
    case: str = ""
    """The Case that it belongs to, where that was known when it was ordered to be kept."""
    number: int = 1
    """Which failure of that Case it is."""

    @property
    def file(self) -> str:
        """Its place in the agent's directory, where what could be seen of the run is kept."""
        return f"incidents/{self.incarnation}-{self.kind}{suffix_of(self.case, self.number)}.json"


def suffix_of(case: str, number: int) -> str:
    """What tells failures of one kind in one run apart: their Case, and the further ones of that by their number."""
    return f"-{case}{f'-{number}' if number > 1 else ''}" if case else ""


@dataclass(frozen=True, slots=True)
class Cut:
    """An answer of the newest turn ended before it was whole, and no other turn has begun since. Wall times.

    at: when it was written, None for unknown. went_on: the CLI asked for the rest by itself. calls: the tools that it
    called in that answer, which were executed. message_id: of the word to go on. told: that arrived; taken: it began a
    turn.
    """

    incarnation: int
    how: CutHow
    at: float | None
    seen_wall: float
    went_on: bool = False
    calls: tuple[str, ...] = ()
    message_id: str = ""
    told: bool = False
    taken: bool = False


@dataclass(frozen=True, slots=True)
class Disproved:
    """A report with claims that facts contradict. of: the agent, or the task, that it is of. claims: some of them."""

    of: str
    claims: tuple[str, ...]
    at_wall: float
