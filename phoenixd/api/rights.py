"""What a caller may do: pure decisions on who it is (design section 6)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from phoenixd.api.operations import Operation
from phoenixd.api.peers import Peer
from phoenixd.api.problems import Problem


class Role(IntEnum):
    """Each role may do what the ones below it may; an agent only where it is about itself."""

    NOBODY = 0
    AGENT = 1
    READ = 2
    OPERATE = 3
    ADMIN = 4


NEEDED = {"agent": Role.READ, "own": Role.OPERATE, "read": Role.READ, "operate": Role.OPERATE, "admin": Role.ADMIN}
"""What a caller needs who is no agent."""
OF_AGENTS = ("agent", "own")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and why it has the role it has."""

    role: Role
    uid: int
    pid: int
    why: str
    agent: str | None = None

    @property
    def name(self) -> str:
        """What the journal calls it."""
        if self.agent is not None:
            return f"agent {self.agent}"
        return "operator" if self.role is Role.ADMIN else f"operator (uid {self.uid})"


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """The rules of one daemon. group: gid that may operate, None for none."""

    agent_of_token: Callable[[str], str | None]
    group: int | None = None
    uid: int = -1

    def caller(self, peer: Peer, authorization: str | None) -> Caller:
        """Who asks. A token or an agent's tree always takes rights away, never adds any."""
        if authorization is not None:
            scheme, _, token = authorization.partition(" ")
            agent = self.agent_of_token(token.strip()) if scheme.lower() == "bearer" and token.strip() else None
            if agent is None:
                return Caller(Role.NOBODY, peer.uid, peer.pid, "the token belongs to no living run")
            return Caller(Role.AGENT, peer.uid, peer.pid, "it has the token of this agent's run", agent)
        if peer.agent is not None:
            return Caller(Role.AGENT, peer.uid, peer.pid, "it runs in this agent's process tree", peer.agent)
        if peer.unknown:
            return Caller(Role.NOBODY, peer.uid, peer.pid, peer.unknown)
        if peer.uid in (0, self.uid if self.uid >= 0 else os.getuid()):
            return Caller(Role.ADMIN, peer.uid, peer.pid, "it is root or the daemon's user")
        if self.group is not None and self.group in peer.groups:
            return Caller(Role.OPERATE, peer.uid, peer.pid, "it is in the operators' group")
        return Caller(Role.NOBODY, peer.uid, peer.pid, "it is neither the daemon's user nor in the operators' group")


def check(caller: Caller, operation: Operation, name: str | None) -> None:
    """Raise a denial unless the caller may do this; `name` is the agent that it is about, if the path names one."""
    needed = NEEDED[operation.rights]
    verb = " ".join(operation.words) or operation.name
    if caller.role is Role.NOBODY:
        raise Problem("denied", f"not allowed: {caller.why}", "ask as the daemon's user, or as root")
    if caller.role is Role.AGENT:
        if operation.rights in OF_AGENTS and name in (None, caller.agent):
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
            "ask as the daemon's user, or as root",
        )
