"""The one loop: drain what waits, step it all, commit once, then dispatch. Only here does the fleet change."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio
import structlog

from phoenixd.core.actions import Action, Alert, Fence, Kill, ObserveTerminal, Reassure, RecordIncident, Terminate
from phoenixd.core.agent import Agent
from phoenixd.core.alerts import DEGRADED
from phoenixd.core.behind.epochs import ORDERS
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events import (
    EVIDENCE_KINDS,
    AgentWithdrawn,
    Event,
    EvidenceSeen,
    HookSeen,
    StopRequested,
    Tick,
    TroubleGone,
    TroubleSeen,
    is_journaled,
)
from phoenixd.core.fleet import Fleet, next_deadline, step
from phoenixd.core.moment import Moment
from phoenixd.documents.redact import redact
from phoenixd.ports import Batch, Clock, Entry, Journal, StoredEntry
from phoenixd.runtime.alarm import Alarm
from phoenixd.runtime.cleaning import Clean, cleaned, kept
from phoenixd.runtime.describe import describe_actions, describe_event
from phoenixd.runtime.saving import Saver

TURN_LIMIT = 1000
"""Events that are taken into one commit at most."""
EVIDENCE_LIMIT = 5000
"""Waiting events beyond which mere evidence is dropped: the next one tells the same."""
LONGEST_PAUSE = 15.0
"""Seconds between two turns at most: an idle loop proves so that it turns."""

OF_NO_DELAY = Terminate | Kill | Fence | RecordIncident | Alert | Reassure | ObserveTerminal
"""What is done even where the journal fails: it ends processes, tells people, or only looks."""

Remember = Callable[[Batch, bool, bool], Awaitable[None]]
"""A batch, whether it holds an order of an operator's, and whether it was saved: kept outside the journal as well."""

log = structlog.get_logger()


async def _remember_nothing(batch: Batch, is_order: bool, is_saved: bool) -> None:
    """Where nothing is kept outside the journal."""


class Listener(Protocol):
    """Somebody who is told of every turn after it was saved: entries with their row numbers, and changed agents."""

    def __call__(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None: ...


@dataclass(slots=True)
class _Waiting:
    event: Event
    done: Callable[[Refusal | None], None] | None = None
    saved: Callable[[], None] | None = None


@dataclass(slots=True)
class _Turn:
    """What one turn gathered: entries to save, agents that changed, actions to dispatch, answers to give."""

    entries: list[Entry]
    changed: dict[str, Agent]
    removed: dict[str, int]
    actions: list[Action]
    answers: list[tuple[Callable[[Refusal | None], None], Refusal | None]]
    receipts: list[Callable[[], None]]
    ends: bool = False
    """Somebody is told that a stop or a removal stands: for that the journal's reserve is there."""
    orders: bool = False
    """An operator's order, or the daemon's start, began another epoch."""


class Supervisor:
    """Holds the fleet. Events come in by `tell` and `ask`, actions go out through `dispatch` once they are saved."""

    def __init__(
        self,
        fleet: Fleet,
        clock: Clock,
        journal: Journal,
        dispatch: Callable[[Action], None],
        listeners: Sequence[Listener] = (),
        on_turn: Callable[[], object] = lambda: None,
        on_degraded: Callable[[str | None], None] = lambda why: None,
        longest_pause: float = LONGEST_PAUSE,
        clean: Clean = lambda agent, text: redact(text),
        remember: Remember = _remember_nothing,
    ) -> None:
        """longest_pause: seconds after which `on_turn` is called at the latest, however little happens.

        clean: applied to the words of others in every event that is told.
        remember: called with each batch after its commit and before its first action.
        """
        self.fleet = fleet
        self._clock = clock
        self._dispatch = dispatch
        self._listeners = list(listeners)
        self._on_turn = on_turn
        self._on_degraded = on_degraded
        self._clean = clean
        self._remember = remember
        self._queue: deque[_Waiting] = deque()
        self._arrived = anyio.Event()
        self._withheld: list[Action] = []
        self._owed: list[Callable[[], None]] = []
        self.saver = Saver(journal, clock, self._degraded_changed)
        self.alarm = Alarm(clock, lambda: self.tell(Tick()), longest_pause)

    @property
    def degraded(self) -> str | None:
        """Why nothing new is started, or None."""
        return self.saver.degraded

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every saved turn from now on; returns the way to leave."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, event: Event, saved: Callable[[], None] | None = None) -> None:
        """Queue an event; `saved` is called once it is durable, be that much later, and never before."""
        if saved is None and len(self._queue) > EVIDENCE_LIMIT and _is_evidence(event):
            return
        self._put(_Waiting(cleaned(event, self._clean), saved=saved))

    def _put(self, waiting: _Waiting) -> None:
        self._queue.append(waiting)
        self._arrived.set()

    def begin_with(self, event: Event) -> None:
        """Queue an event before all others: what has to be decided before anything else is."""
        self._queue.appendleft(_Waiting(event))
        self._arrived.set()

    async def ask(self, event: Event) -> Refusal | None:
        """Queue an operator's request and return its refusal, or None once it is durable and under way."""
        answered = anyio.Event()
        answers: list[Refusal | None] = []

        def done(refusal: Refusal | None) -> None:
            answers.append(refusal)
            answered.set()

        self._put(_Waiting(event, done))
        await answered.wait()
        return answers[0]

    async def run(self) -> None:
        """Turn for ever."""
        await self.saver.look()
        if self.degraded is None:
            # What a daemon before this one may have found.
            self.tell(TroubleGone(None, DEGRADED, "the journal takes every decision"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.saver.run)
            tasks.start_soon(self.alarm.run)
            while True:
                await self._arrived.wait()
                self._arrived = anyio.Event()
                while self._queue:
                    await self.turn()

    async def turn(self) -> None:
        """Step what waits, save it in one commit, then act on it."""
        turn, now = self._step_all()
        self.alarm.set(next_deadline(self.fleet, now))
        saved: tuple[int, ...] | None = ()
        if turn.entries or turn.changed or turn.removed:
            batch = Batch(
                at=now.at,
                wall=now.wall,
                entries=tuple(turn.entries),
                changed=tuple(turn.changed.values()),
                removed=tuple(turn.removed.items()),
                next_item=self.fleet.next_item,
                alerts=self.fleet.alerts,
                epoch=self.fleet.epoch,
            )
            saved = await self.saver.save(batch, is_order=turn.ends)
            await self._remember(batch, turn.orders, saved is not None)
        # The journal may have come to itself since: then this is saved too, and nobody would ask for it again.
        is_saved = saved is not None or self.degraded is None
        self._act(turn, is_saved)
        self._answer(turn, is_saved)
        seqs = saved if saved is not None else (0,) * len(turn.entries)
        stored = [StoredEntry(seq, entry) for seq, entry in zip(seqs, turn.entries, strict=True)]
        for listener in tuple(self._listeners):
            listener(stored, tuple(turn.changed.values()))
        self._on_turn()

    def _step_all(self) -> tuple[_Turn, Moment]:
        turn = _Turn([], {}, {}, [], [], [])
        now = self._clock.now()
        for _ in range(min(len(self._queue), TURN_LIMIT)):
            waiting = self._queue.popleft()
            now = self._clock.now()
            result = step(self.fleet, waiting.event, now)
            turn.orders = turn.orders or (isinstance(waiting.event, ORDERS) and result.fleet.epoch != self.fleet.epoch)
            self.fleet = result.fleet
            self._note(turn, waiting.event, result.decisions, now)
            if waiting.done is not None:
                turn.answers.append((waiting.done, result.refusal))
                turn.ends |= isinstance(waiting.event, StopRequested | AgentWithdrawn) and result.refusal is None
            if waiting.saved is not None:
                turn.receipts.append(waiting.saved)
        return turn, now

    def _note(self, turn: _Turn, event: Event, decisions: Sequence[Decision], now: Moment) -> None:
        kind, detail = describe_event(event)
        detail = kept(event, detail, self._clean)
        name: str | None = getattr(event, "agent", None)
        if not any(decision.is_worth_keeping for decision in decisions) and is_journaled(event):
            turn.entries.append(Entry(now.at, now.wall, name, getattr(event, "incarnation", 0), kind, detail))
        for decision in decisions:
            turn.actions.extend(decision.actions)
            if not decision.is_worth_keeping:
                continue
            agent = decision.agent
            if decision.weight == "noise":
                if agent is not None:
                    turn.changed[agent.name] = agent
                continue
            turn.entries.append(
                Entry(
                    at=now.at,
                    wall=now.wall,
                    agent=agent.name if agent else None,
                    incarnation=agent.incarnation if agent else 0,
                    event=kind,
                    detail=detail,
                    state=agent.state_name if agent else None,
                    reason=decision.reason,
                    readings=decision.readings,
                    actions=describe_actions(decision.actions),
                    weight=decision.weight or ("story" if agent is None else "detail"),
                    facts=decision.facts,
                )
            )
            turn.entries.extend(_alert_entries(decision, now))
            log.info(
                "decided",
                agent=agent.name if agent else None,
                cause=kind,
                state=agent.state_name if agent else None,
                reason=decision.reason,
            )
            if agent is None:
                continue
            if decision.removed:
                turn.removed[agent.name] = agent.incarnation
                turn.changed.pop(agent.name, None)
            else:
                turn.removed.pop(agent.name, None)
                turn.changed[agent.name] = agent

    def _act(self, turn: _Turn, durable: bool) -> None:
        """Dispatch what was saved; while the journal fails or lacks room, only what ends processes or tells people."""
        goes_on = durable and self.degraded is None
        for action in turn.actions:
            if goes_on or isinstance(action, OF_NO_DELAY):
                self._dispatch(action)
            else:
                self._withheld.append(action)

    def _answer(self, turn: _Turn, durable: bool) -> None:
        if durable:
            for saved in turn.receipts:
                saved()
        else:
            self._owed.extend(turn.receipts)
        for done, refusal in turn.answers:
            if durable or refusal is not None:
                done(refusal)
                continue
            done(
                Refusal(
                    "conflict",
                    f"the journal fails ({self.degraded}): what ends processes is being done, but nothing new is "
                    "started, and a restart of the daemon would forget this request",
                    "phoenixctl doctor",
                )
            )

    def _degraded_changed(self, why: str | None) -> None:
        self._on_degraded(why)
        if why is not None:
            log.error("degraded", reason=why)
            self.tell(TroubleSeen(None, DEGRADED, why))
            return
        self.tell(TroubleGone(None, DEGRADED, "the journal takes every decision again"))
        log.warning("journal_recovered", withheld=len(self._withheld))
        owed, self._owed = self._owed, []
        for saved in owed:
            saved()
        withheld, self._withheld = self._withheld, []
        for action in withheld:
            self._dispatch(action)


def _alert_entries(decision: Decision, now: Moment) -> Iterator[Entry]:
    """A row for each alert that was raised or is over, after the row of the decision that says why."""
    for action in decision.actions:
        if not isinstance(action, Alert | Reassure):
            continue
        detail = {"kind": action.kind, "text": action.text, "alert": action.id}
        event = "alert_raised" if isinstance(action, Alert) else "alert_over"
        incarnation = decision.agent.incarnation if decision.agent else 0
        yield Entry(now.at, now.wall, action.agent, incarnation, event, detail, weight="story")


def _is_evidence(event: Event) -> bool:
    return isinstance(event, EvidenceSeen) or (isinstance(event, HookSeen) and event.kind in EVIDENCE_KINDS)
