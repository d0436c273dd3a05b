"""What the person at the screen has set: cursor, marks, filter, page, question. Pure values beside the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from phoenixd.api.pages.layout import reaching
from phoenixd.core.selection import Selector, parse
from phoenixd.top.groups import Place, places
from phoenixd.top.model import Model
from phoenixd.top.words import Clock

Purpose = Literal["filter", "deny", "reply", "send", "mute", "confirm"]
SETTLED = 0.5
"""Seconds for which what is answered has to stand unchanged on the screen before a key answers it."""

MOST_PANEL = 18
"""Lines of the panel below the list, on a high screen."""


@dataclass(frozen=True, slots=True)
class Order:
    """An order to the daemon. operation: its name in the table; verb: what it is called to people."""

    operation: str
    given: Mapping[str, Any]
    verb: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A line that a person types into. ask: what is asked; order: what is done with the words, or once agreed."""

    purpose: Purpose
    ask: str
    words: str = ""
    order: Order | None = None
    said: tuple[str, ...] = ()
    """Answers that were given before this one."""
    item: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """A page above the list. lines: its text; None for one that is drawn from the model: the item, or the keys."""

    kind: Literal["item", "keys", "log", "lives", "explain", "screen", "closed", "results"]
    title: str
    name: str = ""
    lines: tuple[str, ...] | None = None
    top: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """What is asked stands whole before the person since then. to: lines of a page that were on the screen in turn."""

    item: int
    text_hash: str
    since: float
    to: int = 0
    is_whole: bool = True
    of: int = 0
    """Lines that it had then: at another width it has others, and is read anew."""


@dataclass(frozen=True, slots=True)
class Face:
    """All that the person has set, and what was last told to them."""

    cursor: tuple[str, str] | None = None
    """Kind and key of a place; None for the first one."""
    top: int = 0
    marks: frozenset[str] = frozenset()
    filter: str = ""
    folds: Mapping[str, bool] = field(default_factory=dict)
    page: Page | None = None
    prompt: Prompt | None = None
    message: str = ""
    seen: Seen | None = None
    since: Mapping[str, Any] | None = None
    """What happened since the person looked: the daemon's digest."""
    socket: str = ""
    """What --socket named, which the commands that the person is told name again."""

    @property
    def selector(self) -> Selector:
        found = parse(self.filter)
        return found if isinstance(found, Selector) else Selector("")

    def says(self, message: str) -> Face:
        return replace(self, message=message)

    def reaching(self, words: str) -> str:
        """Words of ours, whose commands reach the daemon that is shown."""
        return reaching(words, self.socket)


@dataclass(frozen=True)
class World:
    """All that a key or a look at the screen goes by; what is derived of it is derived once."""

    model: Model
    face: Face
    clock: Clock
    width: int = 80
    height: int = 24
    host: str = ""
    asked_at: float | None = None
    """Since when the first answer is awaited, as the clock's `at`; None where nobody asked."""

    @property
    def list_room(self) -> int:
        """Lines of the list: what the head, the panel below and the foot leave."""
        return self.height - self.head_room - self.panel_room - self.foot_room

    @property
    def head_room(self) -> int:
        return 1 if self.height < 8 else 2

    @property
    def foot_room(self) -> int:
        return 1 if self.height < 16 else 2

    @property
    def panel_room(self) -> int:
        """Lines of the panel about the row at the cursor, with the rule above it."""
        return 0 if self.height < 12 else 4 if self.height < 20 else min(MOST_PANEL, (self.height - 4) * 2 // 5)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        kind, key = self.face.cursor or ("", "")
        held = key if kind == "agent" else ""
        return places(self.model, self.face.selector, self.face.folds, self.list_room, held)

    def at(self, found: tuple[Place, ...]) -> int:
        """Where the cursor stands in the list; the first agent where it stands nowhere."""
        keys = [(place.kind, place.key) for place in found]
        if self.face.cursor in keys:
            return keys.index(self.face.cursor)
        if self.face.cursor is not None and self.face.cursor[0] == "agent":
            row = self.model.row(self.face.cursor[1])
            folded = [number for number, place in enumerate(found) if row and place.key == row.get("group")]
            if folded:
                return folded[0]
        return next((number for number, place in enumerate(found) if place.kind not in ("group", "more")), 0)

    @cached_property
    def here(self) -> Place | None:
        """The place at the cursor."""
        found = self.places
        return found[self.at(found)] if found else None

    def is_folded(self, group: str) -> bool:
        """Whether not all of a group is listed."""
        return any(place.is_folded or place.kind == "more" for place in self.places if place.group == group)

    @property
    def name(self) -> str | None:
        """The agent at the cursor."""
        here = self.here
        return here.key if here is not None and here.kind == "agent" else None
