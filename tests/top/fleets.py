"""What a client of the stream is told of a fleet, and a fleet with one of everything."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from functools import cache
from typing import Any

from phoenixd.api import representation
from phoenixd.api.row import alert
from phoenixd.core import projection
from phoenixd.core.events.orders import StopRequested
from phoenixd.core.inbox import inbox
from phoenixd.core.sight import Attached, Cost, Doing, Sight, Words
from phoenixd.top.effects import Effect
from phoenixd.top.face import SETTLED, Face, World
from phoenixd.top.frames import Frame
from phoenixd.top.model import Model, hear
from phoenixd.top.press import press
from phoenixd.top.view import paint, seen
from phoenixd.top.words import Clock
from tests.api import fleets
from tests.api.daemon import FakeDaemon
from tests.api.fleets import NOW, at, until_now

AT = 1_000.0
"""The moment at which everything is looked at; what was told is old enough to be answered."""
QUESTION = (
    '{"questions": [{"question": "Which database?", "header": "DB", "multiSelect": false, "options": '
    '[{"label": "SQLite", "description": "a file"}, {"label": "Postgres", "description": "a server"}]}]}'
)


def of_everything() -> FakeDaemon:
    """One asks permission, one asks a question, one is quarantined, others work and rest."""
    daemon = at(7)
    for name in ("docs", "infra", "planner", "shop-api", "shop-web", "rests", "stopped-on-purpose"):
        daemon.declare(name)
    for name in ("infra", "planner"):
        daemon.hook(name, "prompt-submit", text="go")
    daemon.hook("rests", "prompt-submit", text="go")
    daemon.hook("rests", "stop")
    while daemon.state.agents["docs"].state.name != "quarantined":
        if daemon.state.agents["docs"].run is not None:
            daemon.die("docs")
        daemon.pass_time(2)
    daemon.happen(StopRequested("stopped-on-purpose"))
    daemon.wait("shop-api", text="npm publish --tag next", held=True)
    daemon.wait("shop-web", tool="AskUserQuestion", text=QUESTION, held=True)
    until_now(daemon)
    daemon.sights = {
        "infra": Sight(
            daemon.state.agents["infra"].incarnation,
            doing=Doing("Bash", "terraform plan -out plan.bin", NOW - 185),
            has_calls=True,
            said=Words("I look at the plan first.", NOW - 200),
            cost=Cost(3.1, 120_000, "statusLine", NOW - 9),
            model="claude-opus",
            branch="main",
            attached=Attached(1, 1, NOW),
            task="Make the network of the second region.",
        ),
        "planner": Sight(
            daemon.state.agents["planner"].incarnation, said=Words("All 40 tests pass; I write the page now.", NOW - 31)
        ),
    }
    return daemon


def thousand() -> Model:
    """A thousand agents; three hundred of them ask. Their rows are copies of one, so that it takes no second."""
    asks, works, rests = (model_of("of_everything").agents[name].body for name in ("shop-api", "infra", "rests"))
    (item,) = model_of("of_everything").waiting("shop-api")
    told: list[Frame] = []
    for number in range(1000):
        name = f"agent-{number:04d}"
        if number < 300:
            told.append(Frame("agent", {**asks, "name": name, "item": number + 1, "items": [number + 1]}))
            told.append(Frame("item", {**item, "id": number + 1, "agent": name}))
        else:
            told.append(Frame("agent", {**(works if number % 3 else rests), "name": name}))
    return hear(Model(), told, AT - 1)


NAMES = (
    *("empty", "one_idle", "three_at_work", "one_asks", "a_bad_night", "degraded", "all_stopped", "hostile_words"),
    *("parked", "one_unknown", "of_everything", "thousand"),
)
"""Twelve fleets."""


@cache
def model_of(name: str) -> Model:
    """What a client knows of a fleet since a second; made once, not changed."""
    if name == "thousand":
        return thousand()
    daemon = of_everything() if name == "of_everything" else getattr(fleets, name)()
    return hear(Model(), frames(daemon), AT - 1)


def frames(daemon: FakeDaemon) -> list[Frame]:
    """What a client is told that begins to listen."""
    rows = projection.project(daemon.state, daemon.now(), daemon.sight)
    items = inbox(daemon.state)
    told = [Frame("hello", {"boot": "b" * 16, "as_of": {}, "whole": True})]
    told += [Frame("agent", representation.agent(row, daemon.loops(row.name))) for row in rows]
    told += [Frame("item", representation.item(item)) for item in items]
    raised = [(row.name, one) for row in rows for one in row.alerts]
    told += [Frame("alert", {**alert(one), "agent": name, "over": False}) for name, one in raised]
    told += [Frame("alert", {**alert(one), "agent": None, "over": False}) for one in daemon.state.alerts]
    return [*told, Frame("beat", {"as_of": {}, "now": None}, 1)]


def world(name: str = "of_everything", width: int = 80, height: int = 24, face: Face | None = None) -> World:
    """A person before the screen, a second after all was told."""
    return World(model_of(name), face or Face(since=SINCE), Clock(AT, NOW, UTC), width, height, "build-1")


SINCE: dict[str, Any] = {
    "from": "2026-11-20T18:00:00.000Z",
    "deaths": {"total": 14, "healed": 6, "healing": 1, "running_again": 2, "quarantined": 5, "released": 0, "ended": 0},
    "outages": 1,
    "finished": 9,
    "iterations": 0,
    "not_delivered": 0,
}
"""What happened since the person looked."""


def settled(before: World) -> World:
    """The same, with the screen as it is now before the person for long enough to answer what is on it."""
    return replace(before, face=seen(before.face, paint(before), AT - 2 * SETTLED))


def pressed(before: World, *keys: str) -> tuple[World, list[Effect]]:
    """These keys one after the other, each on a screen that has stood still."""
    done: list[Effect] = []
    for key in keys:
        face, effects = press(settled(before), key)
        before, done = replace(before, face=face), [*done, *effects]
    return before, done
