"""A failure that no rule knows is read: the reader is asked beside everything else, and what came of it is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from phoenixd.core.actions import ExamineCase
from phoenixd.core.agent import Agent
from phoenixd.core.events.clinic import CaseExamined
from phoenixd.core.treatment.examined import Opinion
from phoenixd.errors import PhoenixdError, WriterFailed
from phoenixd.ports import Outside, Sink

log = structlog.get_logger()


class Examining:
    """Asks once for each order. pane_of: the end of an agent's terminal as it was when that run ended."""

    def __init__(
        self,
        outside: Outside,
        find: Callable[[str], Agent | None],
        tell: Sink,
        pane_of: Callable[[str, int], Awaitable[str]],
    ) -> None:
        self._outside = outside
        self._find = find
        self._tell = tell
        self._pane_of = pane_of

    async def examine(self, asked: ExamineCase) -> None:
        """Ask, and tell; whatever goes wrong is told as well, for the rules decide then."""
        opinion, problem, tokens = await self._ask(asked)
        self._tell(CaseExamined(asked.agent, asked.incarnation, asked.case, asked.number, opinion, problem, tokens))

    async def _ask(self, asked: ExamineCase) -> tuple[Opinion | None, str, int]:
        agent, reader = self._find(asked.agent), self._outside.reader
        if agent is None or reader is None:
            return None, "nobody reads failures here" if reader is None else "the agent is gone", 0
        pane = await self._pane_of(asked.agent, asked.incarnation)
        try:
            opinion, tokens = await reader.read(agent, asked, pane)
        except WriterFailed as failure:
            return None, _words(failure), failure.tokens
        except PhoenixdError as failure:
            return None, _words(failure), 0
        except Exception as fault:
            # A client library of somebody else: it costs this one answer.
            log.exception("reader_crashed", agent=asked.agent, case=asked.case)
            return None, f"a fault in phoenixd: {type(fault).__name__}", 0
        return opinion, "", tokens


def _words(failure: PhoenixdError) -> str:
    return f"{failure.message}; {failure.remedy}" if failure.remedy else failure.message
