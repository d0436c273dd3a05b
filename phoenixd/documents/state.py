"""state.json, the seed's structured state (version 2; version 1 is read): what an agent is doing and what is open."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from hashlib import sha256
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from phoenixd.documents.redact import redact_json, redact_name

Status = Literal["idle", "working", "error"]
STALE_DAYS = 14
RESOLVED_DAYS = 7
UNCONFIRMED = "unconfirmed"
"""The key that marks a loop which no reading has seen for long, or no writer named; its value is that day."""


class Document(BaseModel):
    """Unknown keys are kept and written back: the file belongs to its readers too."""

    model_config = ConfigDict(frozen=True, extra="allow")


D = TypeVar("D", bound=Document)


class OpenLoop(Document):
    """Something begun and not finished. `added`: a day, ISO 8601. `stale` is computed, never believed."""

    id: str
    text: str
    added: str
    stale: bool = False


class ResolvedLoop(Document):
    """A loop that was closed, kept for some days so that it does not come back unnoticed."""

    id: str
    reason: str
    resolved_date: str


class StateDocument(Document):
    """The whole file. `last_active`: RFC 3339 in UTC; None before the first sign of life."""

    agent: str
    status: Status = "idle"
    current_task: str | None = None
    last_active: str | None = None
    open_loops: tuple[OpenLoop, ...] = ()
    resolved: tuple[ResolvedLoop, ...] = ()
    numbers: dict[str, str] = Field(default_factory=dict)

    @property
    def extras(self) -> dict[str, Any]:
        """The keys that this version does not know."""
        return dict(self.model_extra or {})

    def loop(self, loop_id: str) -> OpenLoop | None:
        return next((loop for loop in self.open_loops if loop.id == loop_id), None)


def render_state(document: StateDocument) -> bytes:
    """Write the document as people read it: the seed's keys first, unknown ones after them."""
    plain = document.model_dump(mode="json")
    # A lone surrogate of a damaged file has no bytes of its own.
    text = json.dumps(plain, indent=2, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "replace")


def flag_stale(document: StateDocument, today: date, days: int = STALE_DAYS) -> StateDocument:
    """Set `stale` on the loops that are strictly older than `days` (P28)."""
    loops = tuple(
        loop if loop.stale is old else loop.model_copy(update={"stale": old})
        for loop in document.open_loops
        for old in [today - date.fromisoformat(loop.added) > timedelta(days=days)]
    )
    return document if loops == document.open_loops else document.model_copy(update={"open_loops": loops})


def is_unconfirmed(loop: OpenLoop) -> bool:
    """Whether nothing has spoken of a loop for long; it is open all the same."""
    return bool((loop.model_extra or {}).get(UNCONFIRMED))


def age_in_days(loop: OpenLoop, today: date) -> int:
    """For how many days a loop has been open; 0 for one that begins later."""
    return max(0, (today - date.fromisoformat(loop.added)).days)


def drop_old_resolved(document: StateDocument, today: date, days: int = RESOLVED_DAYS) -> StateDocument:
    """Forget what was resolved longer ago than `days`: resolved.jsonl keeps it for good (P13)."""
    kept = tuple(
        item for item in document.resolved if today - date.fromisoformat(item.resolved_date) <= timedelta(days=days)
    )
    return document if kept == document.resolved else document.model_copy(update={"resolved": kept})


def resolve_loop(document: StateDocument, loop_id: str, reason: str, today: date) -> StateDocument | None:
    """Close an open loop; None when no loop of that id is open."""
    if document.loop(loop_id) is None:
        return None
    closed = ResolvedLoop(id=loop_id, reason=reason, resolved_date=today.isoformat())
    return document.model_copy(
        update={
            "open_loops": tuple(loop for loop in document.open_loops if loop.id != loop_id),
            "resolved": (*(item for item in document.resolved if item.id != loop_id), closed),
        }
    )


def without_secrets(document: StateDocument, clean: Callable[[str], str]) -> StateDocument:
    """The document without secrets: they are taken out of all that we write, whatever they came from (P79, F-ST-12)."""
    return _cleaned(
        document,
        clean,
        current_task=clean(document.current_task) if document.current_task else None,
        open_loops=tuple(
            _cleaned(loop, clean, id=_clean_id(loop.id, clean), text=clean(loop.text)) for loop in document.open_loops
        ),
        resolved=tuple(
            _cleaned(item, clean, id=_clean_id(item.id, clean), reason=clean(item.reason)) for item in document.resolved
        ),
        numbers={redact_name(name, clean): clean(value) for name, value in document.numbers.items()},
    )


def _clean_id(loop_id: str, clean: Callable[[str], str]) -> str:
    """An id that may be made of a loop's words, or another one where a secret stands in it."""
    if clean(loop_id) == loop_id:
        return loop_id
    return f"loop-{sha256(loop_id.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _cleaned(part: D, clean: Callable[[str], str], **changes: Any) -> D:
    """The part with these changes, and without secrets in the keys that this version does not know."""
    extras = part.model_extra or {}
    found = {redact_name(name, clean): redact_json(value, clean) for name, value in extras.items()}
    if found.keys() == extras.keys():
        return part.model_copy(update={**changes, **found})
    known = {name: getattr(part, name) for name in type(part).model_fields}
    return type(part).model_construct(**{**known, **changes, **found})
