"""To which run a process belongs, and which process is an agent's: asked by links, terminal and the control API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from phoenixd import runs
from phoenixd.api.marks import agent_by_mark
from phoenixd.api.proc import Scarce
from phoenixd.core.agent import Agent
from phoenixd.directories import Directories
from phoenixd.drivers.cgroups.tree import CgroupTree
from phoenixd.drivers.processes.pidfds import identity_of
from phoenixd.drivers.processes.proc import boot_id, is_hidden, read_stat, run_of
from phoenixd.drivers.shims.links import SeqpacketShims
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import Records


@dataclass(slots=True)
class Kin:
    """What the shims' links ask of a stranger. cgroups: None until the terminal server is found, and where none is."""

    directories: Directories
    everybody: Callable[[], Iterable[Agent]]
    records: Records
    cgroups: CgroupTree | None = None

    def is_of_a_run(self, pid: int) -> bool:
        """Whether a process belongs to a run, or may: no agent may pass for a shim."""
        if self.cgroups is not None and self.cgroups.owner_of(pid) is not None:
            return True
        # A shim of ours is never hidden from us, and bears no run's mark: so of most no agent is asked.
        mark = run_of(pid)
        if mark is not None and any(agent.run is not None and agent.run.run_id == mark for agent in self.everybody()):
            return True
        if is_hidden(pid):
            return True
        try:
            return agent_by_mark(pid, str(self.directories.state / "agents"), {}) is not None
        except Scarce:
            return True  # The link is taken up again, and then there is a descriptor to look with.

    def lives(self, name: str, shim: ProcessIdentity | None) -> bool:
        """Whether that shim lives; without one, whether its agent has a run."""
        if shim is not None:
            return identity_of(shim.pid) == shim
        return any(agent.run is not None for agent in self.everybody() if agent.name == name)

    def terminal_server(self) -> int | None:
        """The process above a shim that lives, which is the terminal server if there is one; None where none lives."""
        for agent in self.everybody():
            named = (self.records.run_record(agent.name) or {}).get("shim")
            pid = named.get("pid") if isinstance(named, dict) else None
            shim = identity_of(pid) if isinstance(pid, int) and pid > 0 else None
            if shim is not None and isinstance(named, dict) and named.get("start_time") == shim.start_time:
                stat = read_stat(shim.pid)
                return stat.parent if stat is not None else None
        return None

    def is_there(self, agent: str) -> bool:
        """Whether a shim of the agent seems to live that has never been linked to. It may raise OSError."""
        named = (self.records.run_record(agent) or {}).get("shim")
        pid = named.get("pid") if isinstance(named, dict) else None
        return runs.seems_to_live(
            self.directories.state, self.directories.runtime, agent, pid if isinstance(pid, int) else 0
        )


def living_shim(shims: SeqpacketShims, agent: str) -> int | None:
    """The pid of an agent's shim, if it lives."""
    shim = shims.shim_of(agent)
    return shim.pid if shim is not None and identity_of(shim.pid) == shim else None


def above_agents(shims: SeqpacketShims, agents: Mapping[str, Agent]) -> Mapping[int, str]:
    """By pid, below what an agent's processes are: its shim, linked or not, or where that is lost the agent itself."""
    linked = shims.linked_to
    if linked.shims.keys() >= agents.keys():
        return linked.agents
    found = dict(linked.agents)
    for name in agents.keys() - linked.shims.keys():
        shim, run = shims.shim_of(name), agents[name].run
        child = None
        if run is not None and run.pid is not None and run.start_time is not None:
            child = ProcessIdentity(boot_id(), run.pid, run.start_time)
        for one in (shim, child):
            if one is not None and identity_of(one.pid) == one:
                found[one.pid] = name
                break
    return found
