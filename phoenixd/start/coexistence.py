"""Whether somebody else is at work in an agent's session: noticed, told, and never doubled.

No agent CLI locks its sessions. What a person, or another supervisor, has resumed elsewhere is found by its command
line, and by what the CLI's processes write of themselves: before a resume, which then waits, and once a minute while
the agent runs, which is only told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio
import structlog
from anyio import to_thread

from phoenixd.bounded_reads import BoundedReads
from phoenixd.core import alerts
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.documents.plain_text import one_line
from phoenixd.drivers.processes.sessions import CommandLine, command_line, command_lines
from phoenixd.errors import NoAnswer, SessionInUse, UnsafeFile
from phoenixd.harness import HARNESSES
from phoenixd.listings import newest_matching
from phoenixd.memory.files import Files

KIND = "session in use elsewhere"

INTERVAL = 60.0
PATIENCE = 5.0
"""Seconds that one CLI's files are waited for: a home that hangs holds up no start of another agent for longer."""

MOST_WORDS = 120
MOST_FILES, FILE_LIMIT = 256, 16 * 1024

log = structlog.get_logger("phoenixd.coexistence")


def strangers(agent: Agent, lines: Iterable[CommandLine], run_id: str | None) -> tuple[CommandLine, ...]:
    """Those of the processes that work in the agent's session without belonging to its run.

    A wrapper and the program that it starts are one: the wrapper stands for both.
    """
    session_id = session_of(agent)
    harness = HARNESSES.get(agent.spec.harness)
    if harness is None or session_id is None:
        return ()
    found = [
        line
        for line in lines
        if (run_id is None or line.run_id != run_id) and harness.runs_session(agent.spec, _arguments(line), session_id)
    ]
    pids = {line.pid for line in found}
    return tuple(line for line in found if line.parent not in pids)


def session_of(agent: Agent) -> str | None:
    """The session that the agent works in, or would go on with."""
    if agent.run is not None:
        return agent.run.session_id
    return agent.session.session_id if agent.session is not None else None


def finding(agent: Agent, found: Sequence[CommandLine]) -> Event | None:
    """What is to be told of the agent's session; None for nothing new."""
    if found:
        return TroubleSeen(agent.name, KIND, _words(found))
    if alerts.find(agent.alerts, KIND) is None:
        return None
    return TroubleGone(agent.name, KIND, "nobody else is at work in its session any more")


@dataclass(slots=True)
class _Look:
    """One pass over /proc, for all agents whose resume waits for it. lines: None until it is done."""

    agents: list[Agent] = field(default_factory=list)
    lines: list[CommandLine] | None = None


class Coexistence:
    """The look at all agents, once a minute, and at one before its session is resumed.

    files_of: a glob for the files in which an agent's CLI says which process is in which session.
    """

    def __init__(
        self,
        agents: Callable[[], Iterable[Agent]],
        tell: Callable[[Event], None],
        files: Files,
        files_of: Callable[[Agent], str | None],
    ) -> None:
        self._agents = agents
        self._tell = tell
        self._files = files
        self._files_of = files_of
        self._next = _Look()
        self._looking = anyio.Lock()
        self._reads = BoundedReads()

    async def require_alone(self, agent: Agent) -> None:
        """Raise SessionInUse where somebody else works in the session that is to be resumed."""
        if not agent.spec.names_session:
            return
        found = strangers(agent, await self._shared_lines(agent), None)
        if (told := finding(agent, found)) is not None:
            self._tell(told)
        if found:
            raise SessionInUse(
                f"resume held back: {_words(found)}", f"end it, or begin anew: phoenixctl restart {agent.name} --fresh"
            )

    async def look(self) -> None:
        """Look at the sessions of all agents that run, or are about to."""
        living = [
            agent
            for agent in self._agents()
            if agent.spec.names_session and (agent.run is not None or isinstance(agent.state, BackingOff))
        ]
        try:
            lines = await self._lines(living)
        except OSError as error:
            log.warning("processes_not_read", reason=str(error))
            return
        names = {agent.name for agent in living}
        for agent in tuple(self._agents()):
            found = strangers(agent, lines, agent.run.run_id if agent.run else None) if agent.name in names else ()
            if (told := finding(agent, found)) is not None:
                self._tell(told)

    async def _shared_lines(self, agent: Agent) -> list[CommandLine]:
        """The processes in the agent's session, by a look that begins after this call, one for all who ask."""
        look = self._next
        look.agents.append(agent)
        async with self._looking:
            if look.lines is None:
                if self._next is look:
                    self._next = _Look()
                look.lines = await self._lines(look.agents)
        return look.lines

    async def _lines(self, agents: Sequence[Agent]) -> list[CommandLine]:
        """The processes that are in these agents' sessions, by their arguments or by their own word."""
        sessions = {one for agent in agents if (one := session_of(agent)) is not None}
        found = await to_thread.run_sync(lambda: {line.pid: line for line in command_lines(sessions)})

        async def read(harness: str, pattern: str) -> None:
            try:
                lines = await self._reads.of(pattern, partial(self._told, harness, pattern), PATIENCE)
            except NoAnswer:
                return  # Told in the log; what the processes' arguments say is known all the same.
            for line in lines:
                if line.session_id in sessions:
                    found.setdefault(line.pid, line)

        async with anyio.create_task_group() as tasks:
            for harness, pattern in {(agent.spec.harness, self._files_of(agent)) for agent in agents}:
                if pattern is not None:
                    tasks.start_soon(read, harness, pattern)
        return list(found.values())

    def _told(self, harness: str, pattern: str) -> list[CommandLine]:
        """What the processes of a CLI write of themselves below one home; blocking."""
        paths = sorted(newest_matching(pattern, MOST_FILES))
        return [line for path in paths if (line := self._line(harness, path)) is not None]

    def _line(self, harness: str, path: str) -> CommandLine | None:
        try:
            record = json.loads(self._files.read_plain(path, FILE_LIMIT))
        except (OSError, UnsafeFile, ValueError, RecursionError):
            return None
        told = HARNESSES[harness].process_in_session(record) if isinstance(record, dict) else None
        return command_line(told.pid, told.start_time, told.session_id) if told is not None else None


def _arguments(line: CommandLine) -> tuple[str, ...]:
    """The command line, with the session that was picked after it."""
    return line.argv if line.session_id is None else (*line.argv, "--resume", line.session_id)


def _words(found: Sequence[CommandLine]) -> str:
    first = found[0]
    command = one_line(" ".join(first.argv), MOST_WORDS)
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"process {first.pid} works in the same session ({command}){more}; what both write there gets mixed up"
