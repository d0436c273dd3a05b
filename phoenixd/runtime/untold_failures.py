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
from phoenixd.core.agent.state import Stopping, is_its_own
from phoenixd.core.events.evidence import AnswerCut
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.hooks import TurnFailed
from phoenixd.harness.failed_turn import is_told_by_transcript_alone
from phoenixd.ports import Sink
from phoenixd.ports.evidence import Transcripts
from phoenixd.ports.terminal import Screens
from phoenixd.runtime.cut_answers import answer_cut

PATIENCE = 0.3
"""Seconds for which an end is kept back at most: a disk may hang."""

log = structlog.get_logger()


class UntoldFailures:
    """Looks and tells; what follows is the core's to say."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        tell: Sink,
        transcripts: Transcripts,
        screens: Screens,
        patience: float = PATIENCE,
    ) -> None:
        self._find = find
        self._tell = tell
        self._transcripts = transcripts
        self._screens = screens
        self._patience = patience
        self._threads = anyio.CapacityLimiter(math.inf)
        self._under_way: set[tuple[str, str]] = set()

    def may_be(self, ended: AgentExited) -> bool:
        """Whether the transcript may say more of this end than its code."""
        if ended.cause != "exit" or not ended.code or ended.signal is not None:
            return False
        agent = self._find(ended.agent)
        if agent is None or agent.run is None or agent.run.run_id != ended.run_id:
            return False
        return is_its_own(agent.state) and is_told_by_transcript_alone(agent.spec.harness)

    async def tell(self, ended: AgentExited) -> None:
        """Tell what failed, if the transcript says it in time, and then the end, whatever became of the look."""
        key = (ended.agent, ended.run_id)
        if key in self._under_way:
            # A shim that is asked anew says the same end again.
            return
        self._under_way.add(key)
        told = ended
        try:
            failed, cut = await self._looked(ended)
            agent = self._find(ended.agent)
            if failed is not None and agent is not None and isinstance(agent.state, Stopping):
                # Of a run that is over no hook is heard any more.
                told = replace(ended, failed=failed)
            elif failed is not None:
                self._tell(failed)
                if cut is not None:
                    self._tell(cut)
        finally:
            self._under_way.discard(key)
            self._tell(told)

    async def explained(self, ended: AgentExited) -> AgentExited:
        """An end that was recorded while nobody heard it, with what had failed, if the transcript says it in time."""
        if not self.may_be(ended):
            return ended
        failed, _ = await self._looked(ended)
        return replace(ended, failed=failed) if failed is not None else ended

    async def _looked(self, ended: AgentExited) -> tuple[TurnFailed | None, AnswerCut | None]:
        try:
            with anyio.move_on_after(self._patience):
                return await self._look(ended)
        except Exception:
            # An agent's files may be anything: a fault in reading them costs this look.
            log.exception("untold_failures_fault", agent=ended.agent)
        return None, None

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
