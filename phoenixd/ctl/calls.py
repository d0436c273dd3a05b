"""Verbs that the daemon answers: the arguments go out as the table says, the answer is copied."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from phoenixd import __version__
from phoenixd.api import exits
from phoenixd.api.operations import BY_NAME
from phoenixd.api.operations.operation import SEND_LIMIT, Operation
from phoenixd.core.durations import parse_duration
from phoenixd.ctl import absence, pager, wire
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse
from phoenixd.ctl.spelling import spelled

ROUND = 60.0
"""Seconds of one question of `wait`; a daemon that restarts in between is only asked again."""
SLACK = 60.0
RETRY = 0.25
ORDER = 75.0
"""Seconds for which an order is waited for that has no timeout of its own: a slow disk is no refusal."""
LONG = {"remove_agent": 135.0, "doctor": 60.0}
"""Seconds of questions that take the daemon long: doctor asks every CLI for its version."""
TO_ANSWER = 3.0
"""Seconds before phoenixctl gives up at which the daemon is to say what it knows."""
COMES_BACK = 30.0
"""Seconds in which a daemon that went away under a question is waited for."""


def call(command: Command) -> int:
    """Ask and copy; what was only looked at goes to a pager where it is long."""
    answer = ask(command, command.operation, command.given)
    return shown(command, answer) if answer is not None else absence.explain(places(command))


def shown(command: Command, answer: wire.Answer) -> int:
    """Copy an answer; returns its exit code."""
    if command.operation.method == "GET" and not command.as_json and answer.exit in (exits.OK, exits.CONDITION):
        pager.page(answer.body)
        return answer.exit
    return tell(command, answer)


def send(command: Command) -> int:
    """`send NAME TEXT|-`: what stands on standard input for -."""
    text = text_of(command)
    if not text.strip():
        return nothing_to_send(command)
    key = str(command.given.get("key") or os.urandom(16).hex())
    if not _is_there(command):
        return absence.explain(places(command))
    answer = insist(command, command.operation, {**command.given, "text": text}, key)
    return tell(command, answer) if answer is not None else not_known(command, key)


def insist(command: Command, operation: Operation, given: dict[str, Any], key: str) -> wire.Answer | None:
    """Ask until there is an answer, for as long as a daemon may take to come back.

    A daemon that went away before it had answered may have acted. The next one knows by the key what became of it.
    """
    answer = ask(command, operation, given, key=key)
    deadline = time.monotonic() + COMES_BACK
    # One that is there and answers nobody does not come back by being asked.
    while answer is None and not wire.is_given_up() and time.monotonic() < deadline:
        time.sleep(RETRY)
        answer = ask(command, operation, given, key=key)
    return answer


def nothing_to_send(command: Command) -> int:
    words = spelled(command, without=("text",))
    return refuse(exits.USAGE, "there is nothing to send; - reads standard input", f"{words} 'TEXT'")


def not_known(command: Command, key: str, *more: str) -> int:
    """The daemon went away and did not come back: it is asked by the same key what became of the text."""
    code = absence.explain(places(command))
    again = spelled(command, "--key", key, *more)
    return refuse(code, "what became of the text is not known yet", f"the same again: {again}")


def text_of(command: Command) -> str:
    """The text that is to be sent: what stands on standard input for -, without the newline at its end."""
    text = str(command.given["text"])
    if text != "-":
        return text
    return sys.stdin.buffer.read(SEND_LIMIT + 1).decode("utf-8", "replace").removesuffix("\n")


def _is_there(command: Command) -> bool:
    try:
        connection = wire.reach(places(command))
    except OSError:
        return False
    if connection is not None:
        connection.close()
    return connection is not None


def wait(command: Command) -> int:
    """`wait NAME --for STATE`: in rounds, so that it outlives a restart of the daemon."""
    try:
        timeout = parse_duration(str(command.given.get("timeout", "10m")))
    except ValueError as error:
        return refuse(exits.USAGE, f"--timeout {error}", "phoenixctl wait --help")
    deadline = time.monotonic() + timeout
    met_a_daemon = False
    while True:
        left = max(0.0, deadline - time.monotonic())
        answer = ask(command, command.operation, {**command.given, "timeout": f"{min(left, ROUND):.3f}"})
        met_a_daemon = met_a_daemon or answer is not None
        if answer is not None and (answer.exit != exits.TIMED_OUT or left <= ROUND):
            return tell(command, answer)
        if answer is None:
            if not met_a_daemon or left <= 0:
                return absence.explain(places(command))
            time.sleep(RETRY)


def version(command: Command) -> int:
    """Both versions; that of a daemon that does not answer is unknown, which is no failure."""
    answer = ask(command, command.operation, {}, as_json=True)
    daemon = json.loads(answer.body) if answer is not None and answer.status == 200 else None
    if command.as_json:
        print(json.dumps({"phoenixctl": __version__, "daemon": daemon}))
        return exits.OK
    print(f"phoenixctl {__version__}")
    print(f"phoenixd {daemon['version']}, pid {daemon['pid']}" if daemon else "phoenixd does not answer")
    return exits.OK


def ask(
    command: Command, operation: Operation, given: dict[str, Any], *, as_json: bool | None = None, key: str = ""
) -> wire.Answer | None:
    """One question to the daemon. Every act carries an Idempotency-Key: the given one, or a fresh one."""
    target, body = spell(operation, given)
    patience = _patience(operation, given)
    headers: tuple[str, ...] = ()
    if operation.method == "POST":
        wait = f"prefer: wait={int(patience - TO_ANSWER)}"
        headers = (f"idempotency-key: {key or os.urandom(16).hex()}", wait)
    return wire.ask(
        places(command),
        operation.method,
        target,
        body,
        as_json=command.as_json if as_json is None else as_json,
        headers=headers,
        timeout=patience,
    )


def spell(operation: Operation, given: dict[str, Any], extra: tuple[str, ...] = ()) -> tuple[str, bytes | None]:
    """The target and the body that carry these arguments."""
    assert operation.path is not None
    path = operation.path
    for parameter in operation.at("path"):
        path = path.replace(f"{{{parameter.name}}}", wire.quoted(str(given[parameter.name])))
    parts = [
        f"{parameter.name}={wire.quoted(_plain(given[parameter.name]))}"
        for parameter in operation.at("query")
        if parameter.name in given
    ]
    hidden = {parameter.name for parameter in operation.at("query") if parameter.hidden}
    if "width" in hidden:
        parts += wire.terminal()
    if "look" in hidden:
        parts += wire.look()
    parts += extra
    fields = {
        parameter.name: _pairs(given[parameter.name]) if parameter.type == "pairs" else given[parameter.name]
        for parameter in operation.at("body")
        if given.get(parameter.name) is not None
    }
    body = json.dumps(fields).encode() if operation.at("body") else None
    return (f"{path}?{'&'.join(parts)}" if parts else path), body


def tell(command: Command, answer: wire.Answer) -> int:
    """Copy an answer; a problem in JSON is told in words, for standard error is for people."""
    if answer.type.startswith("application/problem+json"):
        problem = json.loads(answer.body)
        return refuse(answer.exit, problem["detail"], problem["remedy"])
    if command.as_json and answer.status < 400:
        wire.write(1, answer.body)
    else:
        wire.tell(answer)
    if wire.is_lost() and command.operation.method != "GET" and answer.status < 400:
        wire.write(2, b"phoenixd took the order all the same: " + answer.body.partition(b"\n")[0] + b"\n")
    return answer.exit


def told(command: Command, answer: wire.Answer | None) -> int:
    """Copy an answer, or say why no daemon gave one; returns the exit code."""
    return tell(command, answer) if answer is not None else absence.explain(places(command))


def places(command: Command) -> list[bytes]:
    """Where the daemon may listen."""
    return wire.sockets(wire.environment(), command.socket)


def operation(name: str) -> Operation:
    return BY_NAME[name]


def _plain(value: Any) -> str:
    return ("1" if value else "0") if isinstance(value, bool) else str(value)


def _pairs(words: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise SystemExit(refuse(exits.USAGE, f"--env {word[:40]} sets nothing", "write it as --env NAME=VALUE"))
        pairs[key] = value
    return pairs


def _patience(operation: Operation, given: dict[str, Any]) -> float:
    """Longer than the daemon may wait for what was asked."""
    for parameter in operation.parameters:
        if parameter.name == "timeout":
            try:
                return parse_duration(str(given.get("timeout", parameter.default))) + SLACK
            except ValueError:
                break
    return LONG.get(operation.name, ORDER if operation.method == "POST" else wire.TIMEOUT)
