"""memory/session_seed_<agent>.json: what a new session is given when the old one was lost (R30, R31)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from phoenixd.documents.resonance.reading import read_object, text_of, texts_of, written
from phoenixd.documents.times import read_time, timestamp
from phoenixd.planting import Marker, Planting, marker_lines, parse

RECENT = 3
LONGEST_MESSAGE = 2000
SHORT, SHORT_ENTRY = 2000, 400
"""Characters of a seed, and of each entry of it, that go into an answer at a turn's end beside marker and codes."""
_KNOWN = (
    "persona",
    "active_tasks",
    "settled_decisions",
    "recent_exchange",
    "resonance_marker",
    "last_checkpoint",
)


@dataclass(frozen=True, slots=True)
class SessionSeed:
    """Who the agent is, what it is at, what is settled, and the newest of what was said."""

    persona: str
    active_tasks: tuple[str, ...] = ()
    settled_decisions: tuple[str, ...] = ()
    recent_exchange: tuple[str, ...] = ()
    marker: Marker | None = None
    last_checkpoint: float | None = None
    others: Mapping[str, Any] = field(default_factory=dict)

    def heard(self, *messages: str) -> SessionSeed:
        """The same with newer messages; the last three are kept, the end of a long one is cut."""
        clipped = tuple(
            one if len(one) <= LONGEST_MESSAGE else f"{one[: LONGEST_MESSAGE - 1]}…" for one in messages if one
        )
        return replace(self, recent_exchange=(*self.recent_exchange, *clipped)[-RECENT:])


def key(agent: str) -> str:
    return f"session_seed_{agent}"


def parse_seed(text: str) -> SessionSeed | None:
    """The seed of a paper; None where it is torn or names no persona."""
    table = read_object(text)
    persona = text_of(table, "persona", "role") if table is not None else ""
    if table is None or not persona.strip():
        return None
    return SessionSeed(
        persona=persona,
        active_tasks=texts_of(table, "active_tasks", "tasks"),
        settled_decisions=texts_of(table, "settled_decisions", "decisions"),
        recent_exchange=texts_of(table, "recent_exchange")[-RECENT:],
        marker=parse(text_of(table, "resonance_marker", "marker")),
        last_checkpoint=read_time(table.get("last_checkpoint")),
        others={name: value for name, value in table.items() if name not in _KNOWN},
    )


def render_seed(seed: SessionSeed) -> str:
    return written(
        {
            "persona": seed.persona,
            "active_tasks": list(seed.active_tasks),
            "settled_decisions": list(seed.settled_decisions),
            "recent_exchange": list(seed.recent_exchange),
            "resonance_marker": None if seed.marker is None else str(seed.marker),
            "last_checkpoint": None if seed.last_checkpoint is None else timestamp(seed.last_checkpoint),
            **seed.others,
        }
    )


def seed_text(seed: SessionSeed, planting: Planting) -> str:
    """The seed as an agent reads it, with its marker (R9, R10, R39)."""
    return "\n".join([*_blocks(seed), *marker_lines(planting)])


def short_seed(seed: SessionSeed, limit: int = SHORT) -> str:
    """The seed without a marker, in `limit` characters: what was said longest ago goes first, then the last decisions.

    Each entry is cut to SHORT_ENTRY characters.
    """
    short = replace(
        seed,
        persona=seed.persona[:SHORT_ENTRY],
        active_tasks=_cut(seed.active_tasks),
        settled_decisions=_cut(seed.settled_decisions),
        recent_exchange=_cut(seed.recent_exchange),
    )
    while len(text := "\n".join(_blocks(short))) > limit:
        if short.recent_exchange:
            short = replace(short, recent_exchange=short.recent_exchange[1:])
        elif short.settled_decisions:
            short = replace(short, settled_decisions=short.settled_decisions[:-1])
        elif short.active_tasks:
            short = replace(short, active_tasks=short.active_tasks[:-1])
        else:
            return text[:limit]
    return text


def _blocks(seed: SessionSeed) -> list[str]:
    blocks = ["[CONTEXT SEED]", f"Role: {seed.persona}"]
    blocks += [f"Active task: {task}" for task in seed.active_tasks]
    blocks += [f"Constraint: {decision}" for decision in seed.settled_decisions]
    if seed.recent_exchange:
        blocks += ["Recent exchange:", *(f"- {message}" for message in seed.recent_exchange)]
    return blocks


def _cut(entries: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one if len(one) <= SHORT_ENTRY else f"{one[: SHORT_ENTRY - 1]}…" for one in entries)
