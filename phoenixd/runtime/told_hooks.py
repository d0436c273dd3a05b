"""The hooks of agents, as their shims tell them: one at a time, many together, and what is told again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

from phoenixd.core import armed
from phoenixd.core.agent import Agent
from phoenixd.core.change import replace
from phoenixd.core.events import Event
from phoenixd.core.events.runs import HoldReleased
from phoenixd.core.hooks import Hook, PermissionAsked, PromptSubmitted, SessionStarted, ToolStarted
from phoenixd.documents.hooks import hook_event
from phoenixd.documents.numbers import whole
from phoenixd.documents.times import read_time
from phoenixd.harness import HARNESSES
from phoenixd.ports import Clock, HearHook, Later, Saved, Tell
from phoenixd.ports.shims import ShimHello, ShimLinks
from phoenixd.runtime.batches import condensed
from phoenixd.runtime.deaths import EXIT_WORD_GRACE
from phoenixd.runtime.open_questions import OpenQuestions
from phoenixd.runtime.throttle import HookThrottle

HANG_UP_GRACE = 2 * EXIT_WORD_GRACE
"""Seconds between a hang-up on a held request and the report of it: an agent that dies hangs up too, and its death
says more."""

HOLDS_REMEMBERED = 64
"""Requests of an agent that were let go of, while their hooks may still wait to be told."""

log = structlog.get_logger()


@dataclass(slots=True)
class _Numbers:
    """The newest spooled hook of an agent's newest run that was heard, and the newest that was acknowledged."""

    incarnation: int
    heard: int = 0
    acknowledged: int = 0


class ToldHooks:
    """Translates hooks, counts none twice, and passes them on no faster than the journal should grow."""

    def __init__(
        self,
        shims: ShimLinks,
        clock: Clock,
        find: Callable[[str], Agent | None],
        tell: Tell,
        later: Later,
        heard: HearHook,
        left_out: HearHook,
    ) -> None:
        self._shims = shims
        self._clock = clock
        self._began = clock.now().wall
        self._find = find
        self._tell = tell
        self._later = later
        self._heard = heard
        self._left_out = left_out
        self._throttle = HookThrottle(clock, later, self._tell_hook)
        self._greeted_with: dict[str, ShimHello] = {}
        self._let_go: dict[str, deque[int]] = {}
        self._numbers: dict[str, _Numbers] = {}
        self._questions = OpenQuestions()

    def greet(self, agent: str, hello: ShimHello) -> None:
        """Know what a shim holds and has told by now."""
        if agent not in self._greeted_with:
            self._forget_removed()
        self._greeted_with[agent] = hello

    def _forget_removed(self) -> None:
        """Keep nothing of agents that are there no more, for each worker has a name of its own."""
        gone = [name for name in self._greeted_with if self._find(name) is None]
        for name in gone:
            for known in (self._greeted_with, self._let_go, self._numbers):
                known.pop(name, None)
            self._throttle.forget(name)
            self._questions.forget(name)

    def flush(self, agent: str) -> None:
        """Pass on what waits: something is about to be told that must not overtake it."""
        self._throttle.flush(agent)

    def keep(self, agent: str, body: dict[str, Any]) -> None:
        """Keep a question that is told again, until it is known whose it is."""
        self._questions.keep(agent, body)

    def hear_forgotten(self, agent: Agent, hello: ShimHello) -> None:
        """Hear the questions that its shim holds still, and that nobody here knows of."""
        for hook in self._questions.forgotten(agent, hello):
            log.info("question_told_again", agent=agent.name, incarnation=hook.get("incarnation"))
            self.hear(agent.name, hook)

    def release(self, agent: str, incarnation: int, hold: int) -> None:
        """The hook that asked waits for no answer any more."""
        self._let_go.setdefault(agent, deque(maxlen=HOLDS_REMEMBERED)).append(hold)
        released = HoldReleased(agent, incarnation, hold)
        self._later(HANG_UP_GRACE, lambda: self._tell(released, None))

    def hear_many(self, agent: str, batch: list[Any]) -> None:
        """Hear a batch. What is left out of it is still searched for what no transcript tells, as a code in a call."""
        kept = condensed(batch)
        if len(kept) < len(batch):
            heard = {id(one) for one in kept}
            for one in batch:
                if id(one) not in heard:
                    self._left_out(agent, one["kind"], one["payload"])
        for one in kept:
            self._hear_one_of_many(agent, one)

    def _hear_one_of_many(self, agent: str, body: dict[str, Any]) -> None:
        """Evidence of a batch: a malformed one costs the others nothing."""
        try:
            self.hear(agent, body)
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            log.warning("shim_message_malformed", agent=agent, said="hooks", fault=repr(fault))

    def hear(self, agent: str, body: dict[str, Any]) -> None:
        """Translate one; raises KeyError, TypeError or ValueError where it is malformed."""
        seq, kind, payload = int(body["seq"]), str(body["kind"]), body["payload"]
        if not isinstance(payload, dict):
            raise TypeError("payload is no object")
        incarnation = int(body["incarnation"])
        is_told_anew = body.get("again") is True
        if not is_told_anew and self._is_told_again(agent, incarnation, seq):
            return
        self._heard(agent, kind, payload)
        if payload.get("held") is True:
            self._questions.note(agent, seq)
        acknowledge = (lambda: self._acknowledge(agent, incarnation, seq)) if seq > 0 and not is_told_anew else None
        event = hook_event(agent, incarnation, kind, payload, self._clock.now().wall)
        event = replace(event, seq=seq, more=whole(body.get("more")))
        if isinstance(event, ToolStarted):
            event = replace(event, ticks=_ticks(body), limit=self._limit(agent, event.tool or ""))
        if isinstance(event, PromptSubmitted) and (known := self._find(agent)) and armed.are_ours(known, event.text):
            event = replace(event, source="machine")
        if isinstance(event, SessionStarted) and (at := read_time(body.get("at"))) is not None:
            event = replace(event, unheard=at < self._began)
        if isinstance(event, SessionStarted) and event.model is not None:
            event = replace(event, window=self._window(agent, event.model))
        self._throttle.offer(event, acknowledge)

    def _is_told_again(self, agent: str, incarnation: int, seq: int) -> bool:
        """Whether a shim that was linked to anew repeats what this daemon has heard: that was counted already."""
        numbers = self._numbers.get(agent)
        if seq <= 0 or (numbers is not None and incarnation < numbers.incarnation):
            return False
        if numbers is None or incarnation > numbers.incarnation:
            # A shim that follows another may count anew, and has no run of its predecessor's.
            numbers = self._numbers[agent] = _Numbers(incarnation)
        if seq > numbers.heard:
            numbers.heard = seq
            return False
        if seq <= numbers.acknowledged:
            self._shims.acknowledge(agent, seq)
        return True

    def _acknowledge(self, agent: str, incarnation: int, seq: int) -> None:
        numbers = self._numbers.get(agent)
        if numbers is not None and numbers.incarnation == incarnation:
            numbers.acknowledged = max(seq, numbers.acknowledged)
        self._shims.acknowledge(agent, seq)

    def _window(self, agent: str, model: str) -> int | None:
        known = self._find(agent)
        harness = HARNESSES.get(known.spec.harness) if known is not None else None
        return harness.window_of(model) if harness is not None else None

    def _limit(self, agent: str, tool: str) -> float | None:
        known = self._find(agent)
        harness = HARNESSES.get(known.spec.harness) if known is not None else None
        return harness.call_limit(known.spec, tool) if known is not None and harness is not None else None

    def _tell_hook(self, event: Event, saved: Saved | None) -> None:
        self._tell(event, saved)
        if isinstance(event, PermissionAsked) and event.held and self._is_over(event):
            self._tell(HoldReleased(event.agent, event.incarnation, event.seq), None)

    def _is_over(self, event: Hook) -> bool:
        """Whether its question was answered before it could be told: while nobody listened, or it had to wait."""
        hello = self._greeted_with.get(event.agent)
        if hello is not None and event.seq <= hello.last_seq and event.seq not in hello.held:
            return True
        return event.seq in self._let_go.get(event.agent, ())


def _ticks(body: dict[str, Any]) -> int | None:
    """When a call began, as its shim says; an older shim does not say it."""
    ticks = body.get("ticks")
    return ticks if isinstance(ticks, int) and not isinstance(ticks, bool) and ticks >= 0 else None
