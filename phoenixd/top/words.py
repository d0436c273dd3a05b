"""What a row says in words: its state, its age, what it does or why it is so, context and cost. Unknown is "?"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo

from phoenixd.api.pages.layout import Page
from phoenixd.api.times import ago
from phoenixd.top.frames import Json
from phoenixd.top.groups import group_of
from phoenixd.top.spans import safe

ASKS = {
    "permission": "asks permission",
    "question": "asks",
    "plan": "shows a plan",
    "proposal": "proposal",
    "dialog": "shows a dialog",
}
"""What it is to wait for each kind of item."""
UNKNOWN = "?"
"""In a column."""
UNTOLD = "it tells nothing of what it does"
"""Where a sentence stands."""
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Clock:
    """at: monotonic seconds, as the model's; wall: Unix seconds; zone: the reader's, None for the machine's."""

    at: float
    wall: float
    zone: tzinfo | None = None

    def time_of_day(self, wall: float, form: str = "%H:%M:%S") -> str:
        return datetime.fromtimestamp(wall, self.zone).strftime(form)

    def start(self, wall: float) -> str:
        """When a count begins, as on `status`: the minute, with its seconds where it begins within one, and its day."""
        return Page(self.wall, zone=self.zone).start(wall)

    def minute(self, wall: float) -> str:
        """The minute, and its day where that is not today."""
        return Page(self.wall, zone=self.zone).minute(wall)


def wall_of(time: object) -> float | None:
    """Unix seconds of a time of the JSON; None for null, and for what is no time."""
    if not isinstance(time, str):
        return None
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return None


def age_of(time: object, clock: Clock) -> str:
    """How long ago a time of the JSON is."""
    wall = wall_of(time)
    return ago(clock.wall - wall) if wall is not None else UNKNOWN


def state(row: Json, item: Json | None) -> str:
    """The state in words: what it asks, else its activity, else its state."""
    if item is not None and not item["left"] and item["kind"] in ASKS:
        return ASKS[item["kind"]]
    if row.get("link_lost_since"):
        return "deaf"
    if group_of(row) == "unknown":
        return "gone"
    return safe(row["state"] if row.get("step") else row.get("activity") or row["state"]).replace("_", " ")


def age(row: Json, item: Json | None, clock: Clock, told_at: float) -> str:
    """Since when, or in how long where something is due. told_at: when the row came, by which `due_in` is older."""
    due = row.get("due_in")
    if row["state"] == "backing_off" and isinstance(due, int | float):
        return f"in {ago(due - (clock.at - told_at))}"
    return age_of(item["opened"] if item is not None else row.get("since"), clock)


def matter(row: Json, item: Json | None, clock: Clock) -> str:
    """What the line is about: what is asked, what is wrong, what the agent does, or what it said last."""
    told = _matter(row, item, clock)
    until = wall_of(row.get("muted_until"))
    return f"muted until {clock.minute(until)}: {told}" if until is not None else told


def _matter(row: Json, item: Json | None, clock: Clock) -> str:
    if item is not None:
        left = "asked, and its run ended: " if item["left"] else ""
        return f"{_seen(item)}{left}{safe(item['title'] or item['kind'])}"
    pressing = [alert for alert in row.get("alerts") or () if alert.get("needs_you")]
    if pressing:
        newest = pressing[-1]
        return _seen(newest) + safe(f"{newest['kind']}: {newest['text']}")
    step = f"step {safe(row['step'].rpartition(': ')[2])}: " if row.get("step") else ""
    if (row["state"] == "running" or step) and (does := doing(row, clock)):
        return step + does
    is_fine = group_of(row) in ("working", "resting") and not row.get("parked_until")
    if row["state"] == "running" and row.get("hooks") in ("none", "missing") and is_fine:
        return f"last sign of life {age_of(row['last_evidence'], clock)} ago" if row.get("last_evidence") else UNTOLD
    if row.get("parked_until"):
        return f"until {clock.minute(wall_of(row['parked_until']) or 0.0)}: {safe(row['reason'])}"
    return step + safe(str(row.get("reason") or "").removeprefix(f"{row['state']}: "))


def _seen(one: Json) -> str:
    return "acknowledged: " if one.get("acknowledged") else ""


def doing(row: Json, clock: Clock) -> str:
    """The open call, else the last words; empty where neither is known."""
    call, words = row.get("doing"), row.get("said")
    if call:
        told = safe(f"{call['tool']}: {call['argument']}" if call["argument"] else call["tool"])
        return f"{told} ({age_of(call['since'], clock)})" if call["since"] else told
    return f'"{safe(words["text"])}"' if words else ""


def percent(row: Json) -> str:
    """How full the context is."""
    context = row.get("context")
    if not context or context.get("percent") is None:
        return UNKNOWN
    return f"{context['percent']:.0f}%"


def context(row: Json) -> str:
    """The same with the size of the window."""
    found = row.get("context")
    if not found:
        return UNKNOWN
    if found.get("limit") is None:
        return f"{_tokens(found['tokens'])} tokens"
    return f"{percent(row)} of {_tokens(found['limit'])}"


def cost(row: Json) -> str:
    """What the CLI says that it cost."""
    found = row.get("cost")
    return f"${found['usd']:.2f}" if found else UNKNOWN


def _tokens(count: int) -> str:
    if count >= MILLION:
        return f"{count / MILLION:g}M" if count % MILLION == 0 else f"{count / MILLION:.1f}M"
    return f"{count // 1000}k" if count >= 1000 else str(count)
