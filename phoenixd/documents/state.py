"""state.json, the seed's structured state (version 2; version 1 is read): what an agent is doing and what is open."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from hashlib import sha256
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Status = Literal["idle", "working", "error"]
STALE_DAYS = 14
RESOLVED_DAYS = 7
UNCONFIRMED = "unconfirmed"
"""The key that marks a loop which no reading has seen for long, or no writer named; its value is that day."""


class Document(BaseModel):
    """Unknown keys are kept and written back: the file belongs to its readers too."""

    model_config = ConfigDict(frozen=True, extra="allow")


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
    """Secrets are taken out of whatever we write, whoever put them there (P79, F-ST-12)."""
    return document.model_copy(
        update={
            "current_task": clean(document.current_task) if document.current_task else None,
            "open_loops": tuple(
                loop.model_copy(update={"text": clean(loop.text), **_clean_extras(loop, clean)})
                for loop in document.open_loops
            ),
            "resolved": tuple(
                item.model_copy(update={"reason": clean(item.reason), **_clean_extras(item, clean)})
                for item in document.resolved
            ),
            "numbers": {_clean_name(name, clean): clean(value) for name, value in document.numbers.items()},
            **_clean_extras(document, clean),
        }
    )


def _clean_name(name: str, clean: Callable[[str], str]) -> str:
    """A name, or what is left of it and its digest where a secret stands in it: two names stay two."""
    cleaned = clean(name)
    return name if cleaned == name else f"{cleaned} {sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _clean_extras(part: Document, clean: Callable[[str], str]) -> dict[str, Any]:
    return {name: _cleaned(value, clean) for name, value in (part.model_extra or {}).items()}


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """The same for a value of any shape, as keys have it that this version does not know."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {name: _cleaned(item, clean) for name, item in value.items()}
    return [_cleaned(item, clean) for item in value] if isinstance(value, list) else value
