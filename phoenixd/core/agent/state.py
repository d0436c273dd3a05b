"""The states of an agent, with what each waits for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import Mode, Run
from phoenixd.core.moment import Instant


class Desired(StrEnum):
    """What the operator, or a clean exit, wants the agent to be; it outlives every restart."""

    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Stopped:
    """Down, and staying down until somebody starts it. failed: it ended badly, and nobody had asked for an end."""

    failed: bool = False
    name: Literal["stopped"] = "stopped"


@dataclass(frozen=True, slots=True)
class Starting:
    """Ordered to spawn; ready when exec succeeded (command) or the first hook came."""

    run: Run
    activity: Activity
    ready_by: Instant
    overdue: bool = False
    """Its first sign of life was due, and its screen is what decides now."""
    name: Literal["starting"] = "starting"


@dataclass(frozen=True, slots=True)
class Running:
    """Alive and supervised."""

    run: Run
    activity: Activity
    exit_due: Instant | None = None
    """Set when the process vanished and its exit record is still awaited (F-PROC-7)."""
    name: Literal["running"] = "running"


class StopStep(StrEnum):
    """How far a stop has come; each step has its own deadline."""

    TERMINATE = "terminate"
    KILL = "kill"
    FENCE = "fence"


class Afterwards(StrEnum):
    """What follows once the old tree is known gone."""

    STAY = "stay"
    RESTART = "restart"
    REMOVE = "remove"
    JUDGE = "judge"
    """Treat the end like any other death: count it, back off, resume or go fresh."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """Being ended, or its remains being fenced; nothing starts before the tree is known gone."""

    run: Run
    activity: Activity
    step: StopStep
    deadline: Instant
    then: Afterwards
    why: str
    fresh: bool = False
    asked: Instant = 0.0
    code: int | None = None
    """The exit code to record in place of what the kill makes of it: 124 hung, 125 overtime."""
    spoiled: bool = False
    """A rule of ours ended it, for its session is no good: that is a death, whatever sent the signal."""
    unseen_since: Instant | None = None
    """Since when nothing of it is seen, where nothing proves that it is gone."""
    name: Literal["stopping"] = "stopping"

    @property
    def is_sought(self) -> bool:
        """Whether nobody ordered its end: its shim is lost, and what is left of it is looked for."""
        return self.step is StopStep.FENCE and self.then is Afterwards.JUDGE and self.code is None


@dataclass(frozen=True, slots=True)
class BackingOff:
    """Due to start at `until`; past it, queued behind the cap on concurrent starts or an outage."""

    until: Instant
    mode: Mode
    prompt: PromptKind
    attempt: int = 0
    unattended: Instant | None = None
    """When it was due before it was asked whether a person ended the run at its terminal; None: that is not asked."""
    hung_up: bool = False
    """Its terminal went, or the shim in it: where the terminal server has ended, nothing is to be waited for."""
    name: Literal["backing_off"] = "backing_off"


@dataclass(frozen=True, slots=True)
class Outage:
    """This agent waits out an outage, or, where it has a run, tries whether it is over.

    group: who is hit, as people are told it: "account team", "harness NAME". since_wall: when it began. tries: how
    many of the group were let try so far.
    """

    group: str
    since_wall: float
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Parked:
    """Down, and to be started when what `Agent.limits` holds is waited out."""

    name: Literal["parked"] = "parked"


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Restart intensity exceeded, or a start that cannot work; only an operator's start releases it.

    counted: it was given up because of how often its runs ended, which an outage explains as well. misdeclared: it
    could not be run as it was declared. refused: its login, its account or its first prompt was refused. What else
    starts each of them is in core.correction.
    """

    cause: str
    counted: bool = False
    misdeclared: bool = False
    refused: bool = False
    look_at: Instant | None = None
    """When the directory is looked at next that stood in the way of its starts; None: no look starts it."""
    closed_since: Instant | None = None
    """Since when looks have found that it cannot be entered."""
    name: Literal["quarantined"] = "quarantined"


State = Stopped | Starting | Running | Stopping | BackingOff | Parked | Quarantined

Live = Starting | Running | Stopping
"""The states in which a run of the agent lives, or what is left of it."""


def is_its_own(state: State) -> bool:
    """Whether a run in this state ends by itself where it ends: no order is at it, and none was."""
    return isinstance(state, Starting | Running) or (isinstance(state, Stopping) and state.is_sought)
