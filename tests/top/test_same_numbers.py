"""The first line counts all agents, by one definition in `status`, `--json` and `top`: docs/reference/states.md."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC
from typing import Any

import pytest

from phoenixd.api import representation
from phoenixd.api.pages import agent as page
from phoenixd.api.pages import agent_lines
from phoenixd.api.pages.headline import first_line
from phoenixd.api.pages.layout import Page
from phoenixd.core import condition, glance, projection
from phoenixd.core.events.fleet import AlertAcknowledged, TroubleSeen
from phoenixd.core.events.orders import RestartRequested, StopRequested
from phoenixd.core.events.runs import LinkLost
from phoenixd.top import words
from phoenixd.top.face import Face, World
from phoenixd.top.head import lines
from phoenixd.top.model import Model, hear
from phoenixd.top.words import Clock
from tests.api import fleets
from tests.api.daemon import FakeDaemon
from tests.api.fleets import at, until_now
from tests.top.fleets import NAMES, frames, of_everything

WORDS = ("alive", "stopped", "starting", "parked by a limit", "quarantined", "healing", "unknown")


def every_state() -> FakeDaemon:
    """Twelve agents: one was stopped, one never began, and others are not up for every reason there is."""
    daemon = at(7)
    for name in ("a", "b", "c", "d", "e", "f", "g"):
        daemon.declare(name)
    daemon.declare("never-began", start=False)
    daemon.happen(StopRequested("a"))
    while daemon.state.agents["b"].state.name != "quarantined":
        if daemon.state.agents["b"].run is not None:
            daemon.die("b")
        daemon.pass_time(2)
    daemon.die("c")
    daemon.wait("d")
    daemon.declare("goes-round", kind="loop")
    daemon.declare("job", kind="ephemeral")
    daemon.die("job", 0)
    daemon.declare("boss", kind="orchestrator", cwd="/srv/boss")
    daemon.declare("unheard")
    daemon.happen(LinkLost("unheard", 1, "nobody listens"))
    daemon.pass_time(60)
    return until_now(daemon)


def daemon_of(name: str) -> FakeDaemon:
    made = {"of_everything": of_everything, "every_state": every_state}
    return (made.get(name) or getattr(fleets, name))()


def of_json(rows: list[dict[str, Any]]) -> dict[str, int]:
    """The numbers by the definitions of the page, of what `status --json` says."""
    down = [row for row in rows if row["pid"] is None and row["group"] not in ("healing", "unknown")]
    loops = [row for row in rows if row["group"] == "working" and row["state"] == "backing_off"]
    unknown = [row for row in rows if row["group"] == "unknown" or row["link_lost_since"] is not None]
    up = [row for row in rows if row["pid"] is not None and row not in unknown]
    states = Counter(
        "parked by a limit" if row["parked_until"] and row["state"] != "stopped" else row["state"] for row in down
    )
    groups = Counter(row["group"] for row in rows)
    return {
        "alive": len(up) + len(loops),
        **{word: states[word] for word in ("stopped", "starting", "parked by a limit", "quarantined")},
        "healing": groups["healing"],
        "unknown": len(unknown),
    }


def told(line: str) -> dict[str, int]:
    found = {word: re.findall(rf"(\d+)(?: of \d+|/\d+)? {word}\b", line) for word in WORDS}
    assert all(len(numbers) <= 1 for numbers in found.values()), f"a word stands twice in {line!r}"
    return {word: int(numbers[0]) if numbers else 0 for word, numbers in found.items()}


@pytest.mark.parametrize("name", ["every_state", *(one for one in NAMES if one not in ("thousand", "empty"))])
def test_page_json_and_top_count_alike_and_count_everybody(name: str) -> None:
    daemon = daemon_of(name)
    rows = projection.project(daemon.state, daemon.now(), daemon.sight)
    body = [representation.agent(row, daemon.loops(row.name)) for row in rows]
    seen = glance.glances(daemon.state, daemon.now())
    first = first_line(seen, daemon.state.alerts)
    model = hear(Model(), frames(daemon), 999.0)
    top = "".join(
        span.text for span in lines(World(model, Face(), Clock(1_000.0, fleets.NOW, UTC), 240, 24, "build-1"))[0]
    )

    assert told(first) == told(top) == of_json(body)
    (of_all,) = re.findall(r"\d+ of (\d+) alive", first)
    assert (int(of_all), f"/{of_all} alive" in top) == (len(rows), True)
    counted = told(first)
    healing_up = sum(row.pid is not None for row in rows if row.group == "healing")
    needs = sum(row.group == "needs_you" and row.pid is None for row in rows)
    left = len(rows) - (sum(counted.values()) - healing_up)
    assert 0 <= left <= needs, "who is in none of these counts needs a person"


def test_promise_10_who_cannot_be_heard_is_unknown_and_not_alive_also_where_that_needs_a_person() -> None:
    """Once its alert stood, `status` and top called it idle, and counted it among those that are alive."""
    daemon = at(7)
    daemon.declare("docs")
    daemon.happen(LinkLost("docs", 1, "nobody listens"))
    counts = []
    for seconds in (1, 60):
        daemon.pass_time(seconds)
        first = first_line(glance.glances(daemon.state, daemon.now()), daemon.state.alerts)
        (row,) = projection.project(daemon.state, daemon.now())
        counts.append((row.group, told(first)["alive"], told(first)["unknown"]))
        assert words.state(representation.agent(row, daemon.loops("docs")), None) == "deaf"
        assert " deaf " in agent_lines.table([row], Page(daemon.now().wall, 80, UTC))[0]
        assert not condition.runs_again(daemon.state.agents["docs"])

    assert counts == [("unknown", 0, 1), ("needs_you", 0, 1)]


def test_the_restarts_of_an_agent_say_that_ordered_ones_are_among_them() -> None:
    daemon = at(7)
    daemon.declare("docs")
    daemon.happen(RestartRequested("docs"))
    daemon.die("docs", 143)
    daemon.pass_time(5)
    (row,) = projection.project(daemon.state, daemon.now())

    shown = page.agent(row, Page(daemon.now().wall, 80, UTC))
    assert f"  restarts  {row.restarts}, ordered ones included" in shown, shown
    assert row.restarts


def test_an_alert_of_no_agent_that_was_acknowledged_is_told_as_that_by_page_and_top() -> None:
    daemon = at(7)
    daemon.declare("docs")
    daemon.happen(TroubleSeen(None, "journal", "it is damaged"))
    (raised,) = daemon.state.alerts
    daemon.happen(AlertAcknowledged(raised.id, "uid 7"))

    first = first_line(glance.glances(daemon.state, daemon.now()), daemon.state.alerts)
    model = hear(Model(), frames(daemon), 999.0)
    top = "".join(
        span.text for span in lines(World(model, Face(), Clock(1_000.0, fleets.NOW, UTC), 200, 24, "build-1"))[0]
    )
    assert first.startswith("1 needs you (1 acknowledged). ")
    assert "1 NEEDS YOU (1 acknowledged)" in top
