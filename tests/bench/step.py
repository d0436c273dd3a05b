"""What one event costs the core in fleets of 1, 100 and 1,000 agents: evidence, a hook, a death; the next deadline.

CPU time of this thread, the sizes in turns, the median of many: what else the machine does is left out as far as can
be. `./dev bench --only step`.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from phoenixd.core.agent.state import Running
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.fleet import Fleet
from phoenixd.core.hooks import PromptSubmitted, SessionStarted, ToolStarted
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.step import step
from tests.bench.scale import Scale

SIZES = (1, 100, 1000)
AIM = 1.5
"""How often the cost in the smallest fleet the cost in the largest may be."""
EPOCH = 1_800_000_000.0


@dataclass(slots=True)
class World:
    """A fleet in the middle of its work. at: supervised seconds."""

    fleet: Fleet
    at: float = 0.0
    told: int = 0

    def now(self) -> Moment:
        return Moment(self.at, EPOCH + self.at, 0.5, str(self.told))

    def tell(self, event: Event) -> None:
        self.told += 1
        self.at += 0.01
        self.fleet = step(self.fleet, event, self.now()).fleet


def world_of(size: int) -> World:
    """That many agents of one account and one harness, each in the middle of a turn."""
    world = World(Fleet(limits=FleetLimits(max_starting=size + 8)))
    for number in range(size):
        name = f"agent-{number:04}"
        spec = AgentSpec(name, ("claude",), "/srv", harness="claude", prompt="Work.", account="team")
        world.tell(AgentDeclared(spec, start=True))
        begin(world, name)
    return world


def begin(world: World, name: str) -> None:
    """From an ordered spawn to a turn under way."""
    run = world.fleet.agents[name].run
    assert run is not None
    world.tell(AgentStarted(name, run.incarnation, run.run_id, 100, 100))
    world.tell(SessionStarted(name, run.incarnation, run.session_id, source="startup", beginning="startup"))
    world.tell(PromptSubmitted(name, run.incarnation, run.session_id, text="Work."))
    assert isinstance(world.fleet.agents[name].state, Running)


def evidence(world: World, number: int) -> Callable[[], object]:
    event, now = EvidenceSeen(_name(world, number), _incarnation(world, number), "heartbeat file"), _later(world)
    return lambda: step(world.fleet, event, now)


def hook(world: World, number: int) -> Callable[[], object]:
    """A tool's start, and what the supervisor asks afterwards: until when it may sleep."""
    name, incarnation, now = _name(world, number), _incarnation(world, number), _later(world)
    event = ToolStarted(name, incarnation, tool="Bash", tool_use_id="t1", command="make")
    return lambda: next_deadline(step(world.fleet, event, now).fleet, now)


def death(world: World, number: int) -> Callable[[], object]:
    name, now = _name(world, number), _later(world)
    run = world.fleet.agents[name].run
    assert run is not None
    event = AgentExited(name, run.incarnation, run.run_id, None, 9, "exit")
    return lambda: step(world.fleet, event, now)


def deadline(world: World, number: int) -> Callable[[], object]:
    now = _later(world)
    return lambda: next_deadline(world.fleet, now)


KINDS = {
    "evidence": evidence,
    "tool-start hook": hook,
    "death": death,
    "next_deadline": deadline,
}


def measure(samples: int, sizes: tuple[int, ...] = SIZES) -> dict[str, dict[int, float]]:
    """Median microseconds of CPU by kind and size; each sample begins from the same fleet."""
    worlds = {size: world_of(size) for size in sizes}
    found: dict[str, dict[int, list[float]]] = {kind: {size: [] for size in sizes} for kind in KINDS}
    gc.collect()
    gc.disable()
    try:
        for number in range(samples):
            for kind, prepare in KINDS.items():
                for size, world in worlds.items():
                    act = prepare(world, number * 7919)
                    began = time.thread_time_ns()
                    act()
                    found[kind][size].append((time.thread_time_ns() - began) / 1000)
    finally:
        gc.enable()
    return {kind: {size: statistics.median(one) for size, one in sizes.items()} for kind, sizes in found.items()}


def report(scale: Scale) -> bool:
    """Print the table. What misses the aim is said, and is no failure of the bench."""
    medians = measure(300 if scale.quick else 2000)
    print(f"\none event in the core, microseconds of CPU (aim: {AIM} x at most from 1 agent to {SIZES[-1]})")
    print(f"{'':18}" + "".join(f"{size:>10}" for size in SIZES) + f"{'ratio':>10}")
    for kind, costs in medians.items():
        ratio = costs[SIZES[-1]] / costs[SIZES[0]]
        missed = "" if ratio <= AIM else "  missed"
        print(f"{kind:18}" + "".join(f"{costs[size]:10.1f}" for size in SIZES) + f"{ratio:10.2f}{missed}")
    return True


def _name(world: World, number: int) -> str:
    return f"agent-{number % len(world.fleet.agents):04}"


def _incarnation(world: World, number: int) -> int:
    return world.fleet.agents[_name(world, number)].incarnation


def _later(world: World) -> Moment:
    return Moment(world.at + 1.0, EPOCH + world.at + 1.0, 0.5, "later")


if __name__ == "__main__":
    report(Scale())
