"""The inbox in text: each item on a line, and what is asked in full. What an agent wrote is always indented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from phoenixd.api.pages.agent_lines import AGE_COLUMNS
from phoenixd.api.pages.layout import (
    SET_IN,
    Page,
    clip,
    columns,
    counted,
    fold,
    name_column,
    number_column,
    pad,
    page,
    wrap,
)
from phoenixd.api.times import ago
from phoenixd.core.agent.standing import Ack, InboxItem, StandingAlert
from phoenixd.core.alerts import next_command
from phoenixd.core.question.call import ASKS, PLAN, QUESTION
from phoenixd.core.question.render import render, title
from phoenixd.core.question.reply import asked_in, is_reachable, limits

QUARANTINED = "quarantined"
NOBODY = "phoenixd"
"""In place of a name, what no agent is at fault for."""
INDENT = "  "
DEEP = "    "
NOT_MUTED: Mapping[str, float] = MappingProxyType({})
GOES_ON = "  > "
"""Before what goes on below a line that is too long: no agent's words begin this far left."""


def inbox(
    items: Sequence[InboxItem],
    here: Page,
    alerts: Sequence[StandingAlert] = (),
    needed: str = "",
    muted: Mapping[str, float] = NOT_MUTED,
) -> str:
    """What waits for a person, oldest first. alerts: those of no agent; needed: how many need one, as `status` says.

    muted: until when (wall) the alerts of an agent are told to nobody.
    """
    if not items and not alerts:
        return page([here.ending("Nothing waits for you. What happened: phoenixctl since last")])
    there = [_Waiting.of(item, here, muted.get(item.agent)) for item in items] + [
        _Waiting.of_nobody(one, here) for one in alerts
    ]
    there.sort(key=lambda one: (one.opened, one.id))
    new, seen = [one for one in there if one.ack is None], [one for one in there if one.ack is not None]
    wait = f"{counted(len(new), 'thing')} {'waits' if len(new) == 1 else 'wait'}, oldest first" if new else ""
    heading = f"{needed}: {wait or 'nothing new waits'}." if needed else f"{wait or 'Nothing new waits'}."
    lines = [*wrap(heading, here.width), *([""] if new else []), *_listed(new, there, here)]
    if seen:
        lines += ["", f"{len(seen)} acknowledged, and not over:", *_listed(seen, there, here)]
    if alerts:
        lines += ["", here.ending(f"what is of {NOBODY} alone: {next_command(alerts[-1].kind, None)}")]
    answerable = [item for item in items if item.answer_by == "answer"]
    if answerable:
        return page([*lines, *(line for item in answerable for line in ["", *_asked(item, here)])])
    first = next((item for item in items if item.ack is None), items[0] if items else None)
    return page([*lines, *(["", here.ending("; ".join(_instead(first)))] if first is not None else [])])


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A line of the list: an item, or an alert of no agent."""

    id: int
    whose: str
    kind: str
    title: str
    opened: float
    ack: Ack | None
    muted_until: float | None = None

    @classmethod
    def of(cls, item: InboxItem, here: Page, muted_until: float | None) -> _Waiting:
        said = title(item) if item.text else ""
        # The text of an alert is ours; any other is an agent's call, or an agent's words, and is shown as it is.
        said = here.reaching(said) if item.answer_by == "command" else said
        return cls(item.id, item.agent, item.kind, said, item.opened_wall, item.ack, muted_until)

    @classmethod
    def of_nobody(cls, one: StandingAlert, here: Page) -> _Waiting:
        return cls(one.id, NOBODY, one.kind, here.reaching(one.text), one.raised_wall, one.ack)


def _listed(those: Sequence[_Waiting], beside: Sequence[_Waiting], here: Page) -> list[str]:
    """What waits, a line each, in columns that hold those beside them as well."""
    width = name_column([one.whose for one in beside], here)
    digits = number_column([one.id for one in beside])
    lines = []
    for one in those:
        lead = f"#{one.id:<{digits}}{pad(one.whose, width)} {ago(here.now - one.opened):>{AGE_COLUMNS}}  "
        said = ": ".join(filter(None, (_muted(one.muted_until, here), _seen(one.ack, here), one.kind, one.title)))
        lines.append(f"{here.sign('!')} {lead}{clip(said, max(10, here.width - 2 - columns(lead)))}")
    return lines


def one(item: InboxItem, here: Page, muted_until: float | None = None) -> str:
    """One item in full. muted_until: when (wall) its agent's mute ends."""
    since = f"{ago(here.now - item.opened_wall)} ago"
    left = ", and that run is over: the answer goes with the next words that it is told" if item.left else ""
    known = [f"; {words}" for words in (_seen(item.ack, here), _muted(muted_until, here)) if words]
    told = f"#{item.id} {item.kind} of {item.agent} (incarnation {item.incarnation}), {since}{left}{''.join(known)}"
    head = wrap(told, here.width)
    return page([*head, "", *_asked(item, here)])


def _seen(ack: Ack | None, here: Page) -> str:
    """Who has seen it, and when; empty where nobody has said so."""
    return f"seen by {ack.by} {ago(here.now - ack.at_wall)} ago" if ack is not None else ""


def _muted(until: float | None, here: Page) -> str:
    """Until when nobody is told of its agent, as `status` says it; empty where that is not muted."""
    return f"muted until {here.minute(until)}" if until is not None else ""


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
    said = map(here.reaching, shown.lines) if item.answer_by == "command" else shown.lines
    lines = [part for line in said for part in _parts(line, here.width)]
    notes = [f"note: {flag}" for flag in shown.flags]
    if why and item.kind in ASKS:
        what = "allowed" if item.hold and item.kind != QUESTION else "answered"
        notes.append(f"note: {why}, so it can be {what} at its terminal alone")
    told = [line for note in notes for line in wrap(note, here.width, "      ")]
    command, *more = map(here.reaching, _instead(item))
    answer = "; ".join([command, *more])
    below = [f"{SET_IN}{line}" for words in more for line in wrap(words, here.width - len(SET_IN))]
    whole = [answer] if columns(answer) <= here.width else [command, *below]
    return [f"#{item.id} {'asks for' if item.kind in ASKS else 'says'}:", *lines, *told, *whole]


def _parts(line: str, width: int) -> list[str]:
    """A line of ours a little set in, and one with an agent's words more; what goes on below is marked as that.

    Without the mark the end of an added line of a difference would read as a line of its own, and of another sign.
    """
    is_ours = not line.startswith(INDENT)
    first, *rest = fold(line.removeprefix(INDENT), max(20, width - len(DEEP)))
    return [f"{INDENT if is_ours else DEEP}{first}", *(GOES_ON + part for part in rest)]


def _instead(item: InboxItem) -> tuple[str, ...]:
    """How it is answered, and what else there is: each is a command that can be typed, or a hint without one."""
    if item.kind == QUARANTINED:
        return f"why: phoenixctl explain {item.agent}", f"again: {advice(item)}"
    if item.answer_by == "command":
        return (f"why: {advice(item)}",)
    if not is_reachable(item):
        return (f"answer: {advice(item)}",)
    attach = () if item.left else (f"or phoenixctl attach {item.agent}",)
    if item.kind == QUESTION:
        questions = asked_in(item)
        several = ", of several options the numbers with commas (1,2)" if any(one.several for one in questions) else ""
        each = ", one answer for each question in order" if len(questions) > 1 else ""
        return f"answer: {advice(item)}", f"or a text of your own{each}{several}", *attach
    if limits(item):
        return f"answer: {advice(item)}", *attach
    return f"answer: {advice(item)}", f'or phoenixctl answer {item.id} deny "REASON"', *attach
