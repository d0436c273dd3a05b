"""What `status` prints: by exception, five groups with a sign and a word, and the next command last.

Pure: rows and facts in, text out. Nothing that an agent wrote reaches a terminal uncleaned, and no line is wider than
the page, except a command that would no longer work if it were cut.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from phoenixd.api.history import Digest
from phoenixd.api.pages.agent_lines import exceptions, fine, table
from phoenixd.api.pages.headline import headline
from phoenixd.api.pages.layout import Page, page
from phoenixd.api.pages.next_commands import as_row, next_commands
from phoenixd.api.values import Facts
from phoenixd.clis import EXAMPLE
from phoenixd.core.condition import BY_EXCEPTION, SIGNS, URGENCY, Group
from phoenixd.core.glance import Seen
from phoenixd.core.projection import Row

LINES = 24
"""Lines of a terminal: what `status` says at a glance fits, however many agents there are."""


def status(
    rows: Sequence[Seen],
    facts: Facts,
    digest: Digest | None,
    here: Page,
    *,
    everyone: bool = False,
    stale: Mapping[str, int] | None = None,
    whole: Callable[[Seen], Row] = as_row,
    running_again: Collection[str] = (),
) -> str:
    """What needs you, is everything alive, what happened since you looked; then only what is not fine.

    stale: how many open loops of an agent are stale. whole: makes the row of a glance; asked only for those that have a
    line of their own. running_again: see history.
    """
    head = headline(rows, facts, digest, here, stale or {}, running_again)
    if not rows:
        return page([*head, here.ending(f"Try: phoenixctl demo, or phoenixctl run NAME -- {EXAMPLE}")])
    head.append("")
    next_line = next_commands(rows, here, whole, everyone=everyone)
    if everyone:
        shown = sorted(rows, key=lambda row: (URGENCY.index(row.group), row.name))
        return page([*head, *table([whole(row) for row in shown], here), "", next_line])
    counted = fine(rows, here)
    tail = [*counted, *([""] if counted else []), next_line]
    return page([*head, *exceptions(rows, LINES - len(head) - len(tail), here, whole), *tail])


def prompt(counts: Mapping[Group, int], here: Page) -> str:
    """For a shell's prompt: the signs of what is not fine, with their numbers; empty where all is."""
    told = " ".join(f"{here.sign(SIGNS[one])}{counts[one]}" for one in BY_EXCEPTION if counts[one])
    return f"{told}\n" if told else ""
