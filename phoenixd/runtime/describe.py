"""Events and actions as the journal keeps them: a name, and plain fields cut to a bound."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from phoenixd.core.actions import Action
from phoenixd.core.events import (
    AgentDeclared,
    AgentExited,
    Event,
    JournalBehind,
    LimitsDeclared,
    Rebooted,
    WorkMeasured,
)
from phoenixd.core.hooks import Hook
from phoenixd.documents.hooks import MEANINGS

NOT_TOLD = frozenset({"agent", "incarnation", "survey", "cwd"}) | MEANINGS
"""Fields that stand elsewhere, or that only the next decision needs."""
HOOK_SEEN = "hook_seen"
"""The name of every hook's row, whose `kind` says which hook."""
MAX_FIELD = 2000
"""Characters of one text field that the journal keeps; the full prompt stands in the transcript, not here."""


def describe_event(event: Event) -> tuple[str, dict[str, Any]]:
    """Return the event's name in snake case, and its fields without the agent's name and without empty ones."""
    if isinstance(event, AgentDeclared):
        return "agent_declared", {"harness": event.spec.harness, "kind": event.spec.kind.value, "start": event.start}
    if isinstance(event, LimitsDeclared):
        return "limits_declared", {"max_starting": event.limits.max_starting}
    if isinstance(event, Rebooted):
        return "rebooted", {
            "boot_id": event.boot_id,
            "ended": [f"{end.agent} #{end.incarnation}" for end in event.ended],
        }
    if isinstance(event, JournalBehind):
        return "journal_behind", {"why": event.why, "journal": event.world.journal, "world": event.world.newest}
    detail: dict[str, Any] = {"kind": event.kind} if isinstance(event, Hook) else {}
    for one in fields(event):
        value = getattr(event, one.name)
        if one.name in NOT_TOLD or value in (None, "", False, ()):
            continue
        if isinstance(event, WorkMeasured) and one.name == "deeds":
            value = tuple(f"{deed.kind}{' of notes' if deed.notes else ''} in {deed.where}" for deed in event.deeds)
        if isinstance(value, AgentExited):
            value = describe_event(value)[1]
        detail[one.name] = (
            value[:MAX_FIELD] if isinstance(value, str) else list(value) if isinstance(value, tuple) else value
        )
    return HOOK_SEEN if isinstance(event, Hook) else _snake(type(event).__name__), detail


def describe_actions(actions: Iterable[Action]) -> tuple[str, ...]:
    """Return each action as its name and incarnation: `spawn #3`."""
    described = []
    for action in actions:
        incarnation = getattr(action, "incarnation", None)
        described.append(_snake(type(action).__name__) + (f" #{incarnation}" if incarnation is not None else ""))
    return tuple(described)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
