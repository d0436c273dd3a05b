"""An agent, a journal that is behind the world, and what the world shows of it."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Desired
from phoenixd.core.behind.world import SeenRun, Trace, World
from phoenixd.core.declarations import declared
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec

NOW = Moment(100.0, 1e9)
SPEC = AgentSpec("a", ("x",), "/")
OLD = SeenRun(2, "run-2", "s", "fresh", 20, 1, 9e8, 10, "boot")
NEW = SeenRun(3, "run-3", "s", "resume", 30, 1, 9e8, 20, "boot")


def agent(incarnation: int = 2, desired: Desired = Desired.STOPPED) -> Agent:
    """As a journal has it: down, or about to start."""
    known = replace(declared(SPEC, NOW, incarnation), desired=desired)
    return known if desired is Desired.STOPPED else replace(known, state=BackingOff(1, Mode.FRESH, PromptKind.GOAL))


def world(trace: Trace, journal: int = 15, epoch: int = 20) -> World:
    return World("boot", journal, epoch, (trace,))


R, S = Desired.RUNNING, Desired.STOPPED


def told(fleet: Fleet) -> str:
    return " ".join(one.text for one in fleet.alerts)
