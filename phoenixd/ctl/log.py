"""`log [SELECT...] [-f] [-g RE]`: what agents said and did, out of their transcripts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from phoenixd.api import exits
from phoenixd.api.pages import log as pages
from phoenixd.api.pages.layout import counted
from phoenixd.ctl import absence, calls, face, wire
from phoenixd.ctl.follow import follow
from phoenixd.ctl.from_then_on import from_then_on
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import reaching, refuse
from phoenixd.documents.log_lines import LogLine
from phoenixd.documents.times import read_time

SEARCHED = 10_000
"""Lines in which words are looked for."""
LINES = 50
ANY = "NAME"
NO_TRANSCRIPT = "What {} says cannot be read: it writes no transcript that phoenixd knows"
FIELDS = ("agent", "tool", "text")


def log(command: Command) -> int:
    """What there is, then what follows."""
    words = command.given.get("since")
    command = from_then_on(command)
    given = dict(command.given)
    if which := given.get("which"):
        given["select"] = " ".join(map(str, which))
    wanted = given.pop("grep", None)
    try:
        # Looked for here, and not in the daemon: an expression can take for ever, and this one's author can end it.
        pattern = re.compile(wanted) if wanted is not None else None
    except re.error as error:
        return refuse(exits.USAGE, f"{wanted!r} is no regular expression: {error}", "phoenixctl log --help")
    follows, most = bool(given.pop("follow", False)), given.get("lines")
    if pattern is not None and not follows:
        given["lines"] = SEARCHED
    show = _Printer(
        pattern, _whose(command), lambda: _writes_none(command), since=words, as_json=command.as_json,
        several=bool(given.get("which")),
    )  # fmt: skip
    asking = Command(command.words, command.operation, given, command.socket, command.as_json)
    if follows:
        return follow(asking, lambda data: show.lines(json.loads(data)["lines"], each=True))
    answer = calls.ask(asking, command.operation, given, as_json=True)
    if answer is None:
        return absence.explain(calls.places(command))
    if answer.status >= 400:
        return calls.tell(command, answer)
    limit = (most or LINES) if pattern is not None and given.get("since") is None else most
    show.lines(json.loads(answer.body)["lines"], limit)
    return exits.OK


def _whose(command: Command) -> str:
    """The one agent that was named, so that the command told next can be typed as it stands; else NAME."""
    words = list(map(str, command.given.get("which") or ()))
    is_one = len(words) == 1 and words[0].replace("-", "").replace("_", "").isalnum()
    return words[0] if is_one else ANY


def _writes_none(command: Command) -> bool:
    """Whether the one agent that was named is a program whose transcripts phoenixd cannot read, if it writes any."""
    if (name := _whose(command)) == ANY:
        return False
    answer = calls.ask(command, calls.operation("show_agent"), {"name": name}, as_json=True)
    if answer is None or answer.status >= 400:
        return False
    return bool(json.loads(answer.body)["agents"][0]["harness"] == "command")


class _Printer:
    """Prints lines as people read them, or as JSON. On a terminal a line ends with it; a pipe gets all of each."""

    def __init__(
        self,
        pattern: re.Pattern[str] | None,
        whose: str,
        is_silent: Callable[[], bool],
        *,
        since: str | None,
        as_json: bool,
        several: bool = False,
    ) -> None:
        """several: agents were named, and not one alone."""
        self._pattern = pattern
        self._whose = whose
        self._several = several
        self._is_silent = is_silent
        self._since = f"since {since}" if since else "so far"
        self._as_json = as_json
        self._cut = wire.is_terminal()
        self._column = 1

    def lines(self, told: list[dict[str, Any]], limit: int | None = None, *, each: bool = False) -> None:
        found = [one for one in told if self._pattern is None or self._matches(one, self._pattern)]
        found = found[-int(limit) :] if limit else found
        if self._as_json and not each:
            print(json.dumps({"lines": found}))
        elif self._as_json:
            for one in found:
                print(json.dumps(one), flush=True)
        elif found or each:
            print(self._text(found), end="", flush=True)
        else:
            see = reaching(f"phoenixctl screen {self._whose}")
            print(f"{self._nothing(told)}. The terminal itself: {see}")

    def _nothing(self, told: list[dict[str, Any]]) -> str:
        """Why no line is shown."""
        if told:
            return f"Of {counted(len(told), 'line')} none has what was looked for"
        if self._is_silent():
            return NO_TRANSCRIPT.format(self._whose)
        if self._whose == ANY:
            said = f"No agent{' of those that were named' if self._several else ''} has said anything"
            return f"{said} {self._since} in its present session"
        return f"{self._whose} has said nothing {self._since} in its present session"

    def _matches(self, line: dict[str, Any], pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(str(line[name])) for name in FIELDS if line[name])

    def _text(self, found: list[dict[str, Any]]) -> str:
        page = face.here()
        # Wide enough for all agents that were seen: the columns of what follows stand below those before.
        self._column = max(self._column, pages.column([str(one["agent"]) for one in found], page))
        lines = (
            LogLine(one["agent"], one["kind"], one["text"], read_time(one["at"]), one["tool"] or "") for one in found
        )
        return "".join(f"{pages.line(one, self._column, page, cut=self._cut)}\n" for one in lines)
