"""One text on its way into an agent's input line: what is to be typed, what was seen of it, and at which step it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from phoenixd.core.moment import Instant
from phoenixd.core.typing.orders import Look, Order

DRAWN_WITHIN = 5.0
"""Seconds that a program without hooks gets to draw its screen before its prompt is typed."""
FREE_WITHIN = 10.0
"""Seconds that are waited for a CLI to draw its input line, or for a person to stop typing."""
APPEARS_WITHIN = 10.0
"""Seconds that a CLI may take to draw what was pasted; a busy machine is slow, not wrong."""
GIVE_UP = 12.0
"""Seconds after the first Enter in which something must tell that the text was taken."""
CLEARS_WITHIN = 30.0
"""Seconds in which a text is taken out of the input line."""
LAST_WORD = 1.0
"""Seconds for the evidence of an Enter that was taken just before the text was to be taken back."""
SEEN_WITHIN = 5.0
"""Seconds in which the input line is to be read that an earlier daemon may have left half typed."""
LONGEST = 120.0
"""Seconds after which there is a verdict whatever was seen: more than all of the above together."""


@dataclass(frozen=True, slots=True)
class Orphaned:
    """An earlier daemon was at one of these texts when it ended, and one may stand in the input line.

    line, since: what stands there, and since when.
    """

    until: Instant
    texts: tuple[str, ...] = field(repr=False)
    line: str | None = field(default=None, repr=False)
    since: Instant = 0.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """A program that has just begun draws its screen.

    frame: what it showed last.
    """

    until: Instant
    frame: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Freeing:
    """The input line must be free.

    dialog_since: since when each look showed a dialog. tried: what stands there could not be taken out.
    """

    until: Instant
    dialog_since: Instant | None = None
    tried: bool = False


@dataclass(frozen=True, slots=True)
class Clearing:
    """Our own text is taken out of the input line, line by line.

    purpose: "room" for the text that is to be typed, or "back" for the one that nothing took. shown: how the CLI showed
    it. presses: how often the keys were pressed. blank_since, closed_since: since when each look showed an empty input
    line, or none.
    """

    until: Instant
    purpose: Literal["room", "back"]
    shown: str = field(default="", repr=False)
    presses: int = 0
    blank_since: Instant | None = None
    closed_since: Instant | None = None


@dataclass(frozen=True, slots=True)
class Pasting:
    """The paste is under way."""


@dataclass(frozen=True, slots=True)
class Appearing:
    """What was pasted must come to stand in the input line.

    line, since: what stands there, and since when. dialog_since: since when each look showed a dialog.
    """

    until: Instant
    line: str | None = field(default=None, repr=False)
    since: Instant = 0.0
    dialog_since: Instant | None = None


@dataclass(frozen=True, slots=True)
class Entered:
    """Enter was pressed on the text, which showed as `line`; something must tell that it was taken.

    at, newest: when Enter was pressed first, and last. presses: how often. still_since, gone_since: since when each
    look showed that line unchanged, or something else.
    """

    at: Instant
    newest: Instant
    line: str = field(repr=False)
    presses: int = 1
    still_since: Instant | None = None
    gone_since: Instant | None = None


@dataclass(frozen=True, slots=True)
class Unseen:
    """The text went to a program whose input line no screen shows.

    at: when it was pasted. newest: when Enter was pressed last. presses: how often. emptied: how many looks in a row
    found that the program has read all.
    """

    at: Instant
    newest: Instant
    presses: int = 0
    emptied: int = 0


@dataclass(frozen=True, slots=True)
class TakingBack:
    """What a program has not read is about to be taken back.

    why: the reason of the verdict.
    """

    why: str


@dataclass(frozen=True, slots=True)
class Discarding:
    """What the program has not read is taken back.

    then: what comes next. why, failed: the reason of the verdict where that could be done, and where not.
    """

    why: str
    failed: str
    then: Literal["verdict", "clear"] = "verdict"
    shown: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Parting:
    """The text is out of the input line again; the hook of an Enter that was taken before may yet come."""

    why: str


@dataclass(frozen=True, slots=True)
class Over:
    """The verdict is out."""


Step = (
    Orphaned
    | Drawing
    | Freeing
    | Clearing
    | Pasting
    | Appearing
    | Entered
    | Unseen
    | TakingBack
    | Discarding
    | Parting
    | Over
)  # fmt: skip


BEGIN = Look(0.0)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One text on its way.

    is_command: the CLI obeys it by itself, and no hook tells of it. is_seen: the screen shows whether it stands in the
    input line. has_hooks: hooks of this run have come. too_late: when it is too late to begin; None: never.
    began, deadline: when it began, and when there is a verdict whatever was seen. left: what of ours may stand in the
    input line. pasted_wall: when it was pasted (wall); None before. asked: a hook told of a dialog. told: a hook told
    of the prompt before Enter was pressed. other: a hook told of another prompt since Enter was pressed. touched: a
    person has pressed keys since the paste. looks: how many there were. is_orphan: an earlier daemon began it. order:
    what the runtime is about to do.
    """

    text: str = field(repr=False)
    began: Instant
    deadline: Instant
    step: Step
    is_command: bool = False
    is_seen: bool = True
    has_hooks: bool = True
    too_late: Instant | None = None
    left: tuple[str, ...] = field(default=(), repr=False)
    pasted_wall: float | None = None
    asked: bool = False
    told: bool = False
    other: bool = False
    touched: bool = False
    looks: int = 0
    is_orphan: bool = False
    order: Order = BEGIN

    @property
    def is_renamed(self) -> bool:
        """Whether its program took a prompt that nobody else can have typed: it names this one in words of its own."""
        return self.other and not self.touched

    @property
    def enters(self) -> int:
        """How often Enter was pressed on it."""
        return self.step.presses if isinstance(self.step, Entered | Unseen) else 0


def begin(
    text: str, at: Instant, *, is_command: bool = False, is_seen: bool = True, has_hooks: bool = True,
    too_late: Instant | None = None, left: tuple[str, ...] = (), is_opening: bool = False,
) -> Delivery:  # fmt: skip
    """Begin a delivery. is_opening: the run has just begun, and draws its screen first."""
    step = Drawing(at + DRAWN_WITHIN) if is_opening else Freeing(at + FREE_WITHIN)
    return Delivery(text, at, at + LONGEST, step, is_command, is_seen, has_hooks, too_late, left)


def begin_again(texts: tuple[str, ...], at: Instant, wall: float) -> Delivery:
    """Find out what became of texts that an earlier daemon had begun; none of them is typed again.

    The delivery's `text` is the one that something was found out about; empty before, and where nothing was.
    """
    step = Orphaned(at + SEEN_WITHIN, texts)
    return Delivery("", at, at + LONGEST, step, left=texts, pasted_wall=wall, is_orphan=True)
