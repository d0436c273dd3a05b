"""ops.jsonl: what happened to an agent, one line each: ts, event, status (ok, warn or error) and meta (P72)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import from_json

from phoenixd.documents.plain_text import clip, plain
from phoenixd.documents.times import read_time, timestamp

Verdict = Literal["ok", "warn", "error"]
TEXT_LIMIT = 500
NAMES = {
    "agent_started": "run_start",
    "agent_exited": "run_end",
    "hook prompt-submit": "task_started",
}
"""The seed's names where they differ from ours; a hook's other kinds keep theirs: session_start, session_end."""

WARNINGS = frozenset({"not_delivered", "run_missing", "rebooted", "tree_lingers", "hook permission-denied"})
ERRORS = frozenset({"start_failed", "agent_vanished", "shim_lost", "hook stop-failure"})
CLEAN_CODES = (0, 130)
HANDOFF = "handoff_ended"
CLINIC = "clinic."
"""Of the lines of the clinic: a failure's diagnosis, what is done about it or proposed, and what came of that."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One line as it is told again in a brief: wall seconds, and words."""

    wall: float
    text: str


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A journaled event of one agent with the decision that it led to."""

    wall: float
    event: str
    incarnation: int
    detail: Mapping[str, Any]
    state: str | None
    reason: str

    @property
    def key(self) -> str:
        return f"hook {self.detail.get('kind')}" if self.event == "hook_seen" else self.event

    @property
    def name(self) -> str:
        return NAMES.get(self.key, self.key.removeprefix("hook ").replace("-", "_"))

    @property
    def verdict(self) -> Verdict:
        if self.state == "quarantined" or self.key in ERRORS:
            return "error"
        if self.event == "agent_exited" and self.detail.get("code") not in CLEAN_CODES and self.state != "stopped":
            return "error"
        if self.event == HANDOFF and self.detail.get("outcome") != "done":
            return "warn"
        if self.event == f"{CLINIC}diagnosis" or (
            self.event.startswith(CLINIC) and self.detail.get("outcome") == "failed"
        ):
            return "warn"
        return "warn" if self.key in WARNINGS else "ok"


def render_occurrence(seen: Occurrence, clean: Callable[[str], str]) -> bytes:
    """One line of ops.jsonl, without its newline. `clean` takes secrets out of every text."""
    meta = {key: _bounded(value, clean) for key, value in seen.detail.items() if key != "kind"}
    meta |= {"incarnation": seen.incarnation, "state": seen.state, "reason": _bounded(seen.reason, clean)}
    line = {
        "ts": timestamp(seen.wall),
        "event": seen.name,
        "status": seen.verdict,
        "meta": {key: value for key, value in meta.items() if value not in (None, "", [])},
    }
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "replace")


def untold(seen: Sequence[Occurrence], lines: Iterable[bytes], clean: Callable[[str], str]) -> Sequence[Occurrence]:
    """Those of an agent's newest occurrences that came after the last one that the end of an ops.jsonl tells of.

    What came before that and stands nowhere was left out, or stands further up: behind newer ones it is old news.
    Where these lines tell of none, it is what came after all of them.
    """
    left, known = Counter(lines), 0
    for place, one in enumerate(seen, 1):
        if left[line := render_occurrence(one, clean)]:
            left[line] -= 1
            known = place
    if known == len(seen):
        # As of most agents, after most ends of a daemon: nothing has to be read of its lines.
        return ()
    # A line of another version, or from before a secret was known, is not the same, and tells of it all the same.
    rest = [found for line in left.elements() if (found := _read(line)) is not None]
    others = Counter(map(_marks, rest))
    for place, one in enumerate(seen[known:], known + 1):
        marks = (timestamp(one.wall), one.name, one.incarnation, one.state)
        if others[marks]:
            others[marks] -= 1
            known = place
    if known:
        return seen[known:]
    newest = max((wall for found in rest if (wall := read_time(found.get("ts"))) is not None), default=-math.inf)
    return [one for one in seen if one.wall >= newest + 1]


def happenings(occurrences: Iterable[Occurrence], clean: Callable[[str], str]) -> Iterator[Happening]:
    """Those that a brief tells again: whatever had a reason, but for a run that goes on under another daemon."""
    for seen in occurrences:
        if seen.reason and not _goes_on(seen.name, seen.state):
            yield Happening(seen.wall, _words(seen.name, _bounded(seen.reason, clean)))


def read_happenings(content: bytes) -> Iterator[Happening]:
    """The same from the end of an ops.jsonl; a torn or odd line is passed over."""
    for line in content.split(b"\n"):
        found = _read(line)
        if found is None:
            continue
        wall, reason = read_time(found.get("ts")), found["meta"].get("reason")
        if _goes_on(found.get("event"), found["meta"].get("state")):
            continue
        if wall is not None and isinstance(reason, str) and reason:
            yield Happening(wall, _words(str(found.get("event"))[:64], plain(reason[:TEXT_LIMIT])))


def read_spoken(content: bytes) -> tuple[float, str] | None:
    """When the newest turn of the main thread ended, and the agent's last words in it, as far as a line keeps them."""
    for line in reversed(content.split(b"\n")):
        if b'"stop"' not in line:
            continue
        try:
            found = from_json(line, allow_inf_nan=False)
        except ValueError:
            continue
        meta = found.get("meta") if isinstance(found, dict) and found.get("event") == "stop" else None
        text = meta.get("text") if isinstance(meta, dict) and not meta.get("sub") else None
        wall = read_time(found.get("ts")) if isinstance(text, str) else None
        if wall is not None and isinstance(text, str):
            return wall, text
    return None


def _read(line: bytes) -> dict[str, Any] | None:
    """What a line says; None for a torn or odd one."""
    try:
        found = from_json(line, allow_inf_nan=False)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("meta"), dict) else None


def _marks(line: dict[str, Any]) -> tuple[Any, ...]:
    """The marks of the occurrence that a line tells of, in whatever words; () for an odd line."""
    found = (line.get("ts"), line.get("event"), line["meta"].get("incarnation"), line["meta"].get("state"))
    return found if all(isinstance(one, str | int | None) for one in found) else ()


def _goes_on(name: object, state: object) -> bool:
    """Whether a run was found at work by a daemon that began: that is no change, and no agent's concern."""
    return name == "run_adopted" and state == "running"


def _words(name: str, reason: str) -> str:
    return f"{name.replace('_', ' ')}: {reason}"


def _bounded(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clip(clean(plain(value[: 4 * TEXT_LIMIT])), TEXT_LIMIT)
    if isinstance(value, list | tuple):
        return [_bounded(item, clean) for item in value[:20]]
    return value if value is None or isinstance(value, bool | int | float) else clip(str(value), TEXT_LIMIT)
