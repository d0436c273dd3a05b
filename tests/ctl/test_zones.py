"""Times are read and shown in the zone of the shell that asks, whatever the daemon's own TZ says."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from phoenixd.api.zones import zone_of
from phoenixd.ctl import wire
from phoenixd.top import orders
from phoenixd.top.effects import Fetch
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.api.fleets import at, until_now
from tests.ctl.conftest import environment, run_ctl

TOKYO = "Asia/Tokyo"
"""Nine hours before UTC: 08:14 UTC, at which the daemon stands, is 17:14 there."""


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The daemon was started by a shell in New York."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = at(1)
    daemon.declare("at-ten")
    assert daemon.stands_at is not None
    daemon.stands_at += 4 * 3600
    daemon.declare("at-two")
    return until_now(daemon)


async def asked(live: Live, home: Path, *words: str, zone: str | None = TOKYO) -> str:
    environ = environment(home, PHOENIX_SOCKET=os.fspath(live.socket))
    environ.pop("TZ", None)
    ran = await run_ctl(*words, env={**environ, **({"TZ": zone} if zone is not None else {})})
    assert (ran.code, ran.err) == (0, ""), ran
    return ran.out


async def test_a_time_of_day_is_one_of_the_shell_that_asks(live: Live, home: Path) -> None:
    told = json.loads(await asked(live, home, "since", "12:00", "--json"))
    assert told["from"] == "2026-11-21T03:00:00.000Z"
    assert (await asked(live, home, "since", "12:00")).startswith("12:00 to 17:14,")
    assert json.loads(await asked(live, home, "since", "today", "--json"))["from"] == "2026-11-20T15:00:00.000Z"

    rows = (await live.ask("GET", f"/v1/events?since=12:00&zone={TOKYO}")).json["events"]
    assert {row["agent"] for row in rows} == {"at-two"}


async def test_what_is_printed_is_of_the_shell_that_asks(live: Live, home: Path) -> None:
    events = (await asked(live, home, "events")).splitlines()
    assert all(line.startswith(("10:00:", "14:00:")) for line in events if "at-t" in line), events
    assert "Since 20 Nov 17:00" in await asked(live, home, "status")
    assert "until 18:14" in await asked(live, home, "mute", "at-ten", "--for", "1h")
    assert "muted until 18:14" in await asked(live, home, "status", "--all")
    assert "14:00:00" in await asked(live, home, "explain", "at-two")


async def test_a_shell_without_a_zone_has_the_machines_and_never_the_daemons(live: Live, home: Path) -> None:
    here = zone_of(None)
    assert here is not None
    told = json.loads(await asked(live, home, "since", "today", "--json", zone=None))
    began = datetime.fromisoformat(told["from"]).astimezone(here)
    assert (began.hour, began.minute) == (0, 0)


@pytest.mark.parametrize(
    ("words", "hour"),
    [
        (TOKYO, 17), (f":{TOKYO}", 17), (f"/usr/share/zoneinfo/{TOKYO}", 17), ("JST-9", 17), ("<+0330>-3:30", 11),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 9), ("", 8), ("UTC0", 8),
        # What is none is UTC, as for the C library; no other file is opened.
        ("Foo/Bar", 8), ("../../etc/passwd", 8), ("/etc/passwd", 8), ("/dev/stdin", 8), ("Europe", 8),
        ("\u00e9", 8), ("a\nb", 8),
    ],
)  # fmt: skip
def test_a_zone_is_understood_as_the_c_library_does(words: str, hour: int) -> None:
    moment = datetime(2026, 11, 21, 8, 14, tzinfo=UTC)
    assert moment.astimezone(zone_of(words)).hour == hour


def test_top_asks_for_its_pages_in_its_own_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "environment", lambda: {b"TZ": TOKYO.encode()})
    for kind in ("explain", "closed", "log"):
        assert orders.fetch(Fetch(kind, "docs"), 80).target.endswith("zone=Asia%2FTokyo"), kind
