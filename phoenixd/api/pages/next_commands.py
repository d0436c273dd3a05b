"""The commands that a page ends with: what to type next, and how what an agent asks is answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phoenixd.api.pages.layout import Page, side_by_side
from phoenixd.core.alerts import next_command
from phoenixd.core.condition import BY_EXCEPTION, URGENCY
from phoenixd.core.glance import Seen
from phoenixd.core.projection import Row
from phoenixd.core.question.call import QUESTION
from phoenixd.core.question.reply import is_reachable, limits

SINCE = "since you looked: phoenixctl since last"


def as_row(one: Seen) -> Row:
    """For who has rows already."""
    assert isinstance(one, Row)
    return one


def next_commands(
    rows: Sequence[Seen], here: Page, whole: Callable[[Seen], Row] = as_row, *, everyone: bool = False
) -> str:
    """The command that the most urgent of these agents asks for, and a second one where it fits.

    everyone: all of them stand above it already.
    """
    return side_by_side(*_commands(rows, whole, everyone=everyone), here)


def _commands(rows: Sequence[Seen], whole: Callable[[Seen], Row], *, everyone: bool) -> tuple[str, str]:
    row = whole(
        min(
            rows,
            key=lambda row: (
                URGENCY.index(row.group), row.is_acknowledged, row.activity != "waiting", row.since, row.name,
            ),
        )
    )  # fmt: skip
    why = f"why: phoenixctl explain {row.name}"
    if row.group == "needs_you":
        if row.activity == "waiting" or answer_from_afar(row):
            return f"answer: {answer_choice(row)}", why
        return why, _remedy(row)
    if row.is_succeeded and len(rows) == 1:
        return handoff_status(row), why
    if row.group in BY_EXCEPTION:
        return why, SINCE
    if len(rows) == 1:
        if row.state == "starting":
            return f"next: phoenixctl wait {row.name} --for running", why
        return f"next: phoenixctl {'attach' if row.pid is not None else 'start'} {row.name}", why
    return f"one in full: phoenixctl status {row.name}" if everyone else "each agent: phoenixctl status --all", SINCE


def handoff_status(row: Row) -> str:
    """Where the handoff is told that goes on without the holder of its seat."""
    return f"next: phoenixctl handoff status {row.name}"


def _remedy(row: Row) -> str:
    """What helps an agent that asks nothing: a start where nothing runs, else what its alert asks for."""
    if row.is_succeeded and row.pressing is None:
        return handoff_status(row)
    if row.pid is None:
        return f"again: phoenixctl start {row.name}"
    alert = row.pressing
    remedy = f"phoenixctl attach {row.asked_at}"
    if alert is not None:
        remedy = next_command(alert.kind, row.name, about=alert.about)
    if remedy != f"phoenixctl explain {row.name}":
        return f"do: {remedy}"
    return f"seen: phoenixctl ack {alert.id}" if alert is not None and alert.ack is None else SINCE


def answer_from_afar(row: Row) -> int:
    """The number by which what it asks can be answered from afar; 0 where it cannot."""
    return row.item.id if row.item is not None and is_reachable(row.item) else 0


def answer_command(row: Row) -> str:
    """How what it asks is answered."""
    number = answer_from_afar(row)
    return f"phoenixctl answer {number}" if number else f"phoenixctl attach {row.asked_at}"


def answer_choice(row: Row) -> str:
    """The same with what alone can be said of it. Typed as it stands it allows nothing: a person has to choose.

    Else the number alone: `answer N` shows the item whole, and the commands that answer it.
    """
    command, item = answer_command(row), row.item
    if item is None or not answer_from_afar(row) or item.kind == QUESTION or not limits(item):
        return command
    return f'{command} deny "REASON"'
