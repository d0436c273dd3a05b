"""Whose a pane of our server is: an agent's by its shim, or a stranger's, whatever its session is called.

Anybody with the socket can open sessions, windows and panes there by hand, also one named after an agent, or one in
front of an agent's own. So a pane is an agent's only if its process is the agent's shim, or if it bears the mark that
it was given when it was opened for that agent, and still runs what it was opened with.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from phoenixd.drivers.tmux.text import NAME, agent_of

OWN_SESSION = "phoenixd"
"""The session that our connection is attached to; it is no agent's, and ours all the same."""
MARK = "@phoenixd"
"""The option of a pane that says for which agent it was opened, and with which process."""
FORMAT = f"#{{pane_id}} #{{pane_pid}} #{{session_id}} #{{{MARK}}} #{{session_name}}"


@dataclass(frozen=True, slots=True)
class Pane:
    """One pane as the server lists it. id: like %7, and never given twice by the same server."""

    id: str
    pid: int
    session_id: str
    mark: str
    session: str

    def is_of(self, agent: str, shim: int | None) -> bool:
        """Whether this is the agent's pane. shim: the process that the daemon knows as its shim, if it knows one."""
        return self.pid == shim or self.mark == mark(agent, str(self.pid))

    @property
    def claim(self) -> str | None:
        """The agent that it seems to be of, by its mark or else by its session's name; a claim and no more."""
        marked = self.mark.partition(":")[0]
        return marked if NAME.fullmatch(marked) else agent_of(self.session)


def mark(agent: str, pid: str = "#{pane_pid}") -> str:
    """What is written on an agent's pane; as it stands, a format that tmux fills in."""
    return f"{agent}:{pid}"


class Ask(Protocol):
    def __call__(self, *command: str) -> Awaitable[list[str]]: ...


class Panes:
    """The panes of the server. ask: runs a command of tmux and returns its lines. shim_pid: an agent's living shim."""

    def __init__(self, ask: Ask, shim_pid: Callable[[str], int | None]) -> None:
        self._ask = ask
        self._shim_pid = shim_pid

    async def of(self, agent: str) -> Pane | None:
        """The agent's own pane, wherever in the server somebody may have moved it."""
        shim = self._shim_pid(agent)
        found = next((pane for pane in await self._list() if pane.is_of(agent, shim)), None)
        if found is not None and found.mark != (ours := mark(agent, str(found.pid))):
            # An older daemon opened it, or somebody took the mark away, by which phoenixctl knows it.
            await self._ask("set-option", "-p", "-t", found.id, MARK, ours)
        return found

    async def in_session(self, session: str) -> Pane | None:
        """A pane of the session of this name."""
        return next((pane for pane in await self._list() if pane.session == session), None)

    async def foreign(self) -> tuple[Pane, ...]:
        """The panes that are neither an agent's nor ours."""
        panes = await self._list()
        return tuple(pane for pane in panes if pane.session != OWN_SESSION and self._owner(pane) is None)

    async def clients(self) -> dict[str, tuple[int, int]]:
        """For each agent whose session somebody looks at: how many clients, and how many of them may write."""
        lines = await self._ask("list-clients", "-F", "#{client_control_mode} #{client_readonly} #{session_id}")
        seen: dict[str, list[int]] = {}
        for line in lines:
            is_control, _, rest = line.partition(" ")
            readonly, _, session = rest.partition(" ")
            if is_control == "0":
                seen.setdefault(session, []).append(int(readonly == "0"))
        found = {}
        for pane in await self._list() if seen else ():
            if pane.session_id in seen and (agent := self._owner(pane)) is not None:
                found[agent] = (len(seen[pane.session_id]), sum(seen[pane.session_id]))
        return found

    def _owner(self, pane: Pane) -> str | None:
        """The agent whose pane this is; one that was moved into another agent's session has its mark to tell."""
        claim = pane.claim
        return claim if claim is not None and pane.is_of(claim, self._shim_pid(claim)) else None

    async def _list(self) -> list[Pane]:
        found = []
        for line in await self._ask("list-panes", "-a", "-F", FORMAT):
            words = line.split(" ", 4)
            # Strangers choose names and marks, and so what follows the first three words.
            if len(words) == 5 and words[0][:1] == "%" and words[1].isdigit() and words[2][:1] == "$":
                found.append(Pane(words[0], int(words[1]), *words[2:]))
        return found
