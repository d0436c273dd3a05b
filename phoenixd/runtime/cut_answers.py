"""Whether the answer that a turn ended with was cut, and what the API answered to one that failed: looked up in the
transcript, soon after the turn's end.

No hook says it. A CLI writes its transcript a moment after its hooks, so the look comes a second later, and once more
where the answer is not written yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import AnswerCut, FailureStatusSeen
from phoenixd.core.moment import Instant
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.gathered import GATHER, Gathered, Heard
from phoenixd.harness.failed_turn import meaning
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Transcripts
from phoenixd.side_by_side import SideBySide

SETTLED = 3.0
"""Seconds for which a cut answer has to be the last one: a CLI that goes on by itself may write that a moment later."""

SETTLING = SETTLED + 2 * GATHER
"""Seconds that the looks of that take at most."""

LATE = 30.0
"""Seconds after that hook for which an answer that is not written yet is looked for."""

ENDS = frozenset({"stop", "stop-failure"})


def answer_cut(agent: Agent, facts: SessionFacts) -> AnswerCut | None:
    """What the transcript of a turn that is over says of its answer; None where nothing of it was cut."""
    cut, run = facts.cut_at_end, agent.run
    if cut is None or run is None or (cut.at is not None and cut.at < run.began_wall):
        return None
    went_on = facts.went_on and facts.unended is None
    return AnswerCut(agent.name, run.incarnation, cut.how, cut.at, went_on, cut.calls or ())


def failure_status(agent: Agent, facts: SessionFacts) -> FailureStatusSeen | None:
    """Which HTTP status the transcript tells of this run's newest turn; None where it tells none."""
    failed, run = facts.error, agent.run
    if failed is None or failed.status is None or run is None or failed.at is None or failed.at < run.began_wall:
        return None
    _, failure, named = meaning(failed, resets=failed.resets is not None)
    return FailureStatusSeen(agent.name, run.incarnation, failed.status, failure, named)


class CutAnswers:
    """Looks and tells; what follows is the core's to say."""

    def __init__(
        self, find: Callable[[str], Agent | None], tell: Callable[[Event], None], clock: Clock, transcripts: Transcripts
    ) -> None:
        self._find = find
        self._tell = tell
        self._clock = clock
        self._transcripts = transcripts
        self._ended = Gathered(clock)
        """Agents whose turn has ended."""
        self._failed: set[str] = set()
        """Those of them whose turn failed: the CLI has given up, and goes on by itself with nothing."""
        self._seen: dict[str, tuple[AnswerCut, Instant]] = {}
        """Answers of agents that nothing follows so far, and since when that is seen."""
        self._due: dict[str, Instant] = {}
        """The agents whose answer is looked at next, and when that hook was heard."""
        self._looks = SideBySide("a look at the end of its turn", self._look_at)

    def heard(self, agent: str, kind: str, payload: dict[str, Any]) -> None:
        """A hook came. A subagent's answer goes to its caller, who judges it."""
        if kind in ENDS and not payload.get("agent_id"):
            self._ended.note(agent)
            if kind == "stop-failure":
                self._failed.add(agent)
            else:
                self._failed.discard(agent)

    async def run(self) -> None:
        """Look for ever."""
        await self._ended.look(self._looks, self._begin)

    def _begin(self, every: Heard, due: Heard) -> Iterable[str]:
        self._due.update(due)
        return due

    async def _look_at(self, name: str) -> None:
        heard, began, is_told = self._due.pop(name, None), self._clock.at(), True
        if heard is None:
            return
        try:
            is_told = await self.look(name)
        finally:
            # What was seen late gets its time to settle as well.
            if not is_told and began < heard + LATE + (SETTLING if name in self._seen else 0.0):
                self._ended.put_back(name, heard)
            else:
                self._seen.pop(name, None)
                self._failed.discard(name)

    async def look(self, name: str) -> bool:
        """Read what the transcript says of the newest answer; False where that is to be asked once more."""
        agent = self._find(name)
        if agent is None or agent.activity is None:
            return True
        if agent.activity.turn_open:
            # Its end is not saved yet, or another turn has begun, and nothing can be said before the end of that one.
            return False
        facts = await self._transcripts.facts(agent)
        if facts is None:
            # A busy CLI begins the file of a fresh session after the hook of its first turn's end.
            return False
        if (status := failure_status(agent, facts)) is not None:
            self._tell(status)
        found = answer_cut(agent, facts)
        if found is not None and not found.went_on and not self._is_settled(name, found):
            return False
        self._seen.pop(name, None)
        if found is not None:
            self._tell(found)
        return found is not None or self._is_written(agent.activity, facts)

    def _is_written(self, activity: Activity, facts: SessionFacts) -> bool:
        """Whether the newest that the transcript has is of the turn that is over."""
        # A busy CLI may write the last answer of a session's first turn before all else of it.
        if facts.newest_kind in (None, "prompt") or facts.prompt is None:
            return False
        now = self._clock.now()
        began = now.wall - (now.at - activity.turn_since) if activity.turn_since is not None else 0.0
        return facts.newest_at is None or facts.newest_at >= began

    def _is_settled(self, name: str, found: AnswerCut) -> bool:
        if name in self._failed:
            return True
        before, since = self._seen.get(name, (None, 0.0))
        if before != found:
            self._seen[name] = (found, self._clock.at())
            return False
        return self._clock.at() - since >= SETTLED
