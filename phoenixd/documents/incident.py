"""incidents/N-KIND.json, or N-KIND-CASE.json: what could be seen of a failure, bounded, and without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import OpenCall
from phoenixd.core.agent.run import Incident
from phoenixd.core.decision import Readings
from phoenixd.core.moment import in_words
from phoenixd.documents.plain_text import clip, plain
from phoenixd.documents.times import timestamp
from phoenixd.shim.notice import MARK

LINES = 100
LINE_LIMIT = 500
TEXT_LIMIT = 2000
KEPT = 20
"""Incidents of an agent that are kept."""
DIRECTORY = "incidents"
"""Where they stand in an agent's directory."""
OLDER = "incident-*-*.json"
"""How those were called that an older version put beside the other documents."""
NOTICE = 2
"""Lines that a shim writes below an agent that is over. An agent that prints its mark hides no more of its own words.

The first one stays above the next run, which the shim starts in the same terminal.
"""

_HAS_WORDS = re.compile(r"[^\W\d_]{2}")
MOST_WORDED, PARAGRAPH_LIMIT = 12, 160
"""Lines and characters of what a terminal shows last, as one line tells it."""


def as_left(screen: str, agent: str) -> str:
    """A screen as its agent left it, without what the shim has written below since.

    In a screen that is read for this, and for `of_last_run`, a line that the terminal broke is one line.
    """
    lines = screen.rstrip().splitlines()
    left = len(lines)
    while left > max(0, len(lines) - NOTICE) and _is_ours(lines[left - 1], agent):
        left -= 1
    return screen if left == len(lines) else "\n".join(lines[:left]).rstrip()


def of_last_run(screen: str, agent: str) -> str:
    """What the newest run has left of such a screen, without what runs before it left above."""
    lines = screen.splitlines()
    ours = max((row for row, line in enumerate(lines, 1) if _is_ours(line, agent)), default=0)
    return "\n".join(lines[ours:])


def _is_ours(line: str, agent: str) -> bool:
    """Whether a shim wrote this line.

    One of an older version put no mark: it begins the first line with two names, and ends the second with a command.
    """
    return line.startswith((MARK, f"phoenixd: {agent} ")) or line.endswith(f": phoenixctl start {agent}")


def screen_lines(screen: str, clean: Callable[[str], str]) -> list[str]:
    """The last lines of a screen, without the empty ones at its end. Secrets are looked for over line ends as well."""
    shown = screen.rstrip().splitlines()[-LINES:]
    bounded = "\n".join(line[: 2 * LINE_LIMIT] for line in shown)
    return [clip(plain(line), LINE_LIMIT) for line in clean(bounded).splitlines()] if bounded else []


def last_paragraph(screen: str, clean: Callable[[str], str]) -> str:
    """The lines of words at the end of a screen, as one line; a drawing above them has none. Empty for none."""
    words: list[str] = []
    for line in reversed(screen_lines(screen, clean)):
        if line.strip() and not (_HAS_WORDS.search(line) and len(words) < MOST_WORDED):
            break
        words.append(line.strip())
    return clip(" / ".join(line for line in reversed(words) if line), PARAGRAPH_LIMIT)


def render_incident(
    agent: Agent,
    incident: Incident,
    readings: Readings,
    lines: list[str],
    heartbeat: Mapping[str, object] | None,
    clean: Callable[[str], str],
) -> bytes:
    """The file's content. heartbeat: the newest sign of life, as it stood."""
    run = agent.run
    record: dict[str, Any] = {
        "agent": agent.name,
        "incarnation": incident.incarnation,
        "kind": incident.kind,
        "at": timestamp(incident.at_wall),
        "decision": clip(clean(plain(incident.reason)), TEXT_LIMIT),
        "call": _call(incident.call, clean) if incident.call is not None else None,
        "readings": dict(readings),
        "run_id": run.run_id if run else None,
        "session_id": run.session_id if run else None,
        "heartbeat": {
            key: clip(clean(plain(value)), LINE_LIMIT) if isinstance(value, str) else value
            for key, value in list((heartbeat or {}).items())[:20]
            if value is None or isinstance(value, str | int | float)
        },
        "pane": lines,
    }
    return (json.dumps(record, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")


def incident_sentence(incident: Incident) -> str:
    """What the next session is told of it."""
    said = call_sentence(incident.call) if incident.call is not None else ""
    why = incident.reason.removeprefix(f"{incident.kind}: ")
    return (
        f"Run {incident.incarnation} was ended by phoenixd at {timestamp(incident.at_wall)} as {incident.kind}: "
        f"{why}. {said}Its last lines are kept in {incident.file}, beside this page."
    )


def call_sentence(call: OpenCall) -> str:
    """In which call a run hung, and what to do so that the next one does not; ends with a space."""
    command = plain(call.command).replace("`", "'")
    tool = plain(call.tool) or "a tool"
    what = f"{tool}, `{command}`," if command else tool
    ran = f"had run for {in_words(call.ran)}"
    if call.over:
        did = "and still worked, which is longer than a call may take"
    elif call.idle is None:
        did = "and nothing that it started did any work"
    else:
        did = f"and had done nothing for {in_words(call.idle)}"
    announced = f" (it had announced {in_words(call.declared)})" if call.declared else ""
    return (
        f"It was in a call of {what} which {ran}{announced}, {did}. Do not repeat it as it was: declare a timeout for "
        "a call that takes long, or run it in the background and look at what it writes. "
    )


def _call(call: OpenCall, clean: Callable[[str], str]) -> dict[str, Any]:
    return {
        "tool": clip(clean(plain(call.tool)), LINE_LIMIT),
        "command": clip(clean(plain(call.command)), LINE_LIMIT),
        "ran": call.ran,
        "declared": call.declared,
        "idle": call.idle,
        "over": call.over,
    }
