"""What `loops` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phoenixd.api.pages.layout import Page, clip, columns, name_column, pad, page, wrap
from phoenixd.documents.plain_text import one_line

AGE_COLUMNS = 6
ID_COLUMNS = 16
TEXT_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Loop:
    """An open loop as it is listed. added: a day, ISO 8601. item: what it stands for in the inbox."""

    agent: str
    id: str
    text: str
    added: str
    age_days: int
    stale: bool
    unconfirmed: bool = False
    item: int | None = None


def loops(found: Sequence[Loop], stale_days: int, here: Page, *, agent: str | None = None, waiting: int = 0) -> str:
    """All of them, in the order given; the next command closes the first one. waiting: loops that `inbox` lists."""
    whose = f" of {agent}" if agent else ""
    if not found and waiting:
        return page([here.ending(f"No open loops{whose} but what waits for a person. See: phoenixctl inbox")])
    if not found:
        return page([here.ending(f"No open loops{whose}. See: phoenixctl status{f' {agent}' if agent else ''}")])
    stale = sum(loop.stale for loop in found)
    counted = "1 open loop" if len(found) == 1 else f"{len(found)} open loops"
    flagged = f"{stale} stale (open for more than {stale_days} days)" if stale else "none stale"
    unsure = sum(loop.unconfirmed for loop in found)
    if unsure:
        flagged += (
            f", {unsure} unconfirmed (no session proves that {'it is' if unsure == 1 else 'they are'} still open)"
        )
    lines = [*wrap(f"{counted}{whose}, {flagged}.", here.width), ""]
    widths = (
        name_column([loop.agent for loop in found], here) if agent is None else 0,
        max(ID_COLUMNS, *(len(loop.id) for loop in found)),
    )
    for loop in found:
        lines += _loop(loop, widths, here)
    first = found[0]
    asked = [here.ending("what waits for a person: phoenixctl inbox")] if waiting else []
    return page(
        [*lines, "", here.ending(f'close one: phoenixctl resolve {first.id} "WHY" --agent {first.agent}'), *asked]
    )


def _loop(loop: Loop, widths: tuple[int, int], here: Page) -> list[str]:
    """One loop on a line, or on two where its id leaves too little room for its words."""
    name_columns, id_columns = widths
    sign = here.sign("!") if loop.stale else " "
    lead = f"{pad(loop.agent, name_columns)} " if name_columns else ""
    lead += f"{f'{loop.age_days}d':>{AGE_COLUMNS}}  {pad(loop.id, id_columns)} "
    room = here.width - 2 - columns(lead)
    if room >= 24:
        return [f"{sign} {lead}{clip(one_line(loop.text, TEXT_LIMIT), room)}"]
    lead = f"{pad(loop.agent, name_columns)} " if name_columns else ""
    return [
        f"{sign} {lead}{f'{loop.age_days}d':>{AGE_COLUMNS}}  {loop.id}",
        f"      {clip(one_line(loop.text, TEXT_LIMIT), here.width - 6)}",
    ]
