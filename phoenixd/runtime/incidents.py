"""What stands around an incident: the work of an open call, and the record of a run that is about to be killed."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import structlog
from anyio.abc import TaskGroup

from phoenixd.core.actions import LookAtCall, RecordIncident
from phoenixd.core.agent import Agent
from phoenixd.core.events.evidence import CallWorkSeen, IncidentRecorded
from phoenixd.documents.incident import as_left
from phoenixd.errors import PhoenixdError, TerminalFailed
from phoenixd.ports import Outside, Sink
from phoenixd.ports.processes import ProcessIdentity

INCIDENT_LINES = 100
INCIDENT_LOOK = 1.0
END_LINES = 40
"""Lines of the terminal of a run that is over."""
END_LOOK = 0.25
"""Seconds for them."""
PANE_LIMIT = 8000
MOST_PANES = 200
"""Characters of a terminal's end, and agents for which one is remembered."""
AT_ONCE = 8
"""Terminals that are looked at together: each look is a process of tmux."""

log = structlog.get_logger()


class Incidents:
    """Looks before a kill, and writes down what was seen."""

    def __init__(self, outside: Outside, find: Callable[[str], Agent | None], tell: Sink) -> None:
        self._outside = outside
        self._find = find
        self._tell = tell
        self._panes: dict[str, tuple[int, str]] = {}
        self._looks: dict[tuple[str, int], anyio.Event] = {}
        self._places = anyio.CapacityLimiter(AT_ONCE)

    async def pane_of(self, agent: str, incarnation: int) -> str:
        """The end of the terminal as it was when that run failed; empty where it was not seen."""
        if (look := self._looks.get((agent, incarnation))) is not None:
            await look.wait()
        known = self._panes.get(agent)
        return known[1] if known is not None and known[0] == incarnation else ""

    async def look_at_call(self, action: LookAtCall) -> None:
        agent = self._find(action.agent)
        run = agent.run if agent is not None else None
        if run is None or run.incarnation != action.incarnation or run.pid is None or run.start_time is None:
            return
        processes = self._outside.processes
        child = ProcessIdentity(processes.boot_id(), run.pid, run.start_time)
        found = await processes.work_since(action.agent, action.incarnation, child, action.ticks)
        self._tell(
            CallWorkSeen(
                action.agent, action.incarnation, action.ticks, found.cpu, found.io, found.processes, found.unread
            )
        )

    async def keep(self, action: RecordIncident, writing: TaskGroup) -> None:
        """See what there is to see: before a kill, for a second at most. The disk may take its time.

        The start after an end waits for nothing: its program draws later than this looks. In a burst of ends most
        terminals are not looked at, for each look takes time from the starts.
        """
        agent = self._find(action.agent)
        if agent is None:
            return
        if agent.run is not None and agent.run.incarnation == action.incarnation:
            await self._note(agent, action, writing, INCIDENT_LINES, INCIDENT_LOOK)
        elif self._places.available_tokens <= 0:
            self._remember(action, "")
            writing.start_soon(self._write_incident, agent, action, "")
        else:
            look = self._looks[action.agent, action.incarnation] = anyio.Event()
            writing.start_soon(self._look_back, agent, action, writing, look)

    async def _look_back(self, agent: Agent, action: RecordIncident, writing: TaskGroup, look: anyio.Event) -> None:
        try:
            await self._note(agent, action, writing, END_LINES, END_LOOK)
        finally:
            look.set()
            # One run may be over for two reasons, and each is written down.
            if self._looks.get((action.agent, action.incarnation)) is look:
                del self._looks[action.agent, action.incarnation]

    async def _note(
        self, agent: Agent, action: RecordIncident, writing: TaskGroup, lines: int, patience: float
    ) -> None:
        screen = await self._seen(agent, lines, patience)
        self._remember(action, screen)
        writing.start_soon(self._write_incident, agent, action, screen)

    def _remember(self, action: RecordIncident, screen: str) -> None:
        known = self._panes.pop(action.agent, None)
        if not screen and known is not None and known[0] == action.incarnation:
            # Nothing was seen this time; what the same run showed before says more.
            screen = known[1]
        self._panes[action.agent] = action.incarnation, screen[-PANE_LIMIT:]
        if len(self._panes) > MOST_PANES:
            del self._panes[next(iter(self._panes))]

    async def _seen(self, agent: Agent, lines: int, patience: float) -> str:
        """The terminal as its agent left it (C41)."""
        try:
            with anyio.move_on_after(patience):
                async with self._places:
                    shown = await self._outside.terminal.capture(agent.name, lines)
                    return as_left(shown, agent.name)
        except TerminalFailed as failure:
            log.warning("incident_without_screen", agent=agent.name, reason=failure.message)
        return ""

    async def _write_incident(self, agent: Agent, action: RecordIncident, screen: str) -> None:
        incident = action.incident
        try:
            lines, record = await self._outside.papers.record_incident(agent, action, screen)
        except (PhoenixdError, OSError) as failure:
            log.warning("incident_not_written", agent=action.agent, file=incident.file, reason=str(failure))
            return
        self._tell(
            IncidentRecorded(
                action.agent,
                action.incarnation,
                incident.kind,
                incident.file,
                lines,
                incident.at_wall,
                record,
                incident.case,
                incident.number,
            )
        )
