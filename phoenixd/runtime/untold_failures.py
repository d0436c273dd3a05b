"""A run that ended with a failure which no hook told: the end of its transcript is read before its death is judged.

A CLI that works without a terminal ends where the API refuses its turn. Where neither a hook nor its exit code says
why, the end of a run at its account's limit looks like a crash, and the next run would meet the limit again at once.
An end that is found when its run is looked for, because its shim is lost, or after a boot, bears what had failed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import anyio
import structlog
from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Stopping
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import AnswerCut
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.hooks import TurnFailed
from phoenixd.harness.failed_turn import is_told_by_transcript_alone
from phoenixd.ports.evidence import Transcripts
from phoenixd.ports.terminal import Screens
from phoenixd.runtime.cut_answers import answer_cut
from phoenixd.runtime.post_mortem import in_time, is_unexplained

PATIENCE = 0.3
"""A disk may hang."""

log = structlog.get_logger()


class UntoldFailures:
    """A look at the end of the transcript."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        transcripts: Transcripts,
        screens: Screens,
        patience: float = PATIENCE,
    ) -> None:
        self._find, self._transcripts, self._screens, self.patience = find, transcripts, screens, patience
        self._threads = anyio.CapacityLimiter(math.inf)

    def may_tell(self, agent: Agent, ended: AgentExited) -> bool:
        """Whether the transcript may say more of this end than its code."""
        return bool(ended.code) and ended.signal is None and is_told_by_transcript_alone(agent.spec.harness)

    async def found(self, ended: AgentExited) -> tuple[Event, ...]:
        """What failed, if the transcript says it, and then the end."""
        failed, cut = await self._look(ended)
        agent = self._find(ended.agent)
        if failed is None or agent is None:
            return (ended,)
        if isinstance(agent.state, Stopping):
            # Of a run that is over no hook is heard any more.
            return (replace(ended, failed=failed),)
        return (failed, ended) if cut is None else (failed, cut, ended)

    async def explained(self, ended: AgentExited) -> AgentExited:
        """An end that was recorded while nobody heard it, with what had failed, if the transcript says it in time."""
        if not is_unexplained(self._find(ended.agent), ended, self):
            return ended
        failed, _ = await in_time(self.patience, ended.agent, self._look(ended)) or (None, None)
        return replace(ended, failed=failed) if failed is not None else ended

    async def _look(self, ended: AgentExited) -> tuple[TurnFailed | None, AnswerCut | None]:
        agent = self._find(ended.agent)
        if agent is None:
            return None, None
        facts = await to_thread.run_sync(
            self._transcripts.end_now, agent, abandon_on_cancel=True, limiter=self._threads
        )  # fmt: skip
        # The look takes its time: what was told meanwhile counts.
        agent = self._find(ended.agent)
        if facts is None or agent is None or agent.run is None or agent.run.run_id != ended.run_id:
            return None, None
        failed = self._screens.failed_turn(agent, facts)
        if failed is None:
            return None, None
        log.info("untold_failure", agent=ended.agent, incarnation=ended.incarnation, failure=failed.failure)
        return failed, answer_cut(agent, facts)
