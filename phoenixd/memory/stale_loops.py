"""Open loops that have become stale: told once, until none of the agent's is (F-ST-6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phoenixd.core import alerts
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen

KIND = "stale loops"
MOST_NAMED = 3


class StaleLoops:
    """Tells TroubleSeen and TroubleGone of the kind `stale loops`. loops: the ids of an agent's that are stale."""

    def __init__(self, loops: Callable[[Agent], Sequence[str]], days: int, tell: Callable[[Event], None]) -> None:
        self._loops = loops
        self._days = days
        self._tell = tell
        self._stands: dict[str, bool] = {}
        """By agent, as it was told last: the agent of a publication may be older than its alert."""

    def published(self, agent: Agent) -> None:
        """An agent's documents were written: a loop of its may have become stale, or have been closed."""
        found = self._loops(agent)
        stands = self._stands.get(agent.name, alerts.find(agent.alerts, KIND) is not None)
        self._stands[agent.name] = bool(found)
        if found and not stands:
            self._tell(TroubleSeen(agent.name, KIND, self._words(agent, found)))
        elif stands and not found:
            self._tell(TroubleGone(agent.name, KIND, "none of its open loops is stale any more"))

    def leave(self, name: str) -> None:
        self._stands.pop(name, None)

    def _words(self, agent: Agent, found: Sequence[str]) -> str:
        named = ", ".join(found[:MOST_NAMED])
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        days = f"open for more than {self._days} days"
        return f"{named}{more}: {days}. See: phoenixctl loops {agent.spec.seat or agent.name}"
