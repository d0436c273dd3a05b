"""Deaths of shims and agents: the processes that were named are watched, and each end is told once."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.events.runs import AgentVanished, ShimLost
from phoenixd.errors import PhoenixdError
from phoenixd.ports import Later, Tell
from phoenixd.ports.processes import ProcessIdentity, ProcessTable
from phoenixd.ports.shims import ShimHello

EXIT_WORD_GRACE = 0.25
"""Seconds between a process's death and the report of it as vanished: its shim's word nearly always comes first."""

LOOK_AGAIN = 1.0
"""Seconds after which is looked again where the host could not look, as without descriptors."""

log = structlog.get_logger()


class Deaths:
    """Watches processes; it knows each agent's shim by its process."""

    def __init__(self, processes: ProcessTable, find: Callable[[str], Agent | None], tell: Tell, later: Later) -> None:
        self._processes = processes
        self._find = find
        self._tell = tell
        self._later = later
        self._shim_of: dict[str, ProcessIdentity] = {}
        self._leaving: dict[str, ProcessIdentity] = {}
        self._watched: set[ProcessIdentity] = set()

    def watch_shim(self, hello: ShimHello) -> None:
        """Report the shim's death once, for whatever run the agent has then."""
        name = hello.agent
        if self._shim_of.get(name) == hello.shim and hello.shim in self._watched:
            return  # Each start comes by here.
        self._shim_of[name] = hello.shim
        self._watched.add(hello.shim)

        def died() -> None:
            self._watched.discard(hello.shim)
            if self._leaving.get(name) == hello.shim:
                del self._leaving[name]  # Its name may be that of a worker, and never asked for again.
            agent = self._find(name)
            # The death of a shim that a newer one has followed is no news about the newer one's run.
            if agent is not None and agent.run is not None and self._shim_of.get(name) == hello.shim:
                self._tell(ShimLost(name, agent.run.incarnation), None)

        self._watch(hello.shim, died)

    def let_go(self, agent: str) -> ProcessIdentity | None:
        """The shim that is told to leave. Its death then says nothing of a run that begins under another one."""
        return self._shim_of.pop(agent, None)

    def leaves(self, agent: str) -> None:
        """Its shim has ended its run and goes by itself: the next start has to wait until it is gone."""
        shim = self._shim_of.pop(agent, None)
        if shim is not None:
            self._leaving[agent] = shim

    def leaving(self, agent: str) -> ProcessIdentity | None:
        """The shim of an agent that goes, and is not gone yet."""
        shim = self._leaving.get(agent)
        if shim is not None and not self._processes.is_alive(shim):
            self._leaving.pop(agent)
            return None
        return shim

    def owns(self, agent: str, pid: int, start_time: int) -> bool:
        """Whether the agent's shim may call this process its agent: it is below it, or gone.

        A shim's word alone is not believed, for what it names is what is killed when the run is to end.
        """
        shim = self._shim_of.get(agent)
        identity = ProcessIdentity(self._processes.boot_id(), pid, start_time)
        if shim is not None and self._processes.is_below(identity, shim) is not False:
            return True
        log.warning("not_the_shims_process", agent=agent, pid=pid, shim=shim.pid if shim else None)
        return False

    def watch_child(self, agent: str, incarnation: int, pid: int, start_time: int) -> None:
        """Report its death, unless the word of its shim comes first."""

        def vanished() -> None:
            known = self._find(agent)
            if known is not None and known.run is not None and known.run.incarnation == incarnation:
                self._tell(AgentVanished(agent, incarnation), None)

        def died() -> None:
            self._later(EXIT_WORD_GRACE, vanished)

        identity = ProcessIdentity(self._processes.boot_id(), pid, start_time)
        self._watch(identity, died)

    def _watch(self, identity: ProcessIdentity, died: Callable[[], None]) -> None:
        """Have its death reported once; where it cannot be watched now, as soon as it can."""
        try:
            if not self._processes.watch(identity, died):
                died()
        except PhoenixdError as failure:
            log.warning("not_watched", pid=identity.pid, reason=failure.message)
            self._later(LOOK_AGAIN, lambda: self._watch(identity, died))
