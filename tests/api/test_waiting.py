"""For how long an order is waited for, and that its asker is told the truth before he gives up."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from phoenixd.api.operations import BY_NAME
from phoenixd.api.waiting import LONGEST, patience
from phoenixd.core.agent.state import Quarantined, Running
from phoenixd.core.breaker import Open, Tally
from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.orders import AgentWithdrawn, StopRequested
from phoenixd.ctl import calls
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon


@pytest.mark.parametrize(
    ("operation", "arguments", "prefer", "seconds"),
    [
        ("stop_agent", {"timeout": 60.0}, None, 115.0),
        ("stop_agent", {"timeout": 60.0}, "wait=30", 30.0),
        ("stop_agent", {"timeout": 60.0}, "respond-async, wait=7", 7.0),
        ("stop_agent", {"timeout": 60.0}, "await=7", 115.0),
        ("stop_agent", {"timeout": 60.0}, "wait=-1", 115.0),
        ("stop_agent", {"timeout": 60.0}, "wait=0", 1.0),
        ("apply", {}, "wait=999999", LONGEST),
        ("apply", {}, None, 12.0),
        ("remove_agent", {}, None, 70.0),
    ],
)
def test_an_order_is_waited_for_as_long_as_its_asker_says(
    operation: str, arguments: dict[str, float], prefer: str | None, seconds: float
) -> None:
    assert patience(BY_NAME[operation], arguments, prefer) == seconds


def test_phoenixctl_gives_up_after_the_daemon_was_to_answer() -> None:
    for operation in BY_NAME.values():
        if operation.method == "POST" and operation.path is not None:
            waits = calls._patience(operation, {})
            assert waits > patience(operation, {}, f"wait={int(waits - calls.TO_ANSWER)}")


async def test_a_wait_for_idle_is_refused_of_a_program_that_tells_nothing_of_its_turns(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("shop")
    soon = await live.ask("GET", "/v1/agents/shop/wait?for=idle&timeout=0.01s")
    assert soon.exit == 8, "its first hook may be under way"
    state = daemon.state.agents["shop"].state
    assert isinstance(state, Running)
    long_ago = daemon.now().at - 60
    daemon.change("shop", state=replace(state, run=replace(state.run, exec_at=long_ago)))
    refused = await live.ask("GET", "/v1/agents/shop/wait?for=idle&timeout=5m")
    assert refused.exit == 6
    assert refused.json["detail"].startswith("shop tells nothing of its turns")
    assert refused.json["remedy"] == "phoenixctl wait shop --for running"
    assert (await live.ask("GET", "/v1/agents/shop/wait?for=running&timeout=5m")).exit == 0
    daemon.hook("shop", "session-start")
    assert (await live.ask("GET", "/v1/agents/shop/wait?for=idle&timeout=5m")).exit == 0


@pytest.mark.parametrize("wanted", ["idle", "waiting", "running"])
async def test_a_wait_for_what_a_stopped_agent_does_not_come_to_ends_at_once(
    live: Live, daemon: FakeDaemon, wanted: str
) -> None:
    daemon.declare("shop", start=False)
    refused = await live.ask("GET", f"/v1/agents/shop/wait?for={wanted}&timeout=7d")
    assert (refused.exit, refused.json["remedy"]) == (6, "phoenixctl start shop")
    assert refused.json["detail"] == f"shop is stopped, and does not become {wanted} before it is started"
    assert (await live.ask("GET", "/v1/agents/shop/wait?for=stopped&timeout=7d")).exit == 0


@pytest.mark.parametrize("wanted", ["waiting", "running", "stopped"])
async def test_a_wait_for_what_an_agent_in_quarantine_does_not_come_to_ends_at_once(
    live: Live, daemon: FakeDaemon, wanted: str
) -> None:
    daemon.declare("shop")
    daemon.die("shop", 127)
    refused = await live.ask("GET", f"/v1/agents/shop/wait?for={wanted}&timeout=7d")
    assert (refused.exit, refused.json["remedy"]) == (6, "phoenixctl explain shop")
    assert refused.json["detail"] == f"shop is in quarantine, and does not become {wanted} by itself"


async def test_a_wait_ends_when_its_agent_is_stopped_or_removed_meanwhile(live: Live, daemon: FakeDaemon) -> None:
    for name, event, code, why in (
        ("docs", StopRequested("docs"), 6, "docs is stopped, and does not become waiting before it is started"),
        ("shop", AgentWithdrawn("shop"), 4, "shop was removed meanwhile"),
    ):
        daemon.declare(name)
        daemon.hook(name, "session-start")
        asking = asyncio.ensure_future(live.ask("GET", f"/v1/agents/{name}/wait?for=waiting&timeout=7d"))
        while not daemon.waiting:
            await asyncio.sleep(0)
        daemon.happen(event)
        answer = await asking
        assert (answer.exit, answer.json["detail"]) == (code, why)


async def test_a_quarantine_that_ends_by_itself_is_waited_out(live: Live, daemon: FakeDaemon) -> None:
    """A breaker may be told to let one iteration pass after a while."""
    daemon.declare("docs")
    spec = daemon.state.agents["docs"].spec
    opened = Open(Tally(), "no progress", daemon.now().at, daemon.now().wall)
    for cooldown, code in ((0.0, 6), (600.0, 8)):
        rules = replace(spec.breaker, cooldown=cooldown)
        daemon.change("docs", spec=replace(spec, breaker=rules), state=Quarantined("no progress"), breaker=opened)
        assert (await live.ask("GET", "/v1/agents/docs/wait?for=running&timeout=0")).exit == code


async def test_a_member_of_a_sequence_is_waited_for_between_its_turns(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("critic", start=False)
    agent = daemon.state.agents["critic"]
    daemon.change("critic", spec=replace(agent.spec, turn_of="builder"))
    assert (await live.ask("GET", "/v1/agents/critic/wait?for=running&timeout=0")).exit == 8
    daemon.change("critic", left_out=True)
    assert (await live.ask("GET", "/v1/agents/critic/wait?for=running&timeout=7d")).exit == 6


class SlowDisk:
    """Stands between the daemon and its journal: orders are taken, and answered when the disk has them."""

    def __init__(self, daemon: FakeDaemon) -> None:
        self.is_written = asyncio.Event()
        self._order = daemon.order
        daemon.order = self.order  # type: ignore[method-assign]
        daemon.degraded = "a commit of the journal took 2.0 s or longer"

    async def order(self, event: Event) -> Refusal | None:
        await self.is_written.wait()
        return await self._order(event)


async def test_f_st_what_is_late_is_neither_refused_nor_promised_and_the_key_finds_what_became_of_it(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    disk = SlowDisk(daemon)
    body = {"text": "go on", "timeout": "20s"}

    late = await live.ask("POST", "/v1/agents/docs/send", body, idempotency_key="k", prefer="wait=1")
    assert (late.status, late.json["code"]) == (504, "timed_out")
    assert "not known yet" in late.json["detail"]
    assert "took 2.0 s" in late.json["detail"]
    assert late.json["remedy"] == "phoenixctl send docs TEXT --key k"

    again = asyncio.create_task(live.ask("POST", "/v1/agents/docs/send", body, idempotency_key="k", prefer="wait=60"))
    disk.is_written.set()
    assert (await again).json["delivered"] is True
    assert len(daemon.orders) == 1, "once"


async def test_an_order_without_a_key_goes_on_as_well(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    disk = SlowDisk(daemon)

    late = await live.ask("POST", "/v1/agents/docs/stop", {"wait": False}, prefer="wait=1")
    assert (late.status, late.json["remedy"]) == (504, "phoenixctl status docs")
    assert daemon.state.agents["docs"].desired != "stopped"
    disk.is_written.set()
    async with asyncio.timeout(60):
        while daemon.state.agents["docs"].desired != "stopped":
            await asyncio.sleep(0)
    assert len(daemon.orders) == 1
