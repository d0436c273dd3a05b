"""`status --watch`: status once, then a plain line for each change. No cursor moves, so readers and logs can follow.

What changes is heard from the feed, which names agents that are gone and those that are not chosen any more. A death is
a line of its own, by the row of the journal that tells it: who is back within a second has changed nothing else.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from phoenixd.api import exits
from phoenixd.api.pages.layout import clean
from phoenixd.core.seat.names import seat_name
from phoenixd.ctl import absence, calls, face, wire
from phoenixd.ctl.choosing import chosen
from phoenixd.ctl.follow import follow_named
from phoenixd.ctl.grammar import Command

SIGNS = {"needs_you": "!", "healing": "~", "working": "*", "resting": ".", "unknown": "?"}
LOOKS = 5
"""How often the page is asked for, until nothing changes beside it."""
SHOWN = ("incarnation", "group", "state", "activity", "waiting_for", "parked_until", "item")
"""What of a row is a change that is told; ages and counts are not."""
DEATHS = frozenset({"death", "unstarted"})
"""What an end means that is told. All others were asked for, or change the state, which says why."""
AFTER = {"quarantine": "!", "stay": ".", "park": ".", "remove": "."}
"""The sign of what follows on a death; a restart heals it."""


def status(command: Command) -> int:
    """`status [NAME|SELECT...] [--watch]`."""
    watches = bool(command.given.pop("watch", False))
    command = chosen(command)
    if "select" in command.given:
        command.given["all"] = True
    if not watches:
        return calls.call(command)
    watched = _Watched(command)
    given: dict[str, Any] = {"select": select} if (select := _select(command)) else {}
    asking = Command(command.words, calls.operation("follow_feed"), given, command.socket, command.as_json)
    before = None if command.as_json else _newest_row(asking)
    found = watched.begin()
    if found not in (exits.OK, exits.CONDITION):
        return found
    # The first frames are what is there, or what changed: what happened since the look is told, and once.
    return follow_named(asking, watched.hear, last=before)


def _newest_row(asking: Command) -> str | None:
    """The newest row of the journal, after which each death is told; None where nobody can say."""
    answer = calls.ask(asking, asking.operation, asking.given, as_json=True)
    return str(json.loads(answer.body)["as_of"]["row"]) if answer is not None and answer.status < 400 else None


def _select(command: Command) -> str:
    """What the feed is asked for; of a generation it has no row, and of its seat it has."""
    return seat_name(str(command.given["name"])) if "name" in command.given else str(command.given.get("select", ""))


class _Watched:
    """What was told of each agent last."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._told: dict[str, tuple[Any, ...]] = {}
        self._lines: dict[str, str] = {}
        """The line that would tell each agent as it was told: what it does not show is no reason to print it again."""
        self._causes: dict[str, str] = {}
        """The reason that the line of each agent's newest death gave: the line of its state need not say it again."""
        self._unheard: set[str] = set()
        """Agents that were there, and that the daemon has not spoken of since it began to tell."""

    def begin(self) -> int:
        """Tell how it is now, and keep it."""
        asked, given = self._command.operation, self._command.given
        rows = calls.ask(self._command, asked, given, as_json=True)
        for _ in range(LOOKS):
            shown, before = calls.ask(self._command, asked, given), rows
            rows = calls.ask(self._command, asked, given, as_json=True)
            # Else something changed beside the page, and would be told again, or never.
            if shown is None or rows is None or before is None or _rows(rows) == _rows(before):
                break
        if shown is None or rows is None:
            return absence.explain(calls.places(self._command))
        if shown.exit == exits.NOT_FOUND and "select" in self._command.given:
            # Of words that choose, one may come that they take; a name that nobody has is a slip.
            print(f"nothing matches {self._command.given['select']} yet; waiting", file=sys.stderr, flush=True)
            return exits.OK
        code = calls.tell(self._command, shown)
        if shown.status >= 400:
            return code
        for name, (key, told) in _rows(before or rows).items():
            self._told[name], self._lines[name] = key, told
        return code

    def hear(self, event: str, data: str) -> None:
        """Tell what a frame changes."""
        body = json.loads(data)
        match event:
            case "hello" if body["whole"]:
                self._unheard = set(self._told)
            case "agent":
                self._unheard.discard(body["name"])
                told, now = self._told.get(body["name"]), _key(body)
                if told != now:
                    self._told[body["name"]] = now
                    self._tell(body, is_another_run=told is not None and told[0] != now[0])
            case "note":
                self._note(body)
            case "gone":
                self._leave(body["name"], "removed" if body["removed"] else "not chosen any more")
            case "beat":
                for name in sorted(self._unheard):
                    self._leave(name, "gone")
                self._unheard.clear()
            case _:
                pass

    def _note(self, row: dict[str, Any]) -> None:
        """Tell a death, and its cause, by what the journal's row establishes; in JSON `events -f` tells it."""
        ends = [one for one in row["facts"] if one["name"] == "run_ended" and one["meaning"] in DEATHS]
        if not ends or self._command.as_json:
            return
        name, end = seat_name(str(row["agent"])), ends[-1]
        self._causes[name] = str(row["reason"])
        run = f", incarnation {end['incarnation']}"
        told = f"{AFTER.get(end['then'], SIGNS['healing'])} {name}  {row['reason']}{run}"
        print(clean(f"{face.here().clock(time.time())} {told}"), flush=True)

    def _leave(self, name: str, how: str) -> None:
        self._lines.pop(name, None)
        self._causes.pop(name, None)
        if self._told.pop(name, None) is not None:
            self._print({"name": name, "group": "resting", "state": how})

    def _tell(self, row: dict[str, Any], *, is_another_run: bool) -> None:
        before, now = self._lines.get(row["name"]), line(row)
        self._lines[row["name"]] = now
        if self._command.as_json or is_another_run or before != now:
            self._print(row, is_another_run=is_another_run)

    def _print(self, row: dict[str, Any], *, is_another_run: bool = False) -> None:
        if self._command.as_json:
            print(json.dumps(row), flush=True)
            return
        run = f", incarnation {row['incarnation']}" if is_another_run else ""
        if row.get("reason") and row["reason"] == self._causes.get(row["name"]):
            row = {**row, "reason": ""}
        print(clean(f"{face.here().clock(time.time())} {line(row, run)}"), flush=True)


def line(row: dict[str, Any], run: str = "") -> str:
    """One agent in a line: sign, name, what it is at, and why."""
    words = [str(row["state"]).replace("_", " ")]
    if row.get("activity"):
        words.append(str(row["activity"]))
    if row.get("waiting_for"):
        words.append(str(row["waiting_for"]))
    elif row["state"] != "running" and row.get("reason"):
        # The state stands before it already.
        words.append(str(row["reason"]).removeprefix(f"{row['state']}: ").removeprefix(f"{words[0]} "))
    told, item = ", ".join(words), f"  #{row['item']}" if row.get("item") else ""
    return f"{SIGNS.get(row['group'], '?')} {row['name']}  {told}{run if run not in f', {told}' else ''}{item}"


def _rows(answer: wire.Answer) -> dict[str, tuple[tuple[Any, ...], str]]:
    """What is told of each agent of an answer, by its name: nothing where it is a refusal."""
    rows = json.loads(answer.body).get("agents", []) if answer.status < 400 else []
    return {row["name"]: (_key(row), line(row)) for row in rows}


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in SHOWN)
