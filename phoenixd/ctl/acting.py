"""Verbs for one agent or for many: a name goes the short way, a selector is shown, confirmed and acted on."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

from phoenixd.api import exits
from phoenixd.api.operations.operation import NAME_PATTERN
from phoenixd.core.durations import LENGTHS, MAX_DURATION, SHORTEST_MUTE, parse_length
from phoenixd.ctl import absence, calls
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse
from phoenixd.ctl.spelling import spelled
from phoenixd.ctl.typed_times import BARE, SPOKEN

CARRIED = ("fresh", "after_iteration", "wait", "timeout", "for", "why")
"""What a verb for many takes over of the verb for one."""
VERBS: dict[tuple[str, ...], str] = {
    ("breaker", "reset"): "breaker_reset",
    ("resonance", "check"): "check",
    ("resonance", "restore"): "restore",
}
"""How the verbs of two words are called where they are for many."""
LOOKS = 5
"""How often it is looked anew who is meant, where others match each time that it is to be done."""
CONFLICT = 409
NAMED = 20
"""Agents that a question names; of more it tells the number."""
YES = ("y", "yes")


def act(command: Command) -> int:
    """`start|stop|restart|remove|send SELECT...`."""
    words = [str(command.given["name"]), *map(str, command.given.get("which") or ())]
    verb, dry = command.words[0], bool(command.given.get("only_show"))
    if verb == "mute" and (why := _no_length(str(command.given.get("for", "1h")))):
        return refuse(exits.USAGE, f"--for {why}", _with_length(command))
    if verb == "mute" and "for" not in command.given and len(words) > 1 and not _no_length(words[-1]):
        given = {**command.given, "which": words[1:-1]}
        shown = Command(command.words, command.operation, given, as_json=command.as_json)
        why = f"{words[-1]} is a length of time, and stands behind --for"
        return refuse(exits.USAGE, why, spelled(shown, "--for", words[-1]))
    if len(words) == 1 and not dry and re.fullmatch(NAME_PATTERN, words[0]):
        return calls.send(command) if verb == "send" else calls.call(command)
    asked = {"verb": VERBS.get(command.words, verb), "select": " ".join(words), **_carried(command)}
    if verb == "send" and not dry:
        asked["text"] = calls.text_of(command)
        if not asked["text"].strip():
            return calls.nothing_to_send(command)
    return _confirmed(command, "act", asked, dry=dry)


def _no_length(text: str) -> str:
    """Why nobody can be muted for so long; nothing where that can be done."""
    try:
        seconds = parse_length(text)
    except ValueError as error:
        return str(error)
    return "" if SHORTEST_MUTE <= seconds <= MAX_DURATION else f"{text}: {LENGTHS}"


def _with_length(command: Command) -> str:
    """The mute with a length that is taken: of a number that lacks its unit in the unit that stands after it."""
    which = [str(word) for word in command.given.get("which") or ()]
    number, unit = str(command.given["for"]), next((word for word in which if word in SPOKEN), "m")
    length = f"{number}{unit[0]}"
    is_meant = BARE.fullmatch(number) is not None and not _no_length(length)
    # `--for 5 mins` is a length in two words: the second is no agent.
    whom = [word for word in which if word not in SPOKEN] if BARE.fullmatch(number) else which
    shown = Command(command.words, command.operation, {**command.given, "which": whom}, command.socket, command.as_json)
    return spelled(shown, "--for", length if is_meant else "1h")


def undo(command: Command) -> int:
    """`undo [SELECT...]`."""
    asked: dict[str, Any] = {"act": command.given.get("act")}
    if which := command.given.get("which"):
        asked["select"] = " ".join(map(str, which))
    return _confirmed(command, "undo", asked, dry=bool(command.given.get("only_show")))


def _carried(command: Command) -> dict[str, Any]:
    """What the verb for many is told of what the verb for one was given, or takes where nothing was given."""
    defaults = {one.name: one.default for one in command.operation.parameters}
    found = {key: command.given.get(key, defaults.get(key)) for key in CARRIED}
    return {key: value for key, value in found.items() if value is not None}


def _confirmed(command: Command, operation: str, asked: dict[str, Any], *, dry: bool) -> int:
    """Act at once where that was agreed to beforehand; else look who is meant, and ask where that are several."""
    known, agreed = calls.operation(operation), bool(command.given.get("yes"))
    if dry or (agreed and asked.get("verb") != "send"):
        return calls.told(command, calls.ask(command, known, {**asked, "dry_run": dry}))
    key = str(command.given.get("key") or os.urandom(16).hex())
    for attempt in range(LOOKS):
        found = calls.ask(command, known, {**asked, "dry_run": True}, as_json=True)
        if found is None:
            return absence.explain(calls.places(command))
        if found.exit != exits.OK:
            return calls.tell(command, found)
        shown = json.loads(found.body)
        names = [str(one["name"]) for one in shown["agents"]]
        if len(names) > 1 and not agreed:
            code = _asked(command, len(names), _acts(shown) if operation == "undo" else named(names))
            if code is not None:
                return code
        # Whom a person was shown is who is acted on, or nobody is; and what was shown is what is taken back.
        told = {**asked, "expect": names, **({"act": shown["act"]} if operation == "undo" else {})}
        if asked.get("verb") != "send":
            return calls.told(command, calls.ask(command, known, told))
        answer = calls.insist(command, known, told, key)
        # An operator who agrees beforehand agrees to the agents that match when it is done.
        if answer is None or answer.status != CONFLICT or not agreed or attempt == LOOKS - 1:
            break
    if answer is None:
        return calls.not_known(command, key, "--yes")
    return calls.tell(command, answer)


def named(names: list[str]) -> str:
    """The agents that a question is about."""
    return f"{', '.join(names[:NAMED])}{f' and {len(names) - NAMED} more' if len(names) > NAMED else ''}"


def _acts(shown: dict[str, Any]) -> str:
    """What undo would take back, and of whom: of each agent it may be another act."""
    of_act: dict[str, list[str]] = {}
    for one in shown["agents"]:
        of_act.setdefault(str(one["message"]), []).append(str(one["name"]))
    return "; ".join(f"{act}: {named(names)}" for act, names in of_act.items())


def _asked(command: Command, count: int, whom: str) -> int | None:
    """None where a person agrees; else the exit code."""
    verb = " ".join(command.words)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        why = f"{verb} means {count} agents: {whom}; nothing was done"
        return refuse(exits.USAGE, why, spelled(command, "--yes"))
    print(f"{verb}: {count} agents: {whom}", file=sys.stderr)
    print(f"{verb} all {count}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in YES:
        return None
    return refuse(exits.FAILED, "nothing was done", spelled(command, "--dry-run"))
