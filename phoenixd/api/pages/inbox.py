"""The inbox in text: each item on a line, and what is asked in full. What an agent wrote is always indented."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.api.pages.layout import Page, clip, columns, fold, name_column, pad, page, wrap
from phoenixd.api.pages.status import AGE_COLUMNS
from phoenixd.api.times import ago
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.question.call import ASKS, PLAN, QUESTION
from phoenixd.core.question.render import render, title
from phoenixd.core.question.reply import asked_in, is_reachable, limits

QUARANTINED = "quarantined"
INDENT = "  "
DEEP = "    "
GOES_ON = "  > "
"""Before what goes on below a line that is too long: no agent's words begin this far left."""


def inbox(items: Sequence[InboxItem], here: Page) -> str:
    """What waits for a person, oldest first."""
    if not items:
        return page(["Nothing waits for you. What happened: phoenixctl since last"])
    new = [item for item in items if item.ack is None]
    seen = [item for item in items if item.ack is not None]
    wait = f"{len(new)} {'waits' if len(new) == 1 else 'wait'} for you, oldest first."
    lines = [wait if new else "Nothing new waits for you.", *([""] if new else []), *_listed(new, items, here)]
    if seen:
        lines += ["", f"{len(seen)} acknowledged, and not over:", *_listed(seen, items, here)]
    answerable = [item for item in items if item.answer_by == "answer"]
    if not answerable:
        return page([*lines, "", "".join(_instead((new or seen)[0]))])
    return page([*lines, *(line for item in answerable for line in ["", *_asked(item, here)])])


def _listed(items: Sequence[InboxItem], beside: Sequence[InboxItem], here: Page) -> list[str]:
    """An item a line, in columns that hold those beside them as well."""
    width = name_column([item.agent for item in beside], here)
    lines = []
    for item in items:
        lead = f"#{item.id:<5}{pad(item.agent, width)} {ago(here.now - item.opened_wall):>{AGE_COLUMNS}}  "
        seen = f"{_seen(item, here)}: " if item.ack is not None else ""
        said = f"{seen}{item.kind}: {title(item)}" if item.text else f"{seen}{item.kind}"
        lines.append(f"{here.sign('!')} {lead}{clip(said, max(10, here.width - 2 - columns(lead)))}")
    return lines


def one(item: InboxItem, here: Page) -> str:
    """One item in full."""
    since = f"{ago(here.now - item.opened_wall)} ago"
    left = ", and that run is over: the answer goes with the next words that it is told" if item.left else ""
    seen = f"; {_seen(item, here)}" if item.ack is not None else ""
    told = f"#{item.id} {item.kind} of {item.agent} (incarnation {item.incarnation}), {since}{left}{seen}"
    head = wrap(told, here.width)
    return page([*head, "", *_asked(item, here)])


def _seen(item: InboxItem, here: Page) -> str:
    """Who has seen it, and when."""
    return f"seen by {item.ack.by} {ago(here.now - item.ack.at_wall)} ago" if item.ack is not None else ""


def advice(item: InboxItem) -> str:
    """The command that answers it, in its shortest form; it can be typed as it stands."""
    if item.kind == QUARANTINED:
        return f"phoenixctl start {item.agent}"
    if not is_reachable(item):
        return f"phoenixctl explain {item.agent}" if item.answer_by == "command" else f"phoenixctl attach {item.agent}"
    if item.kind == QUESTION:
        words = " ".join("1" if question.options else '"TEXT"' for question in asked_in(item))
        return f"phoenixctl answer {item.id} {words}"
    if limits(item):
        return f'phoenixctl answer {item.id} deny "REASON"'
    return f"phoenixctl answer {item.id} {'approve' if item.kind == PLAN else 'allow'}"


def _asked(item: InboxItem, here: Page) -> list[str]:
    """All that an item asks for, character by character: who answers has to have seen it."""
    shown, why = render(item), limits(item)
    lines = [part for line in shown.lines for part in _parts(line, here.width)]
    notes = [f"note: {flag}" for flag in shown.flags]
    if why and item.kind in ASKS:
        what = "allowed" if item.hold and item.kind != QUESTION else "answered"
        notes.append(f"note: {why}, so it can be {what} at its terminal alone")
    told = [line for note in notes for line in wrap(note, here.width, "      ")]
    command, more = _instead(item)
    answer = f"{command}{more}"
    whole = (
        [answer] if columns(answer) <= here.width else [command, *(f"  {line}" for line in wrap(more, here.width - 2))]
    )
    return [f"#{item.id} {'asks for' if item.kind in ASKS else 'says'}:", *lines, *told, *whole]


def _parts(line: str, width: int) -> list[str]:
    """A line of ours a little set in, and one with an agent's words more; what goes on below is marked as that.

    Without the mark the end of an added line of a difference would read as a line of its own, and of another sign.
    """
    is_ours = not line.startswith(INDENT)
    first, *rest = fold(line.removeprefix(INDENT), max(20, width - len(DEEP)))
    return [f"{INDENT if is_ours else DEEP}{first}", *(GOES_ON + part for part in rest)]


def _instead(item: InboxItem) -> tuple[str, str]:
    """How it is answered: a command that can be typed, and what else there is."""
    if item.kind == QUARANTINED:
        return f"why: phoenixctl explain {item.agent}", f"; again: {advice(item)}"
    if item.answer_by == "command":
        return f"why: {advice(item)}", ""
    if not is_reachable(item):
        return f"answer: {advice(item)}", ""
    attach = "" if item.left else f"; or attach {item.agent}"
    if item.kind == QUESTION:
        questions = asked_in(item)
        several = ", of several options the numbers with commas (1,2)" if any(one.several for one in questions) else ""
        each = ", one answer for each question in order" if len(questions) > 1 else ""
        return f"answer: {advice(item)}", f", or a text of your own{each}{several}{attach}"
    if limits(item):
        return f"answer: {advice(item)}", attach
    return f"answer: {advice(item)}", f', or deny "REASON"{attach}'
