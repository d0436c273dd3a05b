"""Agents on a line each: the sign of the group, the name, since when, and why it is so or what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from phoenixd.api.pages.context import of_row
from phoenixd.api.pages.layout import WHOLE, Page, clip, columns, name_column, pad, with_command
from phoenixd.api.pages.next_commands import answer_command
from phoenixd.api.times import ago
from phoenixd.core.condition import BY_EXCEPTION, FINE, SIGNS, URGENCY, Group
from phoenixd.core.glance import Seen
from phoenixd.core.projection import Row
from phoenixd.core.question.render import title
from phoenixd.core.sight import Doing

WORDS: dict[Group, str] = {
    "needs_you": "need you",
    "healing": "healing",
    "working": "working",
    "resting": "resting",
    "unknown": "unknown",
}
STATE_COLUMNS = 12
AGE_COLUMNS = 6
LEAST_ROOM = 16
UNTOLD = "it tells nothing of what it does"
GUESSED = "found alive without a journal that knew it: what it is at is not known until it has been looked at"
UNHEARD = ("none", "missing")
"""What is known of the hooks of those that tell nothing."""


def exceptions(rows: Sequence[Seen], room: int, here: Page, whole: Callable[[Seen], Row]) -> list[str]:
    """What is not fine, oldest first within its group; what does not fit is a count with the command that lists it."""
    wrong = [row for row in rows if row.group in BY_EXCEPTION]
    wrong.sort(key=lambda row: (URGENCY.index(row.group), row.is_acknowledged, row.since, row.name))
    if not wrong:
        return []
    # Each has a line at least, so of more than there is room for no more can be told.
    first = wrong[: max(1, room)]
    width = name_column([row.name for row in first], here)
    told = [_row(whole(row), width, here) for row in first]
    if len(told) == len(wrong) and sum(map(len, told)) < room:
        return [*(line for lines in told for line in lines), ""]
    blank_and_rest = 3
    shown: list[list[str]] = []
    while told and sum(map(len, shown)) + len(told[0]) <= room - blank_and_rest:
        shown.append(told.pop(0))
    hidden = wrong[len(shown) :]
    counts = [(group, sum(row.group == group for row in hidden)) for group in BY_EXCEPTION]
    more = ", ".join(f"{count} more {WORDS[group]}" for group, count in counts if count)
    rest = with_command(f"and {more}:", "phoenixctl status --all", here)
    return [*(line for lines in shown for line in lines), *rest, ""]


def table(rows: Sequence[Row], here: Page) -> list[str]:
    return [line for told in _rows(rows, here) for line in told]


def fine(rows: Sequence[Seen], here: Page) -> list[str]:
    """The agents that are fine: how many, and their names where all fit on the line."""
    told: list[tuple[str, str, str]] = []
    for group, is_begun in ((group, begun) for group in FINE for begun in (False, True)):
        # A first start heals nothing, and works at nothing yet.
        members = [row for row in rows if row.group == group and (row.state == "starting") is not is_begun]
        if members and not is_begun:
            told.append((SIGNS[group], f"{len(members)} starting", ", ".join(row.name for row in members)))
        elif members:
            said = f"{len(members)} {WORDS[group]}{_resting_note(members, here) if group == 'resting' else ''}"
            told.append((SIGNS[group], said, ", ".join(row.name for row in members)))
    if all(len(said) + len(names) + 4 <= here.width for _, said, names in told):
        return [f"{here.sign(sign)} {said}: {names}" for sign, said, names in told]
    counts = [f"{here.sign(sign)} {said}" for sign, said, _ in told]
    fits = sum(len(said) + 2 for _, said, _ in told) + 3 * (len(told) - 1) <= here.width
    return ["   ".join(counts)] if fits else counts


def _rows(rows: Sequence[Row], here: Page) -> Iterable[list[str]]:
    width = name_column([row.name for row in rows], here)
    return (_row(row, width, here) for row in rows)


def _row(row: Row, name_columns: int, here: Page) -> list[str]:
    """One agent on one line, or on two where the command at its end would have to be cut."""
    sign = here.sign(SIGNS[row.group])
    if row.activity == "waiting" and row.waiting_for is not None:
        age = ago(here.now - (row.item.opened_wall if row.item is not None else row.since))
        lead = f"{pad(row.name, name_columns)} {age:>{AGE_COLUMNS}}  "
        number = f"#{row.item.id} " if row.item is not None else ""
        said, hint = f"{number}{_held(row, here)}waiting: {row.waiting_for}", here.reaching(f"- {answer_command(row)}")
        room = here.width - 2 - columns(lead)
        if columns(said) + 1 + len(hint) <= room:
            return [f"{sign} {lead}{clip(said, room)} {hint}"]
        return [*_lead_and(f"{sign} {lead}", said, room, here), f"  {hint}"]
    age = f"in {ago(row.due)}" if row.state == "backing_off" and row.due is not None else ago(here.now - row.since)
    word = (row.state if row.step else row.activity or row.state).replace("_", " ")
    if row.deaf is not None:
        # What it was at when it was heard last says nothing of now.
        word = "deaf"
    elif row.group == "unknown":
        word = "gone"
    lead = f"{pad(row.name, name_columns)} {age:>{AGE_COLUMNS}}  {pad(word, STATE_COLUMNS)} "
    number = f"  #{row.item.id}" if row.item is not None else ""
    room = here.width - 2 - columns(lead) - len(number)
    step = f"step {row.at_step}: " if row.step and row.group == "healing" else ""
    why = f"{_held(row, here)}{of_row(row)}{step}{doing(row, here) or reason(row, here)}"
    if row.group == "unknown":
        lost = f"the link to its shim is lost: {row.deaf.why}" if row.deaf is not None else ""
        why = f"{_held(row, here)}{lost or 'its exit record is awaited'}"
    return _lead_and(f"{sign} {lead}", why, room, here, number)


def _lead_and(lead: str, words: str, room: int, here: Page, number: str = "") -> list[str]:
    """Words behind what stands before them, or below it where the page is too narrow for both; the number of an item
    is never cut with them, and stands below the other numbers where the line has an end."""
    if room < LEAST_ROOM:
        return [lead, f"    {clip(words, here.width - 4 - len(number))}{number}"]
    return [lead + (pad(words, room) if number and here.width < WHOLE else clip(words, room)) + number]


def _held(row: Row, here: Page) -> str:
    """That its alerts are told to nobody, and that somebody has seen all for which it needs a person."""
    seen = "acknowledged: " if row.group == "needs_you" and row.is_acknowledged else ""
    return f"muted until {here.minute(row.muted_until)}: {seen}" if row.muted_until is not None else seen


def reason(row: Row, here: Page) -> str:
    """Why the agent is in its state, without saying the state again; what needs a person goes before that."""
    if row.pressing is not None:
        return here.reaching(f"{row.pressing.kind}: {row.pressing.text}")
    if row.item is not None and row.item.left:
        return f"asked, and its run ended: {title(row.item)}"
    told = row.reason.removeprefix(f"{row.state}: ")
    return f"{told} ({here.clock(here.now + row.due)})" if row.is_unseen and row.due is not None else told


def doing(row: Row, here: Page) -> str:
    """What an agent that is fine is at; empty where that is not known, or something else is to be told of it."""
    if row.is_guessed:
        return GUESSED
    if row.untold or row.items or (not row.step and (row.group not in FINE or row.state != "running")):
        return ""
    if row.doing is not None:
        return f"{call(row.doing)} ({ago(here.now - row.doing.since_wall)})"
    if row.said is None:
        return _sign_of_life(row)
    when = f" ({ago(here.now - row.said.at_wall)} ago)" if row.said.at_wall is not None else ""
    return f"said{when}: {row.said.text}"


def _sign_of_life(row: Row) -> str:
    """What is known of one that tells nothing of its turns; empty where its reason says more."""
    if row.hooks not in UNHEARD or row.state != "running" or row.parked_until is not None:
        return ""
    return f"last sign of life {ago(row.evidence_age)} ago" if row.evidence_age is not None else UNTOLD


def call(doing: Doing) -> str:
    """A tool call in words."""
    return f"{doing.tool}: {doing.argument}" if doing.argument else doing.tool


def _resting_note(members: Sequence[Seen], here: Page) -> str:
    parked = [row.parked_until for row in members if row.parked_until is not None]
    stopped = sum(row.state == "stopped" for row in members)
    notes = [f"{len(parked)} parked until {here.minute(min(parked))}"] if parked else []
    if stopped:
        notes.append(f"{stopped} stopped")
    return f" ({', '.join(notes)})" if notes else ""
