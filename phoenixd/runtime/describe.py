"""Events and actions as the journal keeps them: a name, and plain fields cut to a bound."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from phoenixd.core.actions import Action, Deliver
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import AlertsTold, JournalBehind, LimitsDeclared, Rebooted, WaysBegun
from phoenixd.core.events.handoffs import HandoffAcked, PackageWritten
from phoenixd.core.events.orders import AgentDeclared, SendRequested
from phoenixd.core.events.resonance import AnchorSeen, CodesPlanted, CodesSeen, FooterSeen
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.events.tasks import TaskCollected, TaskRequested
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.hooks import Hook, TurnFailed
from phoenixd.documents.hooks import MEANINGS
from phoenixd.documents.journal_names import action_name, event_name
from phoenixd.documents.redact import CleanOf
from phoenixd.runtime.cleaning import MAX_FIELD

NOT_TOLD = MEANINGS | {"agent", "incarnation", "survey", "cwd", "opened", "record", "link", "opinion", "kept"}
"""Fields that stand elsewhere, or that only the next decision needs."""
OF_HANDOFFS = frozenset({"word", "facts", "opening"})
"""Fields of events about handoffs that only a successor may know, from its package."""
OF_CODES = frozenset({"planting", "codes", "marker"})
"""Fields that hold an agent's codes: no reader of the journal, such as the agent, may find them there."""


def describe_event(event: Event) -> tuple[str, dict[str, Any]]:
    """Return the event's stored name, and its fields without the agent's name and without empty ones."""
    if isinstance(event, AgentDeclared):
        return event_name(event), {"harness": event.spec.harness, "kind": event.spec.kind.value, "start": event.start}
    if isinstance(event, TaskRequested):
        names = ("asked_by", "by", "project", "plan", "phase", "after", "writes")
        asked = {name: getattr(event, name) for name in names}
        return event_name(event), {**asked, "harness": event.spec.harness, "prompt": event.prompt[:MAX_FIELD]}
    if isinstance(event, TaskCollected):
        outcome = {one.name: getattr(event.outcome, one.name) for one in fields(event.outcome)}
        return event_name(event), {"task": event.task, "run": event.run, **outcome}
    if isinstance(event, LimitsDeclared):
        return event_name(event), {"max_starting": event.limits.max_starting}
    if isinstance(event, Rebooted):
        return event_name(event), {
            "boot_id": event.boot_id,
            "ended": [f"{end.agent} #{end.incarnation}" for end in event.ended],
        }
    if isinstance(event, AlertsTold):
        return event_name(event), {"way": event.way}
    if isinstance(event, WaysBegun):
        return event_name(event), {"new": list(event.new)}
    if isinstance(event, JournalBehind):
        return event_name(event), {"why": event.why, "journal": event.world.journal, "world": event.world.newest}
    detail: dict[str, Any] = {"kind": event.kind} if isinstance(event, Hook) else {}
    for one in fields(event):
        value = getattr(event, one.name)
        if one.name in OF_HANDOFFS and isinstance(event, PackageWritten | HandoffAcked):
            continue
        if one.name in OF_CODES and isinstance(event, AnchorSeen | CodesPlanted | CodesSeen | FooterSeen):
            continue
        if one.name in NOT_TOLD or value in (None, "", False, ()):
            continue
        if isinstance(event, WorkMeasured) and one.name == "deeds":
            value = tuple(f"{deed.kind}{' of notes' if deed.notes else ''} in {deed.where}" for deed in event.deeds)
        if isinstance(value, AgentExited | TurnFailed):
            value = describe_event(value)[1]
        detail[one.name] = (
            value[:MAX_FIELD] if isinstance(value, str) else list(value) if isinstance(value, tuple) else value
        )
    return event_name(event), detail


def describe_texts(event: Event, actions: Iterable[Action], clean: CleanOf) -> dict[str, Any]:
    """Return the texts that the actions type, as `typing`, where the event does not hold them.

    The next daemon has to know them: one may stand in an input line when this one is killed.
    """
    typed = [
        {"message_id": action.message_id, "text": clean(action.agent, action.text)[:MAX_FIELD]}
        for action in actions
        if isinstance(action, Deliver) and action.text and not isinstance(event, SendRequested)
    ]
    return {"typing": typed} if typed else {}


def describe_actions(actions: Iterable[Action]) -> tuple[str, ...]:
    """Return each action as its name and incarnation: `spawn #3`."""
    described = []
    for action in actions:
        incarnation = getattr(action, "incarnation", None)
        described.append(action_name(action) + (f" #{incarnation}" if incarnation is not None else ""))
    return tuple(described)
