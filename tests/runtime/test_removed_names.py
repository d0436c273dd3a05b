"""Each worker has a name of its own: what is kept by name of agents that were removed would grow for ever."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from phoenixd.core.actions import Deliver, LookAtScreen
from phoenixd.core.agent import Agent
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn
from phoenixd.core.fleet import Fleet
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.resonance.state import Resonance
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.resonance.footer import Footer
from phoenixd.documents.resonance.heard import Passed
from phoenixd.planting import Marker, Planting
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello, ShimMessage
from phoenixd.runtime.epochs import EpochKeeper
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.marker_watch import MarkerWatch
from phoenixd.runtime.messages import Messenger
from phoenixd.runtime.publisher import Publisher
from phoenixd.runtime.screening import Screening
from phoenixd.runtime.supervisor import Supervisor
from tests.clocks import FastClock
from tests.core.story import Story, claude
from tests.runtime.test_epochs import Told, turn

WORKERS = 30
PLANTING = Planting(Marker("the map folded along its river", "7f3a9c"), ("1a2b3c",))


@dataclass
class Fleeting:
    """A fleet that has one worker at a time."""

    there: Agent | None = None
    told: list[object] = field(default_factory=list)

    def begins(self, number: int) -> Agent:
        agent = Story(claude(f"w{number}")).works().agent
        self.there = replace(agent, resonance=Resonance(planting=PLANTING, told=True))
        return self.there

    def find(self, name: str) -> Agent | None:
        return self.there if self.there is not None and self.there.name == name else None

    def tell(self, event: object, saved: object = None) -> None:
        self.told.append(event)


Life = Callable[[Agent], Awaitable[None]]


def screening(fleet: Fleeting) -> tuple[tuple[object, ...], Life]:
    """Turns that the service refused, and that no hook told of."""
    facts = SimpleNamespace(error=SimpleNamespace(at=1.0), newest_kind="error", cut_at_end=None)

    async def read(*_: object) -> object:
        return facts

    async def capture(*_: object) -> str:
        return ""

    screens = SimpleNamespace(
        classify=lambda agent, screen: "idle",
        failed_turn=lambda agent, facts: TurnFailed(agent.name, agent.incarnation, error="server_error"),
    )
    outside = SimpleNamespace(
        terminal=SimpleNamespace(capture=capture), screens=screens, clock=FastClock(),
        transcripts=SimpleNamespace(facts=read),
    )  # fmt: skip
    part = Screening(cast(Any, outside), fleet.find, fleet.tell)

    async def live(agent: Agent) -> None:
        await part.look(LookAtScreen(agent.name, agent.incarnation))
        assert part.refusals._told

    return (part, part.refusals), live


def marker_watch(fleet: Fleeting) -> tuple[tuple[object, ...], Life]:
    part = MarkerWatch(fleet.find, fleet.tell, FastClock(), cast(Any, None))

    async def live(agent: Agent) -> None:
        part._judge(agent, (Passed("answer", str(Footer("7f3a9c", agent.name, "Stable"))),), ())
        assert part._footers

    return (part,), live


def hearing(fleet: Fleeting) -> tuple[tuple[object, ...], Life]:
    dying: list[Callable[[], None]] = []

    def watch(identity: ProcessIdentity, died: Callable[[], None]) -> bool:
        dying.append(died)
        return True

    processes = SimpleNamespace(watch=watch)
    nothing = cast(Any, SimpleNamespace(acknowledge=lambda agent, seq: None))
    part = Hearing(
        nothing, cast(Any, processes), nothing, FastClock(), fleet.find, fleet.tell, lambda after, call: None
    )  # fmt: skip

    async def live(agent: Agent) -> None:
        hello = ShimHello(agent.name, ProcessIdentity("boot", 7, 7), 2, "0.1.0", 40001, None, None)
        part.watch_shim(hello)
        part._hooks.greet(agent.name, hello)
        payload = {"tool_name": "Bash", "held": True}
        hook = {"seq": 1, "incarnation": 1, "run_id": "r", "kind": "permission-request", "payload": payload}
        part.hear(ShimMessage(agent.name, "hook", hook))
        part.hear(ShimMessage(agent.name, "hook", {**hook, "again": True}))
        part.hear(ShimMessage(agent.name, "released", {"incarnation": 1, "seq": 1}))
        part._deaths.leaves(agent.name)
        assert part._deaths._leaving
        for died in dying:
            died()
        dying.clear()
        part.let_go(agent.name)

    return (part, part._deaths, part._hooks, part._hooks._throttle, part._hooks._questions), live


def messenger(fleet: Fleeting) -> tuple[tuple[object, ...], Life]:
    part = Messenger(*cast(Any, (None, None, None)), FastClock(), fleet.find, fleet.tell)

    async def deliver(agent: Agent, order: Deliver) -> object:
        return None

    part._deliver = deliver  # type: ignore[assignment, method-assign]

    async def live(agent: Agent) -> None:
        await part.deliver(agent, Deliver(agent.name, agent.incarnation, "m", "go on"))
        fleet.there = None
        part.forget_removed([agent.name])

    return (part,), live


def publisher(fleet: Fleeting) -> tuple[tuple[object, ...], Life]:
    part = Publisher(cast(Any, None), cast(Any, SimpleNamespace(follow=lambda agent: None)), FastClock())

    part.hear_rest(())

    async def live(agent: Agent) -> None:
        part.hear((), [agent])
        assert part._followed
        # As its writing does.
        part._pending.clear()
        part._urgent.clear()
        fleet.there = None
        part.forget_removed([agent.name])

    return (part,), live


@pytest.mark.parametrize("made", [screening, marker_watch, hearing, messenger, publisher])
async def test_no_table_by_names_grows_with_the_workers_that_were(
    made: Callable[[Fleeting], tuple[tuple[object, ...], Life]],
) -> None:
    fleet = Fleeting()
    parts, live = made(fleet)
    for number in range(WORKERS):
        await live(fleet.begins(number))
    kept = {
        f"{type(part).__name__}.{place}": len(table)
        for part in parts
        for place, table in vars(part).items()
        if isinstance(table, dict | set) and len(table) > 2
    }
    assert kept == {}


async def test_a_text_that_is_on_its_way_keeps_its_turn_though_its_agent_is_removed() -> None:
    fleet = Fleeting()
    part = Messenger(*cast(Any, (None, None, None)), FastClock(), fleet.find, fleet.tell)
    async with part._turns["w"]:
        part.forget_removed(["w"])
        assert "w" in part._turns, "a second text for one of that name would be typed into the first"
    part.forget_removed(["w"])
    assert "w" not in part._turns


async def test_the_wish_of_who_was_removed_is_forgotten_once_it_stands_in_its_file() -> None:
    told, clock = Told(), FastClock()
    keeper = EpochKeeper(told, clock, lambda event: None)  # type: ignore[arg-type]
    supervisor = Supervisor(Fleet(), clock, told, told.act, remember=keeper.keep)  # type: ignore[arg-type]
    for number in range(5):
        await turn(supervisor, keeper, AgentDeclared(AgentSpec(f"w{number}", ("x",), "/")))
        await turn(supervisor, keeper, AgentWithdrawn(f"w{number}"))
    await anyio.lowlevel.checkpoint()
    assert told.wishes["w0"].word == "removed"
    assert keeper._wishes == {}
