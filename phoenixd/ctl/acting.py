"""Verbs for one agent or for many: a name goes the short way, a selector is shown, confirmed and acted on."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from phoenixd.api import exits
from phoenixd.api.operations.operation import NAME_PATTERN
from phoenixd.ctl import absence, calls
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse

CARRIED = ("fresh", "after_iteration", "wait", "timeout", "text", "for", "why")
"""What a verb for many takes over of the verb for one."""
VERBS: dict[tuple[str, ...], str] = {
    ("breaker", "reset"): "breaker_reset",
    ("resonance", "check"): "check",
    ("resonance", "restore"): "restore",
}
"""How the verbs of two words are called where they are for many."""
NAMED = 20
"""Agents that a question names; of more it tells the number."""
YES = ("y", "yes")


def act(command: Command) -> int:
    """`start|stop|restart|remove|send SELECT...`."""
    words = [str(command.given["name"]), *map(str, command.given.get("which") or ())]
    dry = bool(command.given.get("only_show"))
    if len(words) == 1 and not dry and re.fullmatch(NAME_PATTERN, words[0]):
        return _alone(command)
    carried = {key: command.given[key] for key in CARRIED if command.given.get(key) is not None}
    if "text" in carried:
        carried["text"] = calls.text_of(command)
    asked = {"verb": VERBS.get(command.words, command.words[0]), "select": " ".join(words), **carried}
    return _confirmed(command, "act", asked, dry=dry)


def undo(command: Command) -> int:
    """`undo [SELECT...]`."""
    asked = {"select": " ".join(map(str, command.given.get("which") or ()))}
    return _confirmed(command, "undo", asked, dry=bool(command.given.get("only_show")))


def _alone(command: Command) -> int:
    return calls.send(command) if command.words[0] == "send" else calls.call(command)


def _confirmed(command: Command, operation: str, asked: dict[str, Any], *, dry: bool) -> int:
    """Act at once where that was agreed to beforehand; else look who is meant, and ask where that are several."""
    known = calls.operation(operation)
    if dry or command.given.get("yes"):
        return _told(command, operation, {**asked, "dry_run": dry})
    found = calls.ask(command, known, {**asked, "dry_run": True}, as_json=True)
    if found is None:
        return absence.explain(calls.places(command))
    if found.exit != exits.OK:
        return calls.tell(command, found)
    names = [str(one["name"]) for one in json.loads(found.body)["agents"]]
    if len(names) > 1:
        code = _asked(command, asked, names)
        if code is not None:
            return code
    # Whom a person was shown is who is acted on, or nobody is.
    return _told(command, operation, {**asked, "expect": names})


def _asked(command: Command, asked: dict[str, Any], names: list[str]) -> int | None:
    """None where a person agrees; else the exit code."""
    verb = " ".join(command.words)
    shown = f"{', '.join(names[:NAMED])}{f' and {len(names) - NAMED} more' if len(names) > NAMED else ''}"
    again = f"phoenixctl {verb} {_quoted(asked['select'])}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return refuse(exits.USAGE, f"{verb} means {len(names)} agents: {shown}; nothing was done", f"{again} --yes")
    print(f"{verb}: {len(names)} agents: {shown}", file=sys.stderr)
    print(f"{verb} all {len(names)}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in YES:
        return None
    return refuse(exits.FAILED, "nothing was done", f"{again} --dry-run")


def _told(command: Command, operation: str, asked: dict[str, Any]) -> int:
    answer = calls.ask(command, calls.operation(operation), asked)
    return calls.tell(command, answer) if answer is not None else absence.explain(calls.places(command))


def _quoted(words: str) -> str:
    """The words as a shell takes them."""
    return " ".join(word if word.replace("-", "").replace("_", "").isalnum() else f"'{word}'" for word in words.split())
