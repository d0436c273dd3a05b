"""What the runtime is to do next for a text: one order at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phoenixd.core.moment import Instant

Verdict = Literal["delivered", "not delivered", "unknown"]


@dataclass(frozen=True, slots=True)
class Look:
    """Wait until `at`, or until a hook tells something, and then look: always for the run and a person's keys.

    room: make a pane that is too small to be read large. transcript: whether the CLI has put the text off. unread: what
    its program has not read.
    """

    at: Instant
    screen: bool = True
    room: bool = False
    transcript: bool = False
    unread: bool = False


@dataclass(frozen=True, slots=True)
class Paste:
    """Paste the text, and press nothing."""


@dataclass(frozen=True, slots=True)
class PressEnter:
    """Press Enter, once."""


@dataclass(frozen=True, slots=True)
class ClearLine:
    """Press the keys that take the last line out of the input line, and submit nothing."""


@dataclass(frozen=True, slots=True)
class Discard:
    """Take back what was typed and not read."""


@dataclass(frozen=True, slots=True)
class Done:
    """Tell what became of the text. why: the evidence that it arrived, or the reason why it did not.

    dialog: what a screen shows that was in the way, as the harness calls it. attended: a person has touched the
    terminal lately, so that a menu there may be his own. queued: no hook will tell of the text. person: somebody's own
    words were in the way, and nothing was typed.
    """

    verdict: Verdict
    why: str
    dialog: str = ""
    attended: bool = False
    queued: bool = False
    person: bool = False


Order = Look | Paste | PressEnter | ClearLine | Discard | Done
