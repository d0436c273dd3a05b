"""`answer`: with words they are the answer; without any the whole item is shown, and a terminal is asked."""

from __future__ import annotations

import json
import sys
from typing import Any

from phoenixd.api import exits
from phoenixd.api.operations.operation import Operation
from phoenixd.ctl import absence, calls
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse


def answer(command: Command) -> int:
    """`answer ID|NAME [ANSWER...]`."""
    if command.given.get("answer"):
        return calls.call(command)
    show = calls.operation("show_item")
    found = calls.ask(command, show, command.given, as_json=True)
    if found is None:
        return absence.explain(calls.places(command))
    if found.exit != exits.OK:
        return _told(command, show, command.given)
    item = json.loads(found.body)["item"]
    # Shown by its number: what a name means may be another item by now, and the hash would be that of the first.
    code = _told(command, show, {**command.given, "id": str(item["id"])})
    if code != exits.OK:
        return code
    if item["answer_by"] != "answer":
        return refuse(exits.CONFLICT, f"#{item['id']} cannot be answered from here", _elsewhere(item))
    # What answers it was shown above; a remedy that is copied must not choose for anybody.
    look = f"phoenixctl inbox {item['id']}"
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or command.as_json:
        return refuse(exits.USAGE, "an answer is missing", look)
    words = _typed(item)
    if not words:
        return refuse(exits.USAGE, f"nothing was answered; #{item['id']} still waits", look)
    # What was shown is what is answered, also where the number means something else by now.
    return calls.call(_with(command, item, words))


def _elsewhere(item: dict[str, Any]) -> str:
    """Where it is answered; that an agent in quarantine starts again is for a person to decide."""
    return f"phoenixctl explain {item['agent']}" if item["kind"] == "quarantined" else str(item["advice"])


def _told(command: Command, show: Operation, given: dict[str, Any]) -> int:
    return calls.told(command, calls.ask(command, show, given))


def _typed(item: dict[str, Any]) -> list[str]:
    """What a person types: an answer to each question, or a verb and its reason; nothing for leaving it."""
    questions = item["questions"]
    try:
        if item["kind"] == "question":
            prompts = [f"answer {number}: " for number in range(1, len(questions) + 1)]
            typed = [input(prompt).strip() for prompt in (prompts if len(questions) > 1 else ["answer: "])]
            return typed if all(typed) else []
        verb, _, reason = input("answer: ").strip().partition(" ")
    except EOFError:
        print()
        return []
    return [word for word in (verb, reason.strip()) if word]


def _with(command: Command, item: dict[str, Any], words: list[str]) -> Command:
    given = {**command.given, "id": str(item["id"]), "answer": words, "text_hash": item["text_hash"]}
    return Command(command.words, command.operation, given, command.socket, command.as_json)
