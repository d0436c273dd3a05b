"""The newest of everything that a face shows, each with the number of its change. Plain values, no clock.

Two numbers order all that is told: `change` counts what this daemon has noticed, volatile things too, and `row` is the
newest row of the journal that was known then. Of each thing only its newest change is kept, so a follower that is slow,
or comes back, gets each thing once; what is gone is remembered for a while, and beyond that everything is told whole.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from phoenixd.api.row import AGES, VOLATILE
from phoenixd.core.selection import Subject

Json = dict[str, Any]
Kind = Literal["agent", "item", "alert"]
Event = Literal["agent", "gone", "item", "item-closed", "alert"]

MOST_GONE = 2_000
"""Things that are gone and remembered."""

ENDS: dict[Kind, Event] = {"agent": "gone", "item": "item-closed", "alert": "alert"}


@dataclass(frozen=True, slots=True)
class Change:
    """One thing as it is since this change. data: JSON, made once for all followers.

    agent: whom it concerns, None for the fleet. is_volatile: no row of the journal tells of it. subject: what selectors
    read of an agent's row.
    """

    number: int
    row: int
    event: Event
    key: str
    agent: str | None
    data: str
    body: Json = field(repr=False)
    is_volatile: bool = False
    subject: Subject | None = field(default=None, repr=False)


@dataclass(slots=True)
class Ledger:
    """`note` and `drop` what is seen; `after` tells what a follower has not been told."""

    number: int = 0
    row: int = 0
    forgotten: int = 0
    forgotten_row: int = 0
    """The newest change about something gone that is not remembered any more, and its row."""
    _changes: OrderedDict[tuple[Kind, str], Change] = field(default_factory=OrderedDict)
    """The oldest change first; of what is gone too."""
    _bodies: dict[tuple[Kind, str], Json] = field(default_factory=dict)
    """Of what is there, with the ages of the newest look."""
    _gone: OrderedDict[tuple[Kind, str], None] = field(default_factory=OrderedDict)
    _beside: dict[str, dict[tuple[Kind, str], None]] = field(default_factory=dict)
    """By agent: the items and alerts that are there."""

    def note(self, kind: Kind, key: str, agent: str | None, body: Json) -> bool:
        """Take a thing as it is now; whether anything of it but its age has changed."""
        known = self._bodies.get((kind, key))
        self._bodies[kind, key] = body
        if kind != "agent" and agent is not None:
            self._beside.setdefault(agent, {})[kind, key] = None
        if known is not None and _lasting(known) == _lasting(body):
            return False
        is_volatile = known is not None and _journaled(known) == _journaled(body)
        self._put(kind, key, kind, agent, body, is_volatile)
        return True

    def drop(self, kind: Kind, key: str, body: Json) -> None:
        """A thing is there no more. body: what is told of its end."""
        before = self._changes.get((kind, key))
        if before is None or self._bodies.pop((kind, key), None) is None:
            return
        if before.agent is not None and kind != "agent" and (beside := self._beside.get(before.agent)) is not None:
            beside.pop((kind, key), None)
            if not beside:
                del self._beside[before.agent]
        self._put(kind, key, ENDS[kind], before.agent, body, is_volatile=False)
        self._gone[kind, key] = None
        while len(self._gone) > MOST_GONE:
            oldest, _ = self._gone.popitem(last=False)
            lost = self._changes.pop(oldest)
            self.forgotten, self.forgotten_row = max(self.forgotten, lost.number), max(self.forgotten_row, lost.row)

    def retell(self, kind: Kind, key: str, more: Json) -> None:
        """More is known of the end of a thing; nothing is told of one that is there, or is not remembered."""
        if (kind, key) in self._gone:
            known = self._changes[kind, key]
            self._put(kind, key, known.event, known.agent, {**known.body, **more}, is_volatile=False)
            self._gone[kind, key] = None

    def saved(self, row: int) -> None:
        """The journal has this row."""
        self.row = max(self.row, row)

    def keys(self, kind: Kind) -> set[str]:
        """What is there of this kind."""
        return {key for known, key in self._bodies if known == kind}

    def body(self, kind: Kind, key: str) -> Json | None:
        """A thing as it was noted last; None where there is none."""
        return self._bodies.get((kind, key))

    def bodies(self, kind: Kind) -> list[Json]:
        """All that is there of this kind."""
        return [body for (known, _), body in self._bodies.items() if known == kind]

    def standing(self) -> Iterator[Change]:
        """All that is there, by kinds, agents first."""
        kinds: tuple[Kind, ...] = ("agent", "item", "alert")
        for kind in kinds:
            for (known, key), change in self._changes.items():
                if known == kind and (known, key) in self._bodies:
                    yield change

    def beside(self, agent: str, before: int) -> list[Change]:
        """The items and alerts of an agent that are there and have not changed since that change, the oldest first."""
        found = (self._changes[key] for key in self._beside.get(agent, ()))
        return sorted((change for change in found if change.number < before), key=lambda change: change.number)

    def after(self, number: int) -> list[Change]:
        """What changed after that change, the oldest first."""
        found = []
        for change in reversed(self._changes.values()):
            if change.number <= number:
                break
            found.append(change)
        found.reverse()
        return found

    def since_row(self, row: int) -> list[Change]:
        """What changed when that row, or a later one, was the newest: a follower that was told of that row may lack it.

        Frames go out in the order of their rows, so whatever changed before was told before.
        """
        return [change for change in self._changes.values() if change.row >= row]

    def _put(self, kind: Kind, key: str, event: Event, agent: str | None, body: Json, is_volatile: bool) -> None:
        self.number += 1
        data = json.dumps(body, separators=(",", ":"))
        self._changes.pop((kind, key), None)
        self._gone.pop((kind, key), None)
        subject = subject_of(body) if event == "agent" else None
        self._changes[kind, key] = Change(self.number, self.row, event, key, agent, data, body, is_volatile, subject)


def subject_of(body: Json) -> Subject:
    """What selectors read of a row."""
    words = tuple(dict.fromkeys(word for word in (body["state"], body["activity"], body["group"]) if word))
    return Subject(
        body["name"],
        body["kind"],
        body["harness"],
        words,
        body["group"] == "needs_you",
        body["project"],
        tuple(body["labels"]),
    )


def _lasting(body: Json) -> Json:
    """A body without what grows old by itself."""
    told = {key: value for key, value in body.items() if key not in AGES}
    for key, ages in (("brief", ("age", "next_at")), ("attached", ("at",))):
        part = told.get(key)
        if isinstance(part, dict):
            told[key] = {name: value for name, value in part.items() if name not in ages}
    return told


def _journaled(body: Json) -> Json:
    return {key: value for key, value in _lasting(body).items() if key not in VOLATILE}
