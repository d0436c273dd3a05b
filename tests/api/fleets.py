"""Twelve fleets on which the text for people is tried, at 08:14 UTC on a Saturday; made once, not changed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache

from phoenixd.core.agent.state import Parked, Running
from phoenixd.core.events.fleet import TerminalSeen, TroubleSeen
from phoenixd.core.events.orders import StopRequested
from phoenixd.core.events.runs import AgentVanished
from phoenixd.core.limits.state import Limits, Parking, ParkingKind
from tests.api.daemon import FakeDaemon

NOW = datetime(2026, 11, 21, 8, 14, tzinfo=UTC).timestamp()
HOSTILE = (
    "\x1b[2J\x1b]0;pwned\x07 rm -rf /\n! docs is fine\u202e\u2066 \u0000\x9b31m"
    + "a\u0301\u0302\u0303\u0304\u0305" * 20
)
LONGEST = "a-name-of-thirty-two-characters-"


def at(hour: int, minute: int = 0) -> FakeDaemon:
    """A daemon whose clock stands at a time of that Saturday."""
    return FakeDaemon(stands_at=datetime(2026, 11, 21, hour, minute, tzinfo=UTC).timestamp())


def until_now(daemon: FakeDaemon) -> FakeDaemon:
    assert daemon.stands_at is not None
    daemon.stands_at = NOW
    return daemon


def empty() -> FakeDaemon:
    return until_now(at(8))


def one_idle() -> FakeDaemon:
    daemon = at(7)
    daemon.declare("docs")
    daemon.hook("docs", "prompt-submit", text="write the manual")
    daemon.pass_time(300)
    daemon.hook("docs", "stop")
    return until_now(daemon)


def three_at_work() -> FakeDaemon:
    daemon = at(6)
    for name in ("api", "docs", "shop"):
        daemon.declare(name)
        daemon.hook(name, "prompt-submit")
    return until_now(daemon)


def one_asks() -> FakeDaemon:
    daemon = at(8)
    daemon.declare("docs")
    daemon.declare("shop-api")
    daemon.pass_time(120)
    daemon.wait("shop-api", text="npm publish --tag next")
    return until_now(daemon)


def a_bad_night() -> FakeDaemon:
    """Five deaths in a row quarantine docs, builder is being brought back, two others were healed."""
    daemon = at(2)
    for name in ("builder", "docs", "infra", "planner", *(f"worker-{number:02d}" for number in range(28))):
        daemon.declare(name)
    daemon.pass_time(3600)
    daemon.die("infra", 137)
    daemon.die("planner")
    daemon.pass_time(60)
    daemon.produce("infra")
    daemon.produce("planner")
    daemon.pass_time(3540)
    while daemon.state.agents["docs"].state.name != "quarantined":
        if daemon.state.agents["docs"].run is not None:
            daemon.die("docs")
        daemon.pass_time(2)
    daemon.declare("shop-api")
    daemon.wait("shop-api", text="npm publish")
    until_now(daemon)
    for _ in range(3):
        daemon.die("builder", 137)
    return daemon


def thousand_fine() -> FakeDaemon:
    daemon = at(7)
    for number in range(1000):
        daemon.declare(f"agent-{number:04d}")
    return until_now(daemon)


def thousand_in_trouble() -> FakeDaemon:
    daemon = at(7)
    for number in range(1000):
        name = f"agent-{number:04d}"
        daemon.declare(name)
        if number < 300:
            daemon.wait(name)
        elif number < 400:
            daemon.die(name)
            daemon.die(name)
            daemon.performs = True
        elif number < 450:
            daemon.happen(AgentVanished(name, daemon.state.agents[name].incarnation))
    return until_now(daemon)


def degraded() -> FakeDaemon:
    daemon = at(7)
    daemon.declare("docs")
    daemon.degraded = "the journal cannot be written: no space left on device"
    daemon.tmux = None
    daemon.happen(TerminalSeen(alive=False))
    daemon.happen(TroubleSeen(None, "degraded", daemon.degraded))
    return until_now(daemon)


def all_stopped() -> FakeDaemon:
    daemon = at(7)
    for name in ("api", "docs"):
        daemon.declare(name)
        daemon.happen(StopRequested(name))
    return until_now(daemon)


def hostile_words() -> FakeDaemon:
    daemon = at(8)
    for name in ("docs", LONGEST):
        daemon.declare(name)
        daemon.wait(name, tool=HOSTILE, text=HOSTILE)
    daemon.declare("other")
    daemon.change("other", reason=HOSTILE)
    return until_now(daemon)


def parked() -> FakeDaemon:
    daemon = at(5)
    for name in ("api", "docs", "shop"):
        daemon.declare(name)
        daemon.hook(name, "prompt-submit")
    for name in ("api", "docs"):
        limits = Limits(Parking(ParkingKind.LIMIT, NOW + 6360, 0.0, "the account's limit is reached"))
        daemon.change(name, state=Parked(), limits=limits, reason="the account's limit is reached")
    return until_now(daemon)


def one_unknown() -> FakeDaemon:
    daemon = at(8)
    daemon.declare("docs")
    daemon.declare("shop")
    state = daemon.state.agents["docs"].state
    assert isinstance(state, Running)
    daemon.happen(AgentVanished("docs", state.run.incarnation))
    return until_now(daemon)


FLEETS: tuple[Callable[[], FakeDaemon], ...] = tuple(
    cache(fleet) for fleet in (
    empty, one_idle, three_at_work, one_asks, a_bad_night, thousand_fine, thousand_in_trouble, degraded, all_stopped,
    hostile_words, parked, one_unknown,
    )
)  # fmt: skip


def shops(daemon: FakeDaemon) -> None:
    """Two agents that one selector chooses, shop-*, and one that it does not."""
    for name in ("shop-api", "shop-web", "docs"):
        daemon.declare(name)
