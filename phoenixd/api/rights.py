"""What a caller may do: pure decisions on who it is (design section 6)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from phoenixd.api.lineage import Lack
from phoenixd.api.operations.operation import Operation
from phoenixd.api.peers import Peer
from phoenixd.api.problems import Problem


class Role(IntEnum):
    """Each role may do what the ones below it may; an agent only where it is about itself."""

    NOBODY = 0
    AGENT = 1
    READ = 2
    OPERATE = 3
    ADMIN = 4


NEEDED = {
    "agent": Role.READ, "own": Role.OPERATE, "seat": Role.OPERATE, "read": Role.READ, "operate": Role.OPERATE,
    "admin": Role.ADMIN,
}  # fmt: skip
"""What a caller needs who is no agent."""
OF_AGENTS = ("agent", "own")
AS_OPERATOR = "ask as the daemon's user, or as root"
REMEDIES = {
    Lack.GONE: "ask again, from a program that stays until it is answered",
    Lack.INVISIBLE: "ask from a shell that was opened before it, or let phoenixd's group see processes: "
    "mount -o remount,gid=GROUP /proc",
    Lack.WITHIN_REACH: "ask from a terminal of your own",
}
"""What a caller can do that is not known; one that lacks nothing of this is simply another user."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and why it has the role it has."""

    role: Role
    uid: int
    pid: int
    why: str
    agent: str | None = None
    """Of a generation the seat's name: it may do what is about its seat."""
    remedy: str = AS_OPERATOR
    process: str = ""
    """The very agent whose run asks."""
    fenced: str = ""
    """Why nothing counts any more that this generation says."""
    project: str | None = None
    """The project that it leads, where it is an orchestrator."""
    workspace: str = ""
    """Where that project stands: another workspace may have one of the same name."""

    @property
    def name(self) -> str:
        """What the journal calls it."""
        if self.agent is not None:
            return f"agent {self.agent}"
        return "operator" if self.role is Role.ADMIN else f"operator (uid {self.uid})"


@dataclass(frozen=True, slots=True)
class Seated:
    """Whom a run speaks for: its agent, or the seat whose generation that agent is; and why not any more."""

    name: str
    fenced: str = ""
    project: str | None = None
    """The project that it leads, where it is an orchestrator."""
    workspace: str = ""
    """Where that project stands."""


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """The rules of one daemon. group: gid that may operate, None for none. seated: for whom an agent's run speaks."""

    agent_of_token: Callable[[str], str | None]
    group: int | None = None
    uid: int = -1
    seated: Callable[[str], Seated] = Seated

    def caller(self, peer: Peer, authorization: str | None) -> Caller:
        """Who asks. A token or an agent's tree always takes rights away, never adds any.

        Raises Problem (busy) where nobody could look who it is: that is no reason to call anybody a stranger.
        """
        if authorization is not None:
            scheme, _, token = authorization.partition(" ")
            agent = self.agent_of_token(token.strip()) if scheme.lower() == "bearer" and token.strip() else None
            if agent is None:
                return Caller(Role.NOBODY, peer.uid, peer.pid, "the token belongs to no living run")
            return self._agent(peer, "it has the token of this agent's run", agent)
        if peer.agent is not None:
            return self._agent(peer, "it runs in this agent's process tree", peer.agent)
        if peer.lack is Lack.NO_DESCRIPTORS:
            raise no_descriptors(peer.unknown)
        if peer.unknown:
            remedy = REMEDIES.get(peer.lack, AS_OPERATOR) if peer.lack is not None else AS_OPERATOR
            return Caller(Role.NOBODY, peer.uid, peer.pid, peer.unknown, remedy=remedy)
        if peer.uid in (0, self.uid if self.uid >= 0 else os.getuid()):
            return Caller(Role.ADMIN, peer.uid, peer.pid, "it is root or the daemon's user")
        if self.group is not None and self.group in peer.groups:
            return Caller(Role.OPERATE, peer.uid, peer.pid, "it is in the operators' group")
        return Caller(Role.NOBODY, peer.uid, peer.pid, "it is neither the daemon's user nor in the operators' group")

    def _agent(self, peer: Peer, why: str, agent: str) -> Caller:
        seat = self.seated(agent)
        return Caller(
            Role.AGENT, peer.uid, peer.pid, why, seat.name, process=agent,
            fenced=seat.fenced, project=seat.project, workspace=seat.workspace,
        )  # fmt: skip


def no_descriptors(why: str) -> Problem:
    """What a caller is told that could not be looked at."""
    return Problem("busy", why, "try again in a moment; if it stays so, raise the daemon's limit: LimitNOFILE=")


def check(caller: Caller, operation: Operation, name: str | None) -> None:
    """Raise a denial unless the caller may do this; `name` is the agent that it is about, if the path names one."""
    needed = NEEDED[operation.rights]
    verb = " ".join(operation.words) or operation.name
    if caller.role is Role.NOBODY:
        raise Problem("denied", f"not allowed: {caller.why}", caller.remedy)
    if caller.fenced:
        raise Problem("conflict", f"not allowed: {caller.fenced}", f"leave it to the seat: {caller.agent}")
    if caller.role is Role.AGENT:
        if operation.rights in OF_AGENTS and name in (None, caller.agent, caller.process):
            return
        if operation.rights == "seat" and caller.project is not None and name in (None, caller.agent):
            return
        raise Problem(
            "denied",
            f"agent {caller.agent} may not {verb}{f' {name}' if name else ''}: {caller.why}, and has that agent's "
            "rights and no more",
            f"from inside, ask about itself: phoenixctl status {caller.agent}; else ask from a terminal of your own",
        )
    if caller.role < needed:
        raise Problem(
            "denied",
            f"uid {caller.uid} may not {verb}: {caller.why}, which is not enough for it",
            AS_OPERATOR,
        )
