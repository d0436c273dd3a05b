"""`status --watch`: status once, then a plain line for each change. No cursor moves, so readers and logs can follow."""

from __future__ import annotations

import json
import re
from typing import Any

from phoenixd.api import exits
from phoenixd.api.operations.operation import NAME_PATTERN, Operation
from phoenixd.api.pages.layout import clean
from phoenixd.core.selection import Selector, Subject, parse
from phoenixd.ctl import absence, calls
from phoenixd.ctl.follow import follow
from phoenixd.ctl.grammar import Command

SIGNS = {"needs_you": "!", "healing": "~", "working": "*", "resting": ".", "unknown": "?"}
SHOWN = ("incarnation", "group", "state", "activity", "waiting_for", "parked_until", "item")
"""What of a row is a change that is told; ages and counts are not."""


def status(command: Command) -> int:
    """`status [NAME|SELECT...] [--watch]`."""
    watches = bool(command.given.pop("watch", False))
    command = _chosen(command)
    if not watches:
        return calls.call(command)
    watched = _Watched(command)
    events = calls.operation("list_events")
    newest = calls.ask(command, events, {"lines": 1, "all": True}, as_json=True)
    if newest is None:
        return absence.explain(calls.places(command))
    found = watched.begin()
    if found not in (exits.OK, exits.CONDITION) or newest.status >= 400:
        return found
    given: dict[str, Any] = {"all": True}
    if "name" in command.given:
        given["agent"] = command.given["name"]
    asking = Command(command.words, events, given, command.socket, command.as_json)
    # From before it was looked at: what happens in between is told, and once.
    return follow(asking, watched.hear, last=str(json.loads(newest.body)["next"]))


def _chosen(command: Command) -> Command:
    """The command, as one about a list where more than a name was given."""
    words = [str(command.given[key]) for key in ("name",) if key in command.given]
    words += map(str, command.given.get("which") or ())
    if not words or (len(words) == 1 and re.fullmatch(NAME_PATTERN, words[0])):
        return command
    given = {"all": True, "select": " ".join(words)}
    return Command(command.words, calls.operation("list_agents"), given, command.socket, command.as_json)


class _Watched:
    """What was told of each agent last."""

    def __init__(self, command: Command) -> None:
        self._command = command
        found = parse(str(command.given["select"])) if "select" in command.given else None
        self._selector = found if isinstance(found, Selector) else None
        self._told: dict[str, tuple[Any, ...]] = {}

    def begin(self) -> int:
        """Tell how it is now, and keep it."""
        asked = self._command.operation
        shown = calls.ask(self._command, asked, self._command.given)
        rows = calls.ask(self._command, asked, self._command.given, as_json=True)
        if shown is None or rows is None:
            return absence.explain(calls.places(self._command))
        code = calls.tell(self._command, shown)
        if shown.status >= 400:
            return code
        for row in json.loads(rows.body)["agents"]:
            self._told[row["name"]] = _key(row)
        return code

    def hear(self, data: str) -> None:
        """Something was journaled: look what that has made of its agent."""
        event = json.loads(data)
        name = event["agent"]
        if name is None or re.fullmatch(NAME_PATTERN, name) is None:
            return
        answer = calls.ask(self._command, self._show, {"name": name}, as_json=True)
        if answer is None:
            return
        if answer.status == 404:
            if self._told.pop(name, None) is not None:
                self._print({"name": name, "group": "resting", "state": "removed"}, event["at"])
            return
        if answer.status >= 400:
            return
        for row in json.loads(answer.body)["agents"]:
            if self._selector is not None and not self._selector.takes(_subject(row)):
                continue
            told, now = self._told.get(row["name"]), _key(row)
            if told != now:
                self._told[row["name"]] = now
                self._print(row, event["at"], is_another_run=told is not None and told[0] != now[0])

    @property
    def _show(self) -> Operation:
        return calls.operation("show_agent")

    def _print(self, row: dict[str, Any], at: str, *, is_another_run: bool = False) -> None:
        if self._command.as_json:
            print(json.dumps(row), flush=True)
            return
        run = f", incarnation {row['incarnation']}" if is_another_run else ""
        print(clean(f"{at[11:19]}Z {line(row, run)}"), flush=True)


def line(row: dict[str, Any], run: str = "") -> str:
    """One agent in a line: sign, name, what it is at, and why."""
    words = [str(row["state"]).replace("_", " ")]
    if row.get("activity"):
        words.append(str(row["activity"]))
    if row.get("waiting_for"):
        words.append(str(row["waiting_for"]))
    elif row["state"] != "running" and row.get("reason"):
        words.append(str(row["reason"]))
    item = f"  #{row['item']}" if row.get("item") else ""
    return f"{SIGNS.get(row['group'], '?')} {row['name']}  {', '.join(words)}{run}{item}"


def _subject(row: dict[str, Any]) -> Subject:
    words = tuple(str(row[name]) for name in ("state", "activity", "group") if row.get(name))
    labels = tuple(row.get("labels") or ())
    needs = row["group"] == "needs_you"
    return Subject(row["name"], row["kind"], row["harness"], words, needs, row.get("project"), labels)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in SHOWN)
