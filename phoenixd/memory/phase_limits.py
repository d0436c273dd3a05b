"""Looks whether the plans of orchestrators' projects grew too long (E68): each minute at what changed, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from phoenixd.core import alerts
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.core.rules import PhaseRules
from phoenixd.core.seat.state import project_of
from phoenixd.core.spec import Kind
from phoenixd.documents.project.limits import MOST_BYTES, MOST_FILES, too_long
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.times import timestamp
from phoenixd.memory.bulkhead import bulkhead
from phoenixd.side_by_side import SideBySide

INTERVAL = 60.0
KIND = "phase limit"
MOST_TOLD = 3
TOO_MUCH = (
    f"the project has more than {MOST_FILES} plan.md and claude.md files, or {MOST_BYTES >> 20} MiB of them: too much "
    "to look at; move finished phases out of it"
)

Stamps = tuple[tuple[str, int, int, int], ...]
"""Of each plan.md and claude.md its path, inode, size and time of change."""


class PhaseLimits:
    """Tells TroubleSeen and TroubleGone of the kind `phase limit`.

    agents: those that hold a seat, or need none. stamps, read: of a project in a workspace; both may raise
    PhoenixdError and OSError.
    """

    def __init__(
        self,
        agents: Callable[[], Iterable[Agent]],
        stamps: Callable[[str, str], Stamps],
        read: Callable[[str, str], Tree],
        tell: Callable[[Event], None],
        wall: Callable[[], float],
    ) -> None:
        self._agents = agents
        self._stamps = stamps
        self._read = read
        self._tell = tell
        self._wall = wall
        self._known: dict[str, tuple[Stamps, PhaseRules]] = {}
        """What was judged of each orchestrator last: nothing is read that is as it was."""
        self._leaders: dict[str, Agent] = {}
        self._looks = SideBySide("a look at the length of its plans", self._look_at)

    async def look(self) -> None:
        """Judge each orchestrator's project that has a changed file."""
        leaders = (one for one in self._agents() if one.spec.kind is Kind.ORCHESTRATOR and one.run is not None)
        self._leaders = {one.name: one for one in leaders}
        self._known = {name: self._known[name] for name in self._leaders if name in self._known}
        await self._looks.look_at(self._leaders)

    async def _look_at(self, name: str) -> None:
        if (agent := self._leaders.get(name)) is not None:
            with bulkhead(name, "a look at the length of its plans"):
                await self._look(agent)

    async def _look(self, agent: Agent) -> None:
        rules, workspace, project = agent.spec.phase, agent.spec.cwd, project_of(agent.spec)
        now = await self._looks.aside(partial(self._stamps, workspace, project)), rules
        if self._known.get(agent.name) == now:
            return
        told: tuple[str, ...] = (TOO_MUCH,)
        if len(now[0]) <= MOST_FILES and sum(size for _, _, size, _ in now[0]) <= MOST_BYTES:
            told = await self._looks.aside(partial(self._judged, workspace, project, rules))
        self._known[agent.name] = now
        more = (f"and {len(told) - MOST_TOLD} more",) if len(told) > MOST_TOLD else ()
        text = "; ".join((*told[:MOST_TOLD], *more))
        standing = alerts.find(agent.alerts, KIND)
        if told and (standing is None or standing.text != text):
            self._tell(TroubleSeen(agent.name, KIND, text))
        elif not told and standing is not None:
            self._tell(TroubleGone(agent.name, KIND, "every plan.md and claude.md is within its limit"))

    def _judged(self, workspace: str, project: str, rules: PhaseRules) -> tuple[str, ...]:
        return too_long(self._read(workspace, project), rules, workspace, timestamp(self._wall()))
