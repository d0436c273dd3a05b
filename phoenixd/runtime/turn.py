"""What one turn of the loop gathers: rows to save, agents that changed, actions to dispatch, answers to give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from phoenixd.core.actions import Action, Alert, Reassure
from phoenixd.core.agent import Agent
from phoenixd.core.behind.epochs import ORDERS
from phoenixd.core.behind.plan import first_row_after
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events import Event, is_journaled
from phoenixd.core.events.evidence import IncidentRecorded
from phoenixd.core.events.fleet import JournalBehind
from phoenixd.core.events.orders import AgentWithdrawn, StopRequested
from phoenixd.core.facts import StateOpened
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.meter.reading import UsageSample
from phoenixd.core.moment import Moment
from phoenixd.documents.redact import CleanOf
from phoenixd.ports.journal import Batch, Entry, KeptIncident, KeptTreatment
from phoenixd.runtime import cases
from phoenixd.runtime.arrivals import Waiting
from phoenixd.runtime.cleaning import kept
from phoenixd.runtime.describe import describe_actions, describe_event, describe_texts

log = structlog.get_logger()


@dataclass(slots=True)
class Turn:
    """What one turn gathered: entries to save, agents that changed, actions to dispatch, answers to give."""

    entries: list[Entry] = field(default_factory=list)
    decided: list[Entry] = field(default_factory=list)
    """Those of the entries that are decisions."""
    changed: dict[str, Agent] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    answers: list[tuple[Callable[[Refusal | None], None], Refusal | None]] = field(default_factory=list)
    receipts: list[Callable[[], None]] = field(default_factory=list)
    ends: bool = False
    """Somebody is told that a stop or a removal stands: for that the journal's reserve is there."""
    orders: bool = False
    """An operator's order, or the daemon's start, began another epoch."""
    after_row: int = 0
    """The numbers of its rows are higher than that."""
    incidents: list[KeptIncident] = field(default_factory=list)
    treatments: list[KeptTreatment] = field(default_factory=list)
    usage: list[UsageSample] = field(default_factory=list)

    @property
    def is_to_be_saved(self) -> bool:
        """Whether anything of it has to be durable."""
        rows = self.entries or self.incidents or self.treatments or self.usage
        return bool(rows or self.changed or self.removed)

    def take(self, waiting: Waiting, heard: Event, found: Step, epoch: int, now: Moment, clean: CleanOf) -> None:
        """Take in what became of an event that waited. epoch: the fleet's before it."""
        event = waiting.event
        self.orders = self.orders or (isinstance(event, ORDERS) and found.fleet.epoch != epoch)
        if isinstance(event, JournalBehind):
            self.after_row = first_row_after(found.fleet.epoch)
        if found.kept:
            self.incidents.extend(cases.incidents(found.kept, clean))
            self.treatments.extend(cases.treatments(found.kept))
            # Before what is ordered: the terminal is seen as the failure left it, and not as the next run fills it.
            self.actions.extend(cases.copies(found.kept))
        self.note(heard, found.decisions, now, clean)
        if waiting.done is not None:
            self.answers.append((waiting.done, found.refusal))
            self.ends |= isinstance(event, StopRequested | AgentWithdrawn) and found.refusal is None
        if waiting.saved is not None:
            self.receipts.append(waiting.saved)

    def note(self, event: Event, decisions: Sequence[Decision], now: Moment, clean: CleanOf) -> None:
        """Take in what was decided on an event: the rows that it is worth, and the agents as they are now."""
        if isinstance(event, IncidentRecorded) and event.record:
            incident = KeptIncident(
                event.agent, event.incarnation, event.kind, event.opened, event.record, event.case, number=event.number,
            )  # fmt: skip
            self.incidents.append(incident)
        kind, detail = "", dict[str, Any]()
        is_told = any(one.is_worth_keeping and one.weight != "noise" for one in decisions)
        is_bare = not any(one.is_worth_keeping for one in decisions) and is_journaled(event)
        if is_told or is_bare:
            # Most of a flood are mere signs of life, and no row tells of those.
            kind, detail = describe_event(event)
            detail = kept(event, detail, clean)
        if is_bare:
            name: str | None = getattr(event, "agent", None)
            self.entries.append(Entry(now.at, now.wall, name, getattr(event, "incarnation", 0), kind, detail))
        for decision in decisions:
            self.actions.extend(decision.actions)
            if decision.sample is not None:
                self.usage.append(decision.sample)
            if not decision.is_worth_keeping:
                continue
            agent = decision.agent
            if decision.weight == "noise":
                if agent is not None:
                    self.changed[agent.name] = agent
                continue
            decided = decision_entry(decision, kind, detail | describe_texts(event, decision.actions, clean), now)
            self.entries.append(decided)
            self.decided.append(decided)
            self.entries.extend(alert_entries(decision, now))
            if agent is None:
                continue
            if decision.removed:
                self.removed[agent.name] = agent.incarnation
                self.changed.pop(agent.name, None)
            else:
                self.removed.pop(agent.name, None)
                self.changed[agent.name] = agent

    def write_log(self) -> None:
        """Tell the log what was decided; to be called when it is under way, since nothing waits for the log."""
        for entry in self.decided:
            log.info("decided", agent=entry.agent, cause=entry.event, state=entry.state, reason=entry.reason)

    def batch(self, fleet: Fleet, now: Moment) -> Batch:
        """What is saved of it, with what the fleet is then."""
        return Batch(
            at=now.at,
            wall=now.wall,
            entries=tuple(self.entries),
            changed=tuple(self.changed.values()),
            removed=tuple(self.removed.items()),
            next_item=fleet.next_item,
            alerts=fleet.alerts,
            epoch=fleet.epoch,
            after_row=self.after_row,
            incidents=tuple(self.incidents),
            treatments=tuple(self.treatments),
            cases=fleet.cases,
            undoable=fleet.undoable,
            mutes=fleet.mutes,
            usage=tuple(self.usage),
            tasks=fleet.tasks,
            seats=tuple(fleet.seats.values()),
        )


def decision_entry(decision: Decision, event: str, detail: dict[str, Any], now: Moment) -> Entry:
    """The row of a decision. event, detail: what it was made on, as the journal keeps that."""
    agent = decision.agent
    return Entry(
        at=now.at,
        wall=now.wall,
        agent=agent.name if agent else None,
        incarnation=agent.incarnation if agent else 0,
        event=event,
        detail=detail,
        state=agent.state_name if agent else None,
        reason=decision.reason,
        readings=decision.readings,
        actions=describe_actions(decision.actions),
        weight=decision.weight or ("story" if agent is None else "detail"),
        facts=(*decision.facts, StateOpened(agent.since_wall)) if agent and decision.opens else decision.facts,
    )


def alert_entries(decision: Decision, now: Moment) -> Iterator[Entry]:
    """A row for each alert that was raised or is over, after the row of the decision that says why."""
    for action in decision.actions:
        if not isinstance(action, Alert | Reassure):
            continue
        detail: dict[str, Any] = {"kind": action.kind, "text": action.text, "alert": action.id}
        if action.held:
            detail["held"] = True  # A mute keeps it from people.
        event = "alert_raised" if isinstance(action, Alert) else "alert_over"
        incarnation = decision.agent.incarnation if decision.agent else 0
        yield Entry(now.at, now.wall, action.agent, incarnation, event, detail, weight="story")
