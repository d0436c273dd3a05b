"""What a client knows of all agents, by the frames of `/v1/stream` alone: rows, items, alerts. Pure.

It shares nothing with the daemon but the JSON of these frames. `at` is a monotonic time in seconds. The model
remembers since when what a person decides by has stood: no key may answer what has just changed under the finger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from phoenixd.top.frames import Frame, Json

DECISIVE = ("incarnation", "state", "activity", "group", "waiting_for", "item", "items", "generation", "session_id")
"""What of a row an answer rests on; what it costs and says may change meanwhile."""
ASKED = (
    "agent",
    "incarnation",
    "kind",
    "text",
    "text_hash",
    "shown",
    "flags",
    "limits",
    "answer_by",
    "left",
    "questions",
)
MOST_CLOSED = 64


@dataclass(frozen=True, slots=True)
class Told:
    """A thing as it was told last, when, and since when that has stood by which a person decides."""

    body: Json
    at: float
    steady: float


@dataclass(frozen=True, slots=True)
class Closed:
    """How something that waited for a person ended: by whom, where that is known, and by what."""

    agent: str
    by: str | None
    how: str


@dataclass(frozen=True, slots=True)
class Model:
    """heard_at: when the newest frame came; None before the first. last_id: from where a stream goes on."""

    boot: str = ""
    agents: Mapping[str, Told] = field(default_factory=dict)
    items: Mapping[int, Told] = field(default_factory=dict)
    alerts: Mapping[int, Told] = field(default_factory=dict)
    closed: Mapping[int, Closed] = field(default_factory=dict)
    asking: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The numbers of the items of each agent that has any."""
    last_id: int | None = None
    heard_at: float | None = None

    def row(self, name: str) -> Json | None:
        """An agent's row; None where there is no such agent."""
        told = self.agents.get(name)
        return told.body if told is not None else None

    def waiting(self, name: str) -> tuple[Json, ...]:
        """What of an agent waits for a person: what its row names first, then the others by their numbers."""
        row = self.row(name) or {}
        found = [self.items[number].body for number in self.asking.get(name, ())]
        return tuple(sorted(found, key=lambda item: (item["id"] != row.get("item"), item["id"])))

    def is_acknowledged(self, row: Json) -> bool:
        """Whether an operator has seen all for which this agent needs one."""
        alerts = [one for one in row.get("alerts") or () if one.get("needs_you")]
        asks = [*(self.items[number].body for number in self.asking.get(row["name"], ())), *alerts]
        return bool(asks) and all(one.get("acknowledged") for one in asks)

    def steady_since(self, name: str) -> float:
        """Since when neither the agent's row nor anything that it asks has changed in what a person decides by."""
        told = self.agents.get(name)
        times = [self.items[number].steady for number in self.asking.get(name, ())]
        return max([told.steady if told is not None else 0.0, *times])

    def silence(self, at: float) -> float:
        """Seconds since anything was heard."""
        return at - self.heard_at if self.heard_at is not None else 0.0


def hear(model: Model, frames: Iterable[Frame], at: float) -> Model:
    """The model after these frames. An event that it does not know changes nothing: a later version may send it."""
    agents, items, alerts = dict(model.agents), dict(model.items), dict(model.alerts)
    closed, boot, last_id = dict(model.closed), model.boot, model.last_id
    heard, is_asked_anew = model.heard_at, False
    for frame in frames:
        data, heard = frame.data, at
        is_asked_anew |= frame.event in ("hello", "item", "item-closed")
        last_id = last_id if frame.id is None else frame.id
        match frame.event:
            case "hello":
                boot = data["boot"]
                if data["whole"]:
                    agents, items, alerts = {}, {}, {}
            case "agent":
                agents[data["name"]] = _told(agents.get(data["name"]), data, at, DECISIVE)
            case "gone":
                agents.pop(data["name"], None)
            case "item":
                items[data["id"]] = _told(items.get(data["id"]), data, at, ASKED)
                closed.pop(data["id"], None)
            case "item-closed":
                items.pop(data["id"], None)
                closed[data["id"]] = Closed(data["agent"], data["by"], data["how"])
            case "alert":
                if data["over"]:
                    alerts.pop(data["id"], None)
                else:
                    alerts[data["id"]] = _told(alerts.get(data["id"]), data, at, ("text",))
            case "resync":
                # What follows is a hello that voids all; the row that was named is of no use any more.
                last_id = None
            case _:
                pass
    while len(closed) > MOST_CLOSED:
        closed.pop(next(iter(closed)))
    return replace(
        model,
        boot=boot,
        agents=agents,
        items=items,
        asking=_asking(items) if is_asked_anew else model.asking,
        alerts=alerts,
        closed=closed,
        last_id=last_id,
        heard_at=heard,
    )


def _asking(items: Mapping[int, Told]) -> Mapping[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for number, told in items.items():
        found[told.body["agent"]] = (*found.get(told.body["agent"], ()), number)
    return found


def _told(before: Told | None, body: Json, at: float, decisive: Iterable[str]) -> Told:
    is_same = before is not None and all(before.body.get(key) == body.get(key) for key in decisive)
    return Told(body, at, before.steady if before is not None and is_same else at)
