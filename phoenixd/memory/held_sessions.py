"""session.json of the sessions that hold seats: there from their start, with how full the context is (E11, E12, E18).

A handoff writes the records of its two sessions itself; until it is over they are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import floor

import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Session
from phoenixd.core.meter.reading import limit
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import Kind
from phoenixd.documents.project.models import ContextUsage
from phoenixd.documents.times import timestamp
from phoenixd.documents.transcript import Used
from phoenixd.errors import PhoenixdError
from phoenixd.memory.session_records import SessionRecords
from phoenixd.side_by_side import SideBySide

INTERVAL = 60.0

log = structlog.get_logger("phoenixd.handoffs")


class HeldSessions:
    """Writes them. agents: all there are; seat_of: the seat of a name. Both may be asked from a thread."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        agents: Callable[[], Iterable[Agent]],
        seat_of: Callable[[str], Seat | None],
        records: SessionRecords,
    ) -> None:
        self._find = find
        self._agents = agents
        self._seat_of = seat_of
        self._records = records
        self._used: dict[str, tuple[str, Used | None]] = {}
        """What each agent's newest request told, and in which session."""
        self._met: dict[str, tuple[str, str | None]] = {}
        """The session of each, and the newest verdict on its context, for which a record was ordered at once."""
        self._written: dict[str, tuple[str, ContextUsage]] = {}
        self._failed: dict[str, str] = {}
        """Why the newest try failed: told once, for it is made again each minute."""
        self._looks = SideBySide("the record of its session", self._look_at)

    def note(self, agent: Agent, used: Used | None) -> None:
        """What the meter has just read; None: nothing is known."""
        if agent.spec.kind is Kind.ORCHESTRATOR and agent.session is not None:
            self._used[agent.name] = agent.session.session_id, used

    def hear(self, changed: Iterable[Agent]) -> None:
        """Write the record of each session that has begun, or whose context is judged otherwise now; never waits."""
        for agent in changed:
            session = _session(agent)
            if session is not None and self._met.get(agent.name) != (met := (session.session_id, agent.meter.told)):
                self._met[agent.name] = met
                self._looks.ask([agent.name])

    async def look(self) -> None:
        """Write the record of each session whose context holds something else now."""
        living = {one.name for one in self._agents() if _session(one) is not None}
        for known in (self._used, self._met, self._written, self._failed):
            for name in known.keys() - living:
                del known[name]
        await self._looks.look_at(living)

    async def _look_at(self, name: str) -> None:
        agent = self._find(name)
        session = _session(agent) if agent is not None else None
        if agent is None or session is None:
            return
        now = session.session_id, self._usage(agent, session)
        if self._written.get(name) == now:
            return
        try:
            if await self._looks.aside(partial(self._write, agent, session, now[1])):
                self._written[name] = now
            self._failed.pop(name, None)
        except (PhoenixdError, OSError) as failure:
            if self._failed.get(name) != str(failure):
                self._failed[name] = str(failure)
                log.warning("session_record_failed", agent=name, reason=str(failure))

    def _usage(self, agent: Agent, session: Session) -> ContextUsage:
        """What is unknown is null, and never 0."""
        of_session, used = self._used.get(agent.name, ("", None))
        if used is None or of_session != session.session_id:
            return ContextUsage(
                input_tokens=None, output_tokens=None, total_tokens=None, percentage=None, last_updated=None
            )
        window = limit(agent.meter, agent.spec.context)
        return ContextUsage(
            input_tokens=used.tokens - used.output,
            output_tokens=used.output,
            total_tokens=used.tokens,
            percentage=floor(used.tokens * 1000 / window[0]) / 10 if window is not None else None,
            last_updated=timestamp(used.at) if used.at is not None else None,
        )

    def _write(self, agent: Agent, session: Session, usage: ContextUsage) -> bool:
        """Whether the record says it now: that of a session that holds no seat, or hands one over, is not ours."""
        with self._records.locks.of(agent.spec.cwd):
            seat = self._seat_of(agent.spec.seat or agent.name)
            if seat is None or seat.holder != agent.name or (seat.handoff is not None and not seat.handoff.is_over):
                return False
            self._records.keep(seat, agent, session, usage)
            return True


def _session(agent: Agent) -> Session | None:
    """The session of an orchestrator that runs."""
    return agent.session if agent.spec.kind is Kind.ORCHESTRATOR and agent.run is not None else None
