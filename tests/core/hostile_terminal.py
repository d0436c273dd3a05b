"""A terminal in virtual time that is out for a false Enter: dialogs, a person, lost keys, frames of before, odd hooks.

A dialog opens at any instant, and either the screen shows it at once, or a hook tells of it at once: nobody can know of
one that does neither. A person stays attached for a while after the newest key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Literal

from hypothesis import strategies as st

from phoenixd.core.moment import Moment
from phoenixd.core.typing.delivery import Delivery, Entered
from phoenixd.core.typing.machine import hear
from phoenixd.core.typing.orders import ClearLine, Discard, Done, Look, Order, Paste, PressEnter
from phoenixd.core.typing.seen import (
    Begun,
    Discarded,
    Pasted,
    PermissionAsked,
    Pressed,
    PromptSubmitted,
    Screen,
    Seen,
    Sight,
    Told,
)

EPOCH = 1_000_000.4
STAYS = 1.5
"""Seconds that a person stays attached after a key."""
MOST_STEPS = 1000
Kind = Literal[
    "dialog shown", "dialog told", "types", "wipes", "submits", "foreign hook", "hook without a name", "ends"
]
KINDS: tuple[Kind, ...] = (
    "dialog shown", "dialog told", "moves", "types", "wipes", "submits", "foreign hook", "hook again", "ends",
)  # fmt: skip


@dataclass(frozen=True)
class Fate:
    """What goes wrong. events: when, and what. swallowed: of each Enter, whether it is lost. hooks: of each prompt, how
    much later which hook comes; none: it is lost. lag: by how much the screen is late. slow: how long each look takes.
    """

    events: tuple[tuple[float, Kind], ...] = ()
    swallowed: tuple[bool, ...] = ()
    hooks: tuple[float, ...] = (0.05,)
    lag: float = 0.0
    slow: tuple[float, ...] = (0.0,)
    placeholder: bool = False
    loses_paste: bool = False


def _times(most: float) -> st.SearchStrategy[float]:
    return st.one_of(st.floats(0, 3), st.floats(0, most)).map(lambda at: round(at, 3))


FATES = st.builds(
    Fate,
    events=st.lists(st.tuples(_times(40), st.sampled_from(KINDS)), max_size=4).map(lambda one: tuple(sorted(one))),
    swallowed=st.lists(st.booleans(), max_size=8).map(tuple),
    hooks=st.lists(_times(20), max_size=3).map(tuple),
    lag=st.sampled_from((0.0, 0.0, 0.05, 0.2, 0.28)),
    slow=st.lists(st.sampled_from((0.0, 0.01, 0.2, 3.0)), min_size=1, max_size=6).map(tuple),
    placeholder=st.booleans(),
    loses_paste=st.sampled_from((False, False, False, True)),
)


@dataclass
class Key:
    """One order that pressed something, with what was known when it was given."""

    at: float
    order: Order
    last: Sight
    asked: bool
    submitted: bool
    touched: bool
    line: str | None


@dataclass
class Terminal:
    """The CLI, its screen, its hooks, and the person. What they were made to do is counted."""

    text: str
    fate: Fate
    is_seen: bool = True
    at: float = 0.0
    lines: list[str] = field(default_factory=list)
    """Of the input line, each with its writer: a person writes in capitals."""
    dialog_until: float = -1.0
    is_hidden: bool = False
    attached_until: float = -1.0
    typed: float | None = None
    is_over: bool = False
    took: list[str] = field(default_factory=list)
    approved: int = 0
    sent_of_a_person: int = 0
    cleared_of_a_person: int = 0
    enters: int = 0
    looks: int = 0
    keys: list[Key] = field(default_factory=list)
    was_asked: bool = False
    was_submitted: bool = False
    was_touched: bool = False
    submitted_by: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._events = list(self.fate.events)
        self._hooks: list[tuple[float, Told]] = []
        self._frames: list[tuple[float, Screen]] = [(-9.0, self._truth())]
        self._last = Sight()

    # --- the program and the person ---

    @property
    def _asks(self) -> bool:
        return self.at < self.dialog_until

    @property
    def line(self) -> str:
        whole = "".join(self.lines)
        return "[Pasted text #1 +9 lines]" + whole[len(self.text) :] if self._is_replaced(whole) else whole

    def _is_replaced(self, whole: str) -> bool:
        return self.fate.placeholder and whole.startswith(self.text)

    def _truth(self) -> Screen:
        if not self.is_seen:
            return Screen(None, "unknown")
        if self._asks and not self.is_hidden:
            return Screen(None, "permission")
        return Screen(self.line)

    def pass_time(self, until: float) -> None:
        """Let happen what is due, in order."""
        while self._events and self._events[0][0] <= until:
            when, kind = self._events.pop(0)
            self._draw(max(self.at, when))
            self._happen(kind)
            self._draw(self.at)
        self._draw(until)

    def _draw(self, at: float) -> None:
        if self.at < self.dialog_until <= at:
            self.at = self.dialog_until
            self._frames.append((self.at, self._truth()))
        self.at = max(self.at, at)
        self._frames.append((self.at, self._truth()))

    def _happen(self, kind: Kind) -> None:
        match kind:
            case "dialog shown" | "dialog told":
                self.dialog_until, self.is_hidden = self.at + 1.0, kind == "dialog told"
                if kind == "dialog told":
                    self._hooks.append((self.at, PermissionAsked()))
            case "moves":
                self._touch()
            case "types":
                self._touch()
                self.lines.append("HALF A THOUGHT ")
            case "wipes":
                self._touch()
                self.lines.clear()
            case "submits":
                self._touch()
                self._submit("a person")
            case "foreign hook":
                self._hooks.append((self.at, PromptSubmitted("of another text")))
            case "hook again":
                # It is that of the newest prompt, said twice.
                if self.took:
                    self._hooks.append((self.at, PromptSubmitted(_digest(self.took[-1]))))
            case "ends":
                self.is_over = True

    def _touch(self) -> None:
        self.typed = self.at
        self.attached_until = self.at + STAYS

    def _submit(self, by: str) -> None:
        if self._asks or not self.lines:
            return
        whole = "".join(self.lines)
        if by != "a person" and any(char.isupper() for char in whole):
            self.sent_of_a_person += 1
        self.lines.clear()
        self.took.append(whole)
        self.submitted_by.append(by)
        self._hooks += [(self.at + late, PromptSubmitted(_digest(whole))) for late in self.fate.hooks]

    # --- the runtime ---

    def hooks(self) -> list[Told]:
        """Those that have come by now."""
        due = [hook for when, hook in self._hooks if when <= self.at]
        self._hooks = [(when, hook) for when, hook in self._hooks if when > self.at]
        return due

    def do(self, order: Order) -> Seen | None:
        """Carry out an order; None where a hook came before it was time to look."""
        match order:
            case Look(at=at):
                coming = min((when for when, _ in self._hooks), default=None)
                if coming is not None and coming < at:
                    self.pass_time(max(self.at, coming))
                    return None
                slow = self.fate.slow[self.looks % len(self.fate.slow)]
                self.pass_time(max(self.at, at) + slow)
                self.looks += 1
                self._last = self._sight()
                return self._last
            case Paste():
                if not self._asks and not self.fate.loses_paste:
                    self.lines.append(self.text)
                self._draw(self.at)
                return Pasted(self.text)
            case PressEnter():
                self._enter()
            case ClearLine():
                if not self._asks:
                    gone = "".join(self.lines).rpartition("\n")
                    self.cleared_of_a_person += any(char.isupper() for char in gone[2])
                    self.lines = [gone[0]] if gone[0] and not self._is_replaced("".join(self.lines)) else []
            case Discard():
                return Discarded()
            case Done():
                raise AssertionError("there is nothing to do after a verdict")
        self._draw(self.at)
        return Pressed()

    def _enter(self) -> None:
        self.enters += 1
        if self._asks:
            self.approved += 1
        elif not (self.enters <= len(self.fate.swallowed) and self.fate.swallowed[self.enters - 1]):
            self._submit("us")

    def _sight(self) -> Sight:
        is_attached = self.at < self.attached_until
        typed = float(int(EPOCH + self.typed)) if self.typed is not None and is_attached else None
        shown = self._truth()
        # A dialog shows at once; what else changes may be drawn late.
        if shown.dialog is None and self.fate.lag:
            shown = [frame for when, frame in self._frames if when <= self.at - self.fate.lag][-1]
        return Sight(shown, typed, is_over=self.is_over, unread=0)

    # --- what was known at each key ---

    def note(self, delivery: Delivery, order: Order) -> None:
        line = delivery.step.line if isinstance(delivery.step, Entered) else None
        self.keys.append(
            Key(self.at, order, self._last, self.was_asked, self.was_submitted, self.was_touched, line)
        )  # fmt: skip

    def known(self, delivery: Delivery, seen: Seen | None) -> None:
        """Take note of what the machine has been told, apart from what it made of it."""
        if delivery.pasted_wall is None:
            return
        if isinstance(seen, PermissionAsked):
            self.was_asked = True
        if isinstance(seen, PromptSubmitted) and seen.sha256 in (None, _digest(self.text)) and self.enters:
            self.was_submitted = True
        if isinstance(seen, Sight) and seen.typed is not None and seen.typed >= int(delivery.pasted_wall):
            self.was_touched = True


class DaemonDied(Exception):
    """The daemon was killed after an order; it may have been carried out."""


def deliver(delivery: Delivery, terminal: Terminal, dies_at: int = MOST_STEPS) -> tuple[Delivery, Done]:
    """Play one delivery to its verdict. dies_at: the number of the order after which the daemon dies: DaemonDied."""
    seen: Seen | None = Begun()
    for step in range(MOST_STEPS):
        if step > dies_at:
            raise DaemonDied
        order = delivery.order
        for one in (*terminal.hooks(), *((seen,) if seen is not None else ())):
            terminal.known(delivery, one)
            delivery, order, reason = hear(delivery, one, Moment(terminal.at, EPOCH + terminal.at))
            assert reason
        if isinstance(order, Done):
            return delivery, order
        if not isinstance(order, Look):
            terminal.note(delivery, order)
        seen = terminal.do(order)
    raise AssertionError(f"no verdict after {MOST_STEPS} steps, at {terminal.at:.1f} s: {delivery.step}")


def calm(fate: Fate) -> Fate:
    """The same without what makes the truth unknowable: hooks that are lost or late."""
    return replace(fate, hooks=(0.05,))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
