"""What became of a run: its start, its shim, its end, what was typed into it and armed with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from phoenixd.core.causes import Disk, EndCause, Obstacle
from phoenixd.core.hooks import TurnFailed


@dataclass(frozen=True, slots=True)
class HoldAnswered:
    """What became of an operator's answer: taken by the agent, or not, and why not.

    still_held: the request waits on, as far as is known.
    """

    agent: str
    incarnation: int
    hold: int
    taken: bool
    why: str = ""
    still_held: bool = False


@dataclass(frozen=True, slots=True)
class HoldReleased:
    """The agent no longer waits for the answer to a request: it was given at the terminal, or its time is over."""

    agent: str
    incarnation: int
    hold: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """The text arrived: the harness said so, or the terminal took it where no hook can say more.

    queued: the text, when it waits for the harness's next step and no hook will tell of it.
    """

    agent: str
    incarnation: int
    message_id: str
    evidence: str
    queued: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class NotDelivered:
    """The text was not delivered, and why. person: somebody types at the terminal, or has a draft in its input line."""

    agent: str
    incarnation: int
    message_id: str
    reason: str
    person: bool = False


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """exec succeeded: the shim has a living child."""

    agent: str
    incarnation: int
    run_id: str
    pid: int
    start_time: int
    link: int = 0
    """The protocol that its shim's link speaks; 0: not told."""


@dataclass(frozen=True, slots=True)
class StartFailed:
    """The run never lived.

    code: 126 or 127 when the command itself cannot run (the agent is quarantined), 1 when this order cannot (missing
    working directory, arguments too long: counted like a crash), 0 when terminal, shim or disk failed (not its fault).
    obstacle: what stood in the way; message says it in words.
    """

    agent: str
    incarnation: int
    code: int
    message: str
    obstacle: Obstacle = "other"


@dataclass(frozen=True, slots=True)
class AgentExited:
    """The shim reaped the agent and its tree is empty. note: the shim's word for a cause that we do not know."""

    agent: str
    incarnation: int
    run_id: str
    code: int | None
    signal: int | None
    cause: EndCause = "exit"
    killed: tuple[str, ...] = ()
    at_wall: float | None = None
    """When it ended, if that was while nobody watched."""
    oom: Literal["", "agent", "host"] = ""
    """What the kernel says of memory: the run reached a limit of its own, or the host had none left."""
    note: str = ""
    full_disks: tuple[Disk, ...] = ()
    """Those that had no room at that moment, as the kernel counts; an older shim does not look."""
    lived: float | None = None
    """Seconds that it lived, by the shim's clock, which nobody can set; an older shim does not say."""
    failed: TurnFailed | None = None
    """What had ended its newest turn, where only the end of its transcript tells it, and the run was over by then."""
    left: bool = False
    """Whether a person left the session, as its terminal shows where no hook tells it."""
    shown: str = ""
    """What its terminal shows last, where it ended before anything was heard of it."""


@dataclass(frozen=True, slots=True)
class ArmedUsed:
    """An armed answer was given. uses: how many times so far. It also says when it was told (wall)."""

    agent: str
    incarnation: int
    id: str
    uses: int
    at: float


@dataclass(frozen=True, slots=True)
class AgentVanished:
    """The agent's process is gone, and no exit record has come yet."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class ShimLost:
    """The shim itself is gone, so nobody reaps or kills for this run: its tree has to be fenced."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class TreeGone:
    """A fence found nothing of the run alive any more.

    unproven: neither a control group nor a living shim proves it. unread: processes of our user that could not be read,
    and may be the run's. ended: what its exit.json says of an end that is unproven; the agent may have written that.
    untold: of an unproven end, that neither shim nor file tells of a begin; the agent may have taken the file away.
    """

    agent: str
    incarnation: int
    killed: tuple[str, ...] = ()
    unproven: bool = False
    unread: tuple[int, ...] = ()
    ended: AgentExited | None = None
    untold: bool = False


@dataclass(frozen=True, slots=True)
class TreeLingers:
    """Processes of the run are still alive after a kill (uninterruptible sleep, or a fork storm)."""

    agent: str
    incarnation: int
    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunAdopted:
    """This run is alive under its shim, and supervised again.

    unwatched: nobody heard its evidence for a while (a daemon start, a lost link), so its silence proves nothing yet.
    held: the requests that its shim holds for an answer; None where nobody asked it again, and nothing new is known.
    held_until: the number of its newest event when it said so; `held` says nothing of what came later. None: no limit.
    link: the protocol that the link speaks; 0: not told. armed: the answers that its shim was told beforehand, with how
    often each was given; None where nothing new is known. answered: the answers to held requests that its shim was
    given last, and whether the agent took each; None where nothing new is known, or an older shim does not say.
    """

    agent: str
    incarnation: int
    pid: int
    start_time: int
    unwatched: bool = True
    held: tuple[int, ...] | None = ()
    held_until: int | None = None
    link: int = 0
    armed: tuple[tuple[str, int], ...] | None = None
    answered: tuple[tuple[int, bool], ...] | None = None


@dataclass(frozen=True, slots=True)
class LinkLost:
    """The link to the run's shim is down, and did not come back at once. The shim lives, as far as is known."""

    agent: str
    incarnation: int
    reason: str


@dataclass(frozen=True, slots=True)
class HooksRefused:
    """How many requests at the run's hook endpoint were refused so far, and why its own newest one was.

    hooks: those that bore the run's token, or were dropped for the hook program. strangers: all others.
    """

    agent: str
    incarnation: int
    hooks: int
    strangers: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunMissing:
    """After a daemon start: no shim and no living process of this run could be found. Its remains are to be fenced."""

    agent: str
    incarnation: int
