"""Secrets are taken out of what agents and programs say before anything is decided, and so before it is kept."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from phoenixd.core.events import Event
from phoenixd.core.events.aftermath import CleanedUp
from phoenixd.core.events.clinic import CaseExamined
from phoenixd.core.events.evidence import AnswerCut, ScreenSeen, UsageSeen
from phoenixd.core.events.fleet import Rebooted, TroubleSeen
from phoenixd.core.events.handoffs import AckFileSeen, AddendumWritten, PackageFailed, PapersFailed, PapersUpdated
from phoenixd.core.events.orders import AnswerRequested, BreakerCorrupt, HandoffRequested, SendRequested
from phoenixd.core.events.resonance import CheckRequested, FooterSeen, PlantingFailed, SeedRead
from phoenixd.core.events.runs import (
    AgentExited,
    Delivered,
    HoldAnswered,
    HooksRefused,
    LinkLost,
    NotDelivered,
    StartFailed,
    TreeGone,
)
from phoenixd.core.events.tasks import TaskRequested
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.hooks import HOOKS, OtherHook, PermissionAsked
from phoenixd.documents.redact import CleanOf

SAID = ("text", "error", "tool", "source", "notification", "jobs", "command", "word", "model", "tool_use_id")
"""The fields of hooks that hold an agent's words."""

MEANT = ("session_id", "cwd")
"""Fields that name a thing, which no other name can name: with a secret in it, it is as if it were not said."""

WORDS: dict[type[Any], tuple[str, ...]] = {
    **{
        kind: tuple(one.name for one in fields(kind) if one.name in (*SAID, *MEANT))
        for kind in (*HOOKS.values(), OtherHook)
    },
    Delivered: ("queued",),
    NotDelivered: ("reason",),
    StartFailed: ("message",),
    AgentExited: ("killed", "note", "shown"),
    TreeGone: ("killed",),
    CleanedUp: ("killed", "foreign"),
    ScreenSeen: ("verdict",),
    UsageSeen: ("model", "problem"),
    AnswerCut: ("calls",),
    FooterSeen: ("role",),
    SeedRead: ("words",),
    HoldAnswered: ("why",),
    BreakerCorrupt: ("why",),
    CheckRequested: ("why",),
    HandoffRequested: ("why",),
    PlantingFailed: ("why",),
    PapersUpdated: ("note",),
    PapersFailed: ("why",),
    PackageFailed: ("why",),
    AddendumWritten: ("why",),
    AckFileSeen: ("run", "session", "generation"),
    WorkMeasured: ("note",),
    LinkLost: ("reason",),
    HooksRefused: ("why",),
    TroubleSeen: ("text",),
    CaseExamined: ("problem",),
}
"""The fields that hold words of others. Not among them: what an operator sends or answers, which has to arrive as it
is."""

WITHIN: dict[type[Any], str] = {AgentExited: "failed", TreeGone: "ended", Rebooted: "ended"}
"""The field that holds another event, or several: each is cleaned as if it came by itself."""

MAX_FIELD = 2000
"""Characters of one text field that the journal keeps; the full prompt stands in the transcript, not here."""

ORDERED: dict[type[Any], tuple[str, ...]] = {
    SendRequested: ("text",),
    AnswerRequested: ("reason", "words"),
    TaskRequested: ("prompt",),
}
"""The fields that hold an operator's words: carried out as they are, and kept without secrets."""


def cleaned(event: Event, clean: CleanOf) -> Event:
    """The event without secrets; the same one where there were none. An answer arrives as it is, marked."""
    if isinstance(event, AnswerRequested):
        # A secret may begin in one word and end in the next one.
        said = (event.reason, *event.words, " ".join(event.words))
        return replace(event, secret=True) if _cleaned(said, event.agent, clean) != said else event
    names, within = WORDS.get(type(event), ()), WITHIN.get(type(event))
    agent: str | None = getattr(event, "agent", None)
    changed: dict[str, Any] = {}
    if within is not None and (held := getattr(event, within)):
        inner = tuple(cleaned(one, clean) for one in held) if isinstance(held, tuple) else cleaned(held, clean)
        if inner != held:
            changed[within] = inner
    for name in names:
        value = getattr(event, name)
        found = _cleaned(value, agent, clean)
        if found != value:
            changed[name] = None if name in MEANT else found
    if changed and isinstance(event, PermissionAsked) and event.held:
        changed["veiled"] = True
    return replace(event, **changed) if changed else event


def kept(event: Event, detail: dict[str, Any], clean: CleanOf) -> dict[str, Any]:
    """What the journal keeps of an event, without the secrets of an operator's words."""
    agent: str | None = getattr(event, "agent", None)
    # Whole, and cut afterwards: half of a secret is not known for one.
    changed = {name: getattr(event, name) for name in ORDERED.get(type(event), ()) if name in detail}
    return detail | {
        name: clean(agent, value)[:MAX_FIELD] if isinstance(value, str) else _words(agent, value, clean)
        for name, value in changed.items()
    }


def _words(agent: str | None, words: tuple[str, ...], clean: CleanOf) -> list[str]:
    alone = [clean(agent, word) for word in words]
    together = clean(agent, " ".join(alone))
    return alone if together == " ".join(alone) else [together]


def _cleaned(value: str | tuple[str, ...] | None, agent: str | None, clean: CleanOf) -> str | tuple[str, ...] | None:
    if not value:
        return value
    return clean(agent, value) if isinstance(value, str) else tuple(clean(agent, word) for word in value)
