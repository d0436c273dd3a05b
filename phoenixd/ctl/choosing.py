"""Verbs that look: a name goes the short way, selectors choose among what the list has."""

from __future__ import annotations

import re

from phoenixd.api import exits
from phoenixd.api.operations.operation import NAME_PATTERN
from phoenixd.ctl import absence, calls
from phoenixd.ctl.grammar import Command

LISTS = {
    "list_agents": "list_agents",
    "show_agent": "list_agents",
    "inbox": "inbox",
    "show_item": "inbox",
    "list_events": "list_events",
    "list_breakers": "list_breakers",
    "breaker_show": "list_breakers",
    "list_resonance": "list_resonance",
    "show_resonance": "list_resonance",
    "clean_fleet": "clean_fleet",
    "clean_agent": "clean_fleet",
}
"""By each operation of such a verb the one that takes selectors."""
FIRST = ("name", "id", "agent")
"""How the operations call what stands first."""


def look(command: Command) -> int:
    """`inbox|breaker show|resonance status|cleanup [NAME|SELECT...]`."""
    given = dict(command.given)
    is_closed, numbers = given.pop("closed", False), _numbers(command)
    if len(numbers) > 1:
        state = "closed" if is_closed else "open"
        several = {**given, "numbers": ",".join(numbers), "state": state}
        for key in ("id", "which"):
            del several[key]
        return calls.call(
            Command(command.words, calls.operation("list_items"), several, command.socket, command.as_json)
        )
    if is_closed:
        if numbers:
            given["item"] = int(given.pop("id"))
        asking = chosen(Command(command.words, command.operation, given, command.socket, command.as_json), always=True)
        given = {**asking.given, "state": "closed"}
        return calls.call(Command(command.words, calls.operation("list_items"), given, command.socket, command.as_json))
    asking = chosen(Command(command.words, command.operation, given, command.socket, command.as_json))
    if asking.operation.name != "show_item" or numbers:
        return calls.call(asking)
    answer = calls.ask(asking, asking.operation, asking.given)
    if answer is not None and answer.exit == exits.CONFLICT:
        # Several things of it wait: an inbox lists them.
        return calls.call(chosen(asking, always=True))
    return calls.shown(asking, answer) if answer is not None else absence.explain(calls.places(asking))


def _numbers(command: Command) -> list[str]:
    """The numbers of items, where numbers are all that is given: several, or one."""
    if command.operation.name != "show_item":
        return []
    words = [str(command.given["id"]), *map(str, command.given.get("which") or ())]
    return words if all(word.isdecimal() and word.isascii() for word in words) else []


def chosen(command: Command, *, always: bool = False) -> Command:
    """The command as one about a list, where more than a plain name was given, or always."""
    given = dict(command.given)
    first = next((key for key in FIRST if key in given), None)
    words = [str(given[first])] if first is not None else []
    words += map(str, given.pop("which", None) or ())
    is_plain = not words or (len(words) == 1 and first is not None and re.fullmatch(NAME_PATTERN, words[0]))
    if is_plain and not always:
        return Command(command.words, command.operation, given, command.socket, command.as_json)
    if first is not None:
        del given[first]
    if words:
        given["select"] = " ".join(words)
    asked = calls.operation(LISTS[command.operation.name])
    return Command(command.words, asked, given, command.socket, command.as_json)
