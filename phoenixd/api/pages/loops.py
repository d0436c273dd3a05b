"""What `loops` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from phoenixd.api.pages.layout import Page, clip, columns, name_column, pad, page, with_command, wrap
from phoenixd.api.times import ago
from phoenixd.api.values import LoopsRead
from phoenixd.documents.plain_text import one_line

AGE_COLUMNS = 6
ID_COLUMNS = 16
TEXT_LIMIT = 1000
NAMES_SHOWN = 3


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


def loops(
    found: Sequence[Loop],
    stale_days: int,
    here: Page,
    read: Mapping[str, LoopsRead],
    *,
    agent: str | None = None,
    waiting: int = 0,
) -> str:
    """All of them, in the order given; the next command closes the first one.

    read: as of when they are, by agent. waiting: loops that `inbox` lists.
    """
    as_of = _as_of(read, here, agent)
    whose = f" of {agent}" if agent else ""
    if not found and waiting:
        return page([*as_of, here.ending(f"No open loops{whose} but what waits for a person. See: phoenixctl inbox")])
    if not found:
        see = f"phoenixctl status {agent}" if agent else "phoenixctl status"
        return page([*as_of, here.ending(f"No open loops{whose}. See: {see}")])
    stale = sum(loop.stale for loop in found)
    counted = "1 open loop" if len(found) == 1 else f"{len(found)} open loops"
    flagged = f"{stale} stale (open for more than {stale_days} days)" if stale else "none stale"
    unsure = sum(loop.unconfirmed for loop in found)
    if unsure:
        flagged += (
            f", {unsure} unconfirmed (no session proves that {'it is' if unsure == 1 else 'they are'} still open)"
        )
    lines = [*wrap(f"{counted}{whose}, {flagged}.", here.width), *as_of, ""]
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


def _as_of(read: Mapping[str, LoopsRead], here: Page, agent: str | None) -> list[str]:
    """As of when they are: a turn is read some time after its end, and what it did is not among them before."""
    ages = [here.now - one.at for one in read.values() if one.at]
    due = {name: one.due for name, one in read.items() if one.due}
    told = ""
    if ages:
        told = f"As read from {'its session' if agent else 'their sessions, at the earliest'} {ago(max(ages))} ago."
    if not due:
        return wrap(told, here.width) if told else []
    names = list(due)
    whose = f"of {', '.join(names)} " if agent is None and len(names) <= NAMES_SHOWN else ""
    whose = f"of {len(names)} agents " if agent is None and len(names) > NAMES_SHOWN else whose
    ended = f"A turn {whose}has ended since" if len(due) == 1 else f"Turns {whose}have ended since"
    soon = f"read within {ago(max(1.0, max(due.values()) - here.now))}"
    sooner = f"sooner: phoenixctl brief generate {names[0] if len(names) == 1 else 'NAME'}"
    return with_command(f"{told} {ended}, {soon};".strip(), sooner, here)


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
