"""What is known of one agent's shim, and how long is waited before its link is opened again; which shims are linked."""

from __future__ import annotations

import asyncio

from phoenixd.drivers.shims.link import Link
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello, ShimMessage

AT_ONCE = 3
"""How often a link is opened again without a pause, before one has stood for some time."""
STEADY = 10.0
"""Seconds for which a link has to stand."""
SHORTEST_PAUSE = 0.25


class Linked:
    """The shims to which there is a link, by agent and by pid. Each connection of the control socket is looked up here,
    and a fleet would be long to go through."""

    def __init__(self) -> None:
        self.shims: dict[str, ProcessIdentity] = {}
        self.agents: dict[int, str] = {}

    def set(self, agent: str, shim: ProcessIdentity | None) -> None:
        """The agent's shim from now on; None while there is no link to it."""
        before = self.shims.pop(agent, None)
        # A shim that died may be known still when its pid is another's.
        if before is not None and self.agents.get(before.pid) == agent:
            del self.agents[before.pid]
        if shim is not None:
            self.shims[agent] = shim
            self.agents[shim.pid] = agent


class Peer:
    """What is known about one agent's shim. `link` and `hello` are both there, or the link is not usable."""

    def __init__(self, agent: str, linked: Linked) -> None:
        self.agent = agent
        self.opening = asyncio.Lock()
        self._linked = linked
        self._link: Link | None = None
        self._shim: ProcessIdentity | None = None
        self.hello: ShimHello | None = None
        self.greeting: ShimMessage | None = None
        self.is_leaving = False
        self.acknowledged = 0
        """The newest event that the shim is about to be told of as journaled; 0 for none."""
        self.is_reopening = False
        self.is_waited_for = False
        """It was once waited for in vain, though a shim seemed to live."""
        self.opened_at = 0.0
        self._tries = 0

    @property
    def link(self) -> Link | None:
        """The link to the shim as it is now."""
        return self._link

    @link.setter
    def link(self, link: Link | None) -> None:
        self._link = link
        self._linked.set(self.agent, self._shim if link is not None else None)

    @property
    def shim(self) -> ProcessIdentity | None:
        """The shim that last said hello."""
        return self._shim

    @shim.setter
    def shim(self, shim: ProcessIdentity | None) -> None:
        self._shim = shim
        self._linked.set(self.agent, shim if self._link is not None else None)

    def pause(self, now: float, longest: float) -> float:
        """Seconds to wait before it is tried again: two daemons on one shim would else never stop to take its link."""
        if self.opened_at and now - self.opened_at >= STEADY:
            self._tries = 0
        self.opened_at = 0.0
        self._tries += 1
        beyond = self._tries - AT_ONCE - 1
        return 0.0 if beyond < 0 else min(longest, SHORTEST_PAUSE * 2.0 ** min(beyond, 10))
