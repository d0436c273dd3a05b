"""The shims: their links, how they are started, and what they leave on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.ports.processes import ProcessIdentity


@dataclass(frozen=True, slots=True)
class ShimRun:
    """The run that a shim says is alive under it. An older shim does not say session, mode and epoch."""

    incarnation: int
    run_id: str
    pid: int
    start_time: int
    session_id: str = ""
    mode: str = ""
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class ShimHello:
    """A shim's answer to hello: who it is, what runs, and how the last run ended (exit record as JSON)."""

    agent: str
    shim: ProcessIdentity
    protocol: int
    version: str
    hook_port: int
    run: ShimRun | None
    exit: dict[str, Any] | None
    held: tuple[int, ...] = ()
    """The requests that it holds for an answer, as it said when the link was opened."""
    last_seq: int = 0
    """The number of the last event that it had spooled by then."""
    told: int = 0
    """The newest durable epoch that it was told."""
    knows_epochs: bool = False
    unswept: object = None
    """The runs for whose strays this daemon has to sweep, as the shim says it."""
    armed: tuple[tuple[str, int], ...] | None = None
    """The answers that it was told beforehand for this run, and how often each was given; None: it knows none."""
    answered: tuple[tuple[int, bool], ...] | None = None
    """The newest answers to requests that it was given, as it said when the link was opened, and whether the agent took
    each; None: an older shim does not say."""


@dataclass(frozen=True, slots=True)
class ShimMessage:
    """Anything a shim says after hello: event name and the rest of its JSON object."""

    agent: str
    event: str
    body: dict[str, Any]


class ShimLinks(Protocol):
    """Connections to the shims. Messages come to the sink given at construction; a closed link is not a death.

    One that was lost is taken up again as long as its shim lives: `link_lost` tells that this takes time, `hello` that
    it is done.
    """

    async def connect(self, agent: str) -> ShimHello | None:
        """Return the hello of the agent's living shim, connecting if needed; None when nobody listens."""
        ...

    def linked(self, agent: str) -> ShimHello | None:
        """The same where there is a link; None where there is none now."""
        ...

    def take_up(self, agent: str, reason: str) -> None:
        """Go on trying to reach a shim that could not be connected to, as after a loss."""
        ...

    def start(self, agent: str, order: str, incarnation: int, run_id: str) -> None:
        """Hand over an order file; raises ShimFailed when the link is down."""
        ...

    def terminate(self, agent: str, incarnation: int) -> None: ...

    def kill(self, agent: str, incarnation: int) -> None: ...

    def acknowledge(self, agent: str, seq: int) -> None: ...

    def answer(self, agent: str, incarnation: int, hold: int, body: dict[str, object]) -> None:
        """Answer a request that the shim holds; raises ShimFailed when the link is down. `answered` tells the rest."""
        ...

    def arm(self, agent: str, incarnation: int, answer: Mapping[str, object]) -> None:
        """Tell the shim an answer beforehand; raises ShimFailed when the link is down, or it is too old for that."""
        ...

    def disarm(self, agent: str, incarnation: int, id: str) -> None: ...

    def note_use(self, agent: str, id: str, uses: int) -> None:
        """Tell the shim how many uses of an answer are journaled; without a link it will tell them again."""
        ...

    def quit(self, agent: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ShimCommand:
    """How to start a shim for an agent, and where its order goes."""

    argv: tuple[str, ...]


class Starter(Protocol):
    """Turns a decision to spawn into files and argv: brief, settings, environment, order."""

    async def shim_command(self, agent: str) -> ShimCommand: ...

    async def begun_elsewhere(self, shim: ProcessIdentity) -> str | None:
        """The directory of ours that a living shim was begun with, and from which it was moved since; else None."""
        ...

    async def prepare(self, agent: Agent, spawn: Spawn, hello: ShimHello, epoch: int) -> None:
        """Write the order while the decision is being saved, as far as that does no harm if it is not; never fails."""
        ...

    async def write_order(self, agent: Agent, spawn: Spawn, hello: ShimHello) -> str:
        """Write all that the run needs and return the order's path; raises LaunchFailed."""
        ...

    def tidy(self, agent: str, incarnation: int) -> None:
        """Take away the control groups of the runs before that one, which was ordered; never waits."""
        ...


class Records(Protocol):
    """What shims leave on disk for the time when nobody listens."""

    def exit_record(self, agent: str) -> dict[str, Any] | None:
        """The newest exit.json of an agent, or None when there is none that can be trusted to be whole."""
        ...

    def run_record(self, agent: str) -> dict[str, Any] | None:
        """The newest run.json of an agent, likewise: the run that a shim began last."""
        ...
