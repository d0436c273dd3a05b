"""An order that was written while the decision on it was being saved."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.durability import LATE
from phoenixd.core.moment import Instant
from phoenixd.ports.shims import ShimHello


@dataclass(slots=True)
class Ahead:
    """For whom it was written, and upon what. order: its path; empty while it is being written, and where none was."""

    agent: Agent
    spawn: Spawn
    hello: ShimHello
    epoch: int
    at: Instant
    order: str = ""
    is_void: bool = False
    """Another order takes its place: this one may not be written any more."""
    done: anyio.Event = field(default_factory=anyio.Event)

    async def order_for(self, agent: Agent, spawn: Spawn, hello: ShimHello, epoch: int, now: Instant) -> str:
        """The order's path, once it is written, if it is what would be written now; else nothing.

        An agent is another value once anything of it has changed. After a commit that was late its files may have.
        """
        same_shim = (hello.shim, hello.hook_port) == (self.hello.shim, self.hello.hook_port)
        fits = self.agent is agent and self.spawn == spawn and self.epoch == epoch and same_shim
        if not fits or not self.is_fresh(now):
            self.is_void = True
            return ""
        # To wait for what has happened would still let others have their turn before.
        if not self.done.is_set():
            await self.done.wait()
        return self.order

    def is_fresh(self, now: Instant) -> bool:
        """Whether its commit may still be in time."""
        return 0 <= now - self.at <= LATE
