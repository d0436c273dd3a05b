"""What `events` prints: a line each, of when they are, and which ones are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from phoenixd.api.pages.history import FLEET, event
from phoenixd.api.pages.layout import SET_IN, Page, name_column, page, with_command, wrap
from phoenixd.ports.journal import StoredEntry

MOST_SHOWN = 10_000
"""Events that one question is told at most."""
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows beyond those that are shown. asked: the command that shows these, without a number; lines: how
    many it showed; is_older: whether the others are older, not newer."""

    asked: str
    lines: int
    is_older: bool

    def command(self, first: float, last: float, here: Page) -> str:
        """What shows more of them. first, last: when the oldest and the newest shown row were written."""
        if not self.is_older:
            return f"{self.asked} --since {here.exact(last)}"
        if self.lines < MOST_SHOWN:
            return f"{self.asked} --lines {min(MOST_SHOWN, 10 * self.lines)}"
        return f"{self.asked} --since {here.exact(first - DAY)}"


def events(
    rows: Sequence[StoredEntry],
    here: Page,
    *,
    agent: str | None = None,
    gone: tuple[str, str] | None = None,
    left_out: LeftOut | None = None,
    called: Callable[[str], str] = lambda name: name,
) -> str:
    """One line for each event; says its period, why it is empty, and how those that are left out are seen.

    gone: of an agent that is gone, and so has no explanation, a sentence about that and a command; empty for none.
    called: as what people know an agent by the name that the journal has.
    """
    if not rows:
        about = f" about {agent}" if agent else ""
        further = "further back: phoenixctl events --since yesterday"
        return page([here.ending(f"Nothing{about} stands in the journal for that time; {further}")])
    first, last = rows[0].entry.wall, rows[-1].entry.wall
    width = name_column([called(stored.entry.agent) if stored.entry.agent else FLEET for stored in rows], here)
    lines = [event(stored, here, width, called) for stored in rows]
    counted = "1 event" if len(rows) == 1 else f"{len(rows)} events"
    why = f"why: phoenixctl explain {agent or 'NAME'}"
    period = f"{counted}, {here.minute(first)} to {here.minute(last)}."
    told = [*lines, "", here.ending(f"{period}     {why}") if gone is None else period]
    if gone is not None and gone[0]:
        told += with_command(*gone, here) if gone[1] else wrap(gone[0], here.width, SET_IN)
    if left_out is not None:
        others = "Older" if left_out.is_older else "Newer"
        told += with_command(f"{others} events are left out. More:", left_out.command(first, last, here), here)
    return page(told)
