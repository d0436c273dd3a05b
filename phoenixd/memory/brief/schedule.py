"""Briefs written when they are due, one after the other (P20, P24, P40)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import anyio
import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Stopped
from phoenixd.core.briefing import LAG, PLAIN, Calendar, Cause, Due, held_back, next_run, writer_name
from phoenixd.core.events import Event
from phoenixd.core.rules import WriterKind
from phoenixd.documents.brief.record import BriefRecord
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.memory.brief.ledgers import LedgerLook, no_ledger
from phoenixd.memory.brief.run import BriefRuns, ConversationLook, seen_of
from phoenixd.memory.brief.writer_trouble import trouble
from phoenixd.memory.brief.writing import Outcome
from phoenixd.memory.bulkhead import bulkhead
from phoenixd.memory.publication import Publication
from phoenixd.ports import Clock
from phoenixd.ports.journal import Entry
from phoenixd.ports.papers import BriefWriter

RECHECK = 300.0
"""Seconds after which every plan is made anew: the calendar can move under us, by a set clock or a suspended host."""

RETRY = 600.0
"""Seconds until a run whose files could not be written is tried again."""

SETTLE_LIMIT = 3.0
"""Seconds that a start waits for the loops of the run before, and a handoff for its predecessor's brief."""

MOST_LEFT = 3
"""Sessions of an agent that wait to be read for the last time."""

log = structlog.get_logger("phoenixd.briefs")


class Briefing:
    """Knows of every agent when its brief is due; one run at a time, so that a hundred agents are no stampede."""

    def __init__(
        self,
        publication: Publication,
        clock: Clock,
        calendar: Callable[[], Calendar],
        conversation: ConversationLook,
        writers: Mapping[WriterKind, BriefWriter] | None = None,
        tell: Callable[[Event], None] = lambda event: None,
        ledger: LedgerLook = no_ledger,
    ) -> None:
        self._clock = clock
        self._calendar = calendar
        self._runs = BriefRuns(
            publication,
            clock,
            conversation,
            writers or {},
            lambda agent: self._agents.get(agent.name, agent),
            self._held,
            ledger,
        )
        self._tell_event = tell
        self._agents: dict[str, Agent] = {}
        self._turned: dict[str, float] = {}
        """When the newest turn ended, of agents whose last words no run has read (wall)."""
        self._settled: dict[str, int] = {}
        """The run before which the loops of the one before it were settled, by incarnation."""
        self._left: dict[str, list[Agent]] = {}
        """Agents as they were before they went on in another session; their last words there are to be read."""
        self._over: dict[str, float] = {}
        """When it was noticed that an open loop tells of something that is asked no more (wall)."""
        self._left_over: dict[str, frozenset[str]] = {}
        """Such loops that a run has read since, and left open."""
        self._not_before: dict[str, float] = {}
        self._holders: dict[str, str] = {}
        """Who was heard of last, by seat."""
        self._plans: dict[str, Due] = {}
        """Each agent's next run, as it was when something of the agent changed last."""
        self._unplanned: set[str] = set()
        self._all_planned = -math.inf
        """When all plans were made anew (wall)."""
        self._one, self._slow = anyio.Lock(), anyio.Lock()
        """One run of each sort at a time: what waits for an agent's own CLI stands in no other brief's way."""
        self._lanes: dict[str, anyio.Lock] = {}
        """One run of an agent at a time."""
        self._aside: set[str] = set()
        """Agents whose own CLI writes just now."""
        self._changed = anyio.Event()

    def hear(self, agent: Agent, entries: Sequence[Entry] = ()) -> None:
        """Note what happened to an agent; never waits."""
        if agent.removing:
            self.leave(agent.name)
            return
        self._note(agent)
        ends = [entry.wall for entry in entries if entry.event == "hook_seen" and entry.detail.get("kind") == "stop"]
        if ends:
            self._turned[agent.name] = ends[-1]
        self.replan(agent)

    def leave(self, name: str) -> None:
        """Write no brief of an agent any more: it is removed, or the papers are its successor's."""
        for known in (
            self._agents, self._plans, self._settled, self._left, self._turned, self._not_before,
            self._over, self._left_over,
        ):  # fmt: skip
            known.pop(name, None)
        if name in self._lanes and not self._lanes[name].locked():
            del self._lanes[name]

    async def hear_on(self, agent: Agent, *, keep: bool = True) -> SessionLedger | None:
        """Have what an agent's session wrote since the last time heard, for the page that its next one is told."""
        return await self._runs.hear_on(agent, keep=keep)

    def replan(self, agent: Agent) -> None:
        """Look again when an agent's brief is due, because its documents changed; never waits."""
        self._unplanned.add(agent.name)
        self._changed.set()

    async def generate(self, agent: Agent) -> None:
        """Write an agent's brief now, for an operator; raises PhoenixdError and OSError."""
        self._note(agent)
        await self._write(agent, Due(self._now(), Cause.OPERATOR, "an operator asked for it"))

    def turn_due(self, name: str) -> float:
        """When a turn is read that ended since the newest reading (wall); 0 where none did."""
        turned = self._turned.get(name, 0.0)
        if not turned:
            return 0.0
        return self._not_sooner(name) if name in self._plans else turned + LAG

    async def settle(self, agent: Agent) -> None:
        """Settle the loops that a run left which is over, before the next one is told of them; waits a little for it.

        Once for each run. No model is asked, and where it takes too long the next brief run settles them.
        """
        before = self._agents.get(agent.name, agent)
        if agent.last_exit is None or before.session is None or self._settled.get(agent.name) == agent.incarnation:
            return
        self._settled[agent.name] = agent.incarnation
        with bulkhead(agent.name, "its loops before a start"), anyio.move_on_after(SETTLE_LIMIT):
            await self._runs.write(_left(before, agent), Due(self._now(), Cause.DEATH, "the run before is over"))

    async def hand_over(self, agent: Agent) -> None:
        """Write the brief of a predecessor whose session was heard to its end; waits a little for it (P20).

        Its successor is told what stands then. Where it fails, the handoff goes on.
        """
        with bulkhead(agent.name, "its brief before a handoff"), anyio.move_on_after(SETTLE_LIMIT):
            await self._runs.write(agent, Due(self._now(), Cause.HANDOFF, "its seat is handed over"))
        self.replan(agent)

    def next_of(self, name: str) -> Due | None:
        """The next run of an agent, or of the holder of a seat, by this name; None where nothing is planned (P40)."""
        return self._plans.get(self._holders.get(name, name))

    async def run(self) -> None:
        """Write what is due, for ever."""
        async with anyio.create_task_group() as tasks:
            while True:
                self._changed = anyio.Event()
                name, due = await self._next()
                if due is None or due.at > self._now():
                    await self._sleep(name, due)
                    continue
                self._not_before[name] = self._now() + RETRY  # Unless it goes well.
                if _is_slow(self._agents[name], due):
                    self._aside.add(name)
                    tasks.start_soon(self._write_aside, name, due)
                    continue
                with bulkhead(name, "its brief"):
                    await self._write(self._agents[name], due)

    async def _write_aside(self, name: str, due: Due) -> None:
        try:
            with bulkhead(name, "its brief"):
                await self._write(self._agents[name], due)
        finally:
            self._aside.discard(name)
            self._unplanned.add(name)
            self._changed.set()

    async def _next(self) -> tuple[str, Due | None]:
        """The run that is due first, of all agents."""
        checked: set[str] = set()
        while True:
            await self._plan()
            name = min(self._plans.keys() - self._aside, key=self._not_sooner, default="")
            if not name:
                return name, None
            due = replace(self._plans[name], at=self._not_sooner(name))
            if due.at > self._now() or name in checked:
                return name, due
            # Why it is due may be another reason by now.
            checked.add(name)
            self._unplanned.add(name)

    def _not_sooner(self, name: str) -> float:
        return max(self._plans[name].at, self._not_before.get(name, 0.0))

    async def _plan(self) -> set[str]:
        """Plan the agents that changed, and now and then all; returns which."""
        planned = set[str]()
        if not self._all_planned <= self._now() < self._all_planned + RECHECK:
            self._all_planned = self._now()
            self._unplanned.update(self._agents)
        while self._unplanned:
            name = self._unplanned.pop()
            planned.add(name)
            self._plans.pop(name, None)
            agent = self._agents.get(name)
            if agent is None:
                continue
            with bulkhead(name, "the plan of its brief"):
                _, due = await self._look(agent)
                if due is not None and name in self._agents:
                    self._plans[name] = due
        return planned

    async def _sleep(self, name: str, due: Due | None) -> None:
        """Wait for the next run, which is of this agent, or for news by which another one may be sooner."""
        while await self._hear_news(due):
            planned = await self._plan()
            sooner = (self._not_sooner(one) < due.at for one in planned & self._plans.keys()) if due is not None else ()
            if due is None or name in planned or any(sooner):
                return

    async def _hear_news(self, due: Due | None) -> bool:
        """Wait for news, until the next run is due; whether something changed."""
        left = min(RECHECK, due.at - self._now()) if due is not None else RECHECK

        async def wake(event: anyio.Event) -> None:
            await event.wait()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wake, self._changed)
            await self._clock.sleep_until(self._clock.now().at + max(0.0, left))
            tasks.cancel_scope.cancel()
        if not self._changed.is_set():
            return False
        self._changed = anyio.Event()
        return True

    async def _look(self, agent: Agent) -> tuple[BriefRecord, Due | None]:
        """What is on record of an agent's runs, and its next one."""
        state, record = await self._runs.look(agent)
        now = self._now()
        if self._left.get(agent.name):
            return record, Due(now, Cause.LEFT, "its session was left for another")
        if self._runs.over(agent, state, record) - self._left_over.get(agent.name, frozenset()):
            self._over.setdefault(agent.name, now)
        else:
            self._over.pop(agent.name, None)
        seen = replace(
            seen_of(agent, state, self._turned.get(agent.name, 0.0)),
            held=self._held(agent),
            over=self._over.get(agent.name, 0.0),
        )
        return record, next_run(record.ledger, agent.spec.brief, self._calendar(), seen, now)

    def _held(self, agent: Agent) -> str:
        """Why the agent's own CLI may not be asked now; looked for only where it would be."""
        if agent.spec.brief.writer is not WriterKind.AUTO:
            return ""
        return held_back(agent, self._agents.values())

    def _note(self, agent: Agent) -> None:
        before = self._agents.get(agent.name)
        self._agents[agent.name] = agent
        if agent.spec.seat:
            self._holders[agent.spec.seat] = agent.name
        if before is None or before.session is None or agent.session is None or not agent.spec.brief.on_change:
            return
        if before.session.session_id != agent.session.session_id:
            self._left[agent.name] = [*self._left.get(agent.name, ()), before][-MOST_LEFT:]

    async def _write(self, agent: Agent, due: Due) -> None:
        lane = self._lanes.setdefault(agent.name, anyio.Lock())
        async with lane, self._slow if _is_slow(agent, due) else self._one:
            try:
                outcome = await self._run(agent, due)
            finally:
                # Also where it failed: the ledger may count it all the same.
                self.replan(agent)
            if outcome is not None:
                await self._tell(agent, due, outcome)

    async def _run(self, agent: Agent, due: Due) -> Outcome | None:
        if due.cause is Cause.LEFT:
            outcome = await self._runs.write(self._left[agent.name].pop(0), due)
            self._not_before.pop(agent.name, None)
            return outcome
        began = self._now()
        outcome = await self._runs.write(agent, due)
        turned = self._turned.get(agent.name, 0.0)
        if not turned <= began < turned + LAG:
            self._turned.pop(agent.name, None)
        noticed = self._over.get(agent.name, began)
        if not noticed <= began < noticed + LAG:
            self._left_over[agent.name] = self._runs.over(agent, *await self._runs.look(agent))
        self._not_before.pop(agent.name, None)
        return outcome

    async def _tell(self, agent: Agent, due: Due, outcome: Outcome) -> None:
        accepted = outcome.accepted
        log.info(
            "brief_written",
            agent=agent.name,
            cause=due.cause.value,
            reason=due.reason,
            writer=writer_name(outcome.writer),
            note=outcome.note,
            loops=len(accepted.state.open_loops),
            refused=len(accepted.refused),
            unconfirmed=len(accepted.dropped),
            tokens=outcome.tokens,
        )
        for line in accepted.refused:
            log.warning("brief_claim_refused", agent=agent.name, claim=line)
        _, record = await self._runs.look(agent)
        event = trouble(self._agents.get(agent.name, agent), outcome, record, self._now())
        if event is not None:
            self._tell_event(event)

    def _now(self) -> float:
        return self._clock.now().wall


def _left(before: Agent, agent: Agent) -> Agent:
    """The agent as its dead run left it. before: as it was told of last, perhaps while that run was alive still."""
    if before.run is not None and before.run.incarnation == agent.incarnation:
        # A daemon that begins is told of the run itself first, which may go on since long.
        return before
    known = {item.id for item in before.items}
    items = (*before.items, *(item for item in agent.items if item.id not in known))
    return replace(before, state=Stopped(), items=items, lost=agent.lost)


def _is_slow(agent: Agent, due: Due) -> bool:
    """Whether the agent's own CLI may write, for minutes."""
    return agent.spec.brief.writer is WriterKind.AUTO and due.cause not in PLAIN
