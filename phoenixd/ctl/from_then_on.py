"""`--since`: from when on is shown. A time of day is one of this shell's, and of yesterday where today's is to come."""

from __future__ import annotations

import sys
from dataclasses import replace

from phoenixd.api import exits
from phoenixd.api.pages.layout import of_yesterday
from phoenixd.api.times import meant_past, parse_past, rfc3339
from phoenixd.core.durations import is_duration
from phoenixd.ctl import face
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse
from phoenixd.ctl.spelling import spelled
from phoenixd.ctl.typed_times import BARE, SPOKEN

LAST = "last"
"""The one word for a time that only the daemon knows; not every verb takes it."""


def from_then_on(command: Command) -> Command:
    """The command with the moment that its time of day means. Which day that is is told where it is not today.

    Leaves with a refusal where the words are no time.
    """
    words = str(command.given.get("since") or "")
    if not words or (words == LAST and command.operation.name == "list_events") or is_duration(words):
        return command
    here = face.here()
    try:
        start = parse_past(words, here.now, None)
    except ValueError as error:
        raise SystemExit(refuse(exits.USAGE, str(error), _with_a_length(command, words))) from None
    if told := of_yesterday(words, start, here):
        print(told, file=sys.stderr)
    return replace(command, given={**command.given, "since": rfc3339(start)})


def _with_a_length(command: Command, words: str) -> str:
    """The command with a length that is taken: of a number in the unit that stands after it (`3 days`), else hours."""
    given = dict(command.given)
    whom = [str(one) for one in (given.get("agent"), *(given.get("which") or ())) if one is not None]
    unit = next((one for one in whom if one in SPOKEN), "h")
    is_number = BARE.fullmatch(words) is not None
    length = f"{words}{unit[0]}" if is_number else meant_past(words)
    if is_number and given.get("agent") in SPOKEN:
        # The unit stands where an agent would.
        del given["agent"]
    given["which"] = [one for one in given.get("which") or () if not (is_number and str(one) in SPOKEN)]
    return spelled(replace(command, given=given), "--since", length)
