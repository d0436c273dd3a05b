"""A daemon beside another one: which configuration it reads, and that no agent is kept twice unless that is meant."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from typing import Any

from phoenixd.ctl import calls, wire
from phoenixd.directories import Directories

NAMED = 5
"""Agents that a refusal names."""
OUTER = (b"PHOENIX_SOCKET", b"PHOENIX_RUNTIME_DIR", b"PHOENIX_STATE_DIR", b"RUNTIME_DIRECTORY", b"STATE_DIRECTORY")


def keeps_them_already(wanted: Directories) -> tuple[str, str] | None:
    """Why this configuration is not for a second daemon, and the remedy; None where nobody keeps its agents.

    Both would run each agent in the same directory. Only a daemon of the default places, or that the environment names,
    is asked.
    """
    if wanted.configuration is None:
        return None
    from phoenixd.config import read_configuration

    names = set(read_configuration(wanted.configuration, wanted.state, os.environ).agents)
    for facts, kept in _living() if names else ():
        its_own = facts["directories"]
        if not _same(its_own["configuration"], wanted.configuration) or _same(its_own["state"], wanted.state):
            continue
        if twice := sorted(names & kept):
            more = f" and {len(twice) - NAMED} more" if len(twice) > NAMED else ""
            why = (
                f"the phoenixd of {its_own['state']} (pid {facts['pid']}) keeps the agents of {wanted.configuration}: "
                f"{', '.join(twice[:NAMED])}{more}\na second one would run each of them twice, in the same directory"
            )
            words = ["--state-dir", os.fspath(wanted.state), "--runtime-dir", os.fspath(wanted.runtime), "--config"]
            up = f"phoenixctl up {shlex.join(words)}"
            return why, f"{up} DIR, a configuration of its own; or, to run them twice, {up} {wanted.configuration}"
    return None


def introduced(place: bytes, wanted: Directories) -> str:
    """What a daemon that was begun on a new state directory keeps, by its own word."""
    facts, kept = _asked(place) or ({"directories": {"configuration": None}}, set())
    reads = facts["directories"]["configuration"]
    from_there = f"{len(kept)} {'agent' if len(kept) == 1 else 'agents'} of {reads}" if kept else "without agents"
    return f"It is a phoenixd of its own, {'with ' if kept else ''}{from_there}: {wanted.state} is new"


def _living() -> Iterator[tuple[dict[str, Any], set[str]]]:
    environ = wire.environment()
    default = {name: value for name, value in environ.items() if name not in OUTER}
    for place in dict.fromkeys([*wire.sockets(environ), *wire.sockets(default)]):
        if (found := _asked(place)) is not None:
            yield found


def _asked(place: bytes) -> tuple[dict[str, Any], set[str]] | None:
    """What the daemon there says of itself, and whom it keeps; None where none answers, or only an older one."""
    said = [
        wire.ask([place], "GET", str(calls.operation(name).path), as_json=True, timeout=wire.LOOK)
        for name in ("version", "list_agents")
    ]
    facts, rows = [json.loads(one.body) if one is not None and one.status == 200 else {} for one in said]
    if "directories" not in facts:
        return None
    return facts, {str(row["name"]) for row in rows.get("agents", [])}


def _same(one: str | None, other: os.PathLike[str]) -> bool:
    return one is not None and os.path.realpath(one) == os.path.realpath(other)
