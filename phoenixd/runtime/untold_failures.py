"""A run that ended with a failure which no hook told: the end of its transcript is read before its death is judged.

A CLI that works without a terminal ends where the API refuses its turn. Where neither a hook nor its exit code says
why, the end of a run at its account's limit looks like a crash, and the next run would meet the limit again at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import anyio
import structlog
from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.events.runs import AgentExited
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
        return isinstance(agent.state, Starting | Running) and is_told_by_transcript_alone(agent.spec.harness)

    async def tell(self, ended: AgentExited) -> None:
        """Tell what failed, if the transcript says it in time, and then the end, whatever became of the look."""
        key = (ended.agent, ended.run_id)
        if key in self._under_way:
            # A shim that is asked anew says the same end again.
            return
        self._under_way.add(key)
        try:
            with anyio.move_on_after(self._patience):
                await self._look(ended)
        except Exception:
            # An agent's files may be anything: a fault in reading them costs this look.
            log.exception("untold_failures_fault", agent=ended.agent)
        finally:
            self._under_way.discard(key)
            self._tell(ended)

    async def _look(self, ended: AgentExited) -> None:
        agent = self._find(ended.agent)
        if agent is None:
            return
        facts = await to_thread.run_sync(
            self._transcripts.end_now, agent, abandon_on_cancel=True, limiter=self._threads
        )  # fmt: skip
        # The look takes its time: what was told meanwhile counts.
        agent = self._find(ended.agent)
        if facts is None or agent is None or agent.run is None or agent.run.run_id != ended.run_id:
            return
        failed = self._screens.failed_turn(agent, facts)
        if failed is None:
            return
        log.info("untold_failure", agent=ended.agent, incarnation=ended.incarnation, failure=failed.failure)
        self._tell(failed)
        if (cut := answer_cut(agent, facts)) is not None:
            self._tell(cut)
