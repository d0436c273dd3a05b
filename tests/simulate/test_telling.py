"""A storm of kills: what stands in the end was told by its way, whatever daemon died over it, and no daemon repeats."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import anyio
import pytest
from anyio.abc import TaskGroup

from phoenixd.core.redelivery import LONGEST_PAUSE
from phoenixd.core.unheard import numbers, unheard
from phoenixd.drivers.notify.notifier import Notifier
from phoenixd.drivers.notify.outbox import Outbox
from phoenixd.runtime.ways import LOOK_EVERY, Ways
from tests.simulate import simulation
from tests.simulate.daemon import Daemon, Ports
from tests.simulate.host import Host, Life
from tests.simulate.simulation import Simulation, fleet_of
from tests.simulate.storm import STORM, rage
from tests.simulate.virtual_loop import VirtualLoop

WAY = "command"


class Told:
    """What the operator has heard over all lives of the daemon: how often of each alert, and by which daemon last."""

    def __init__(self, seed: str) -> None:
        self.dice = Random(f"told {seed}")
        self.heard: Counter[int] = Counter()
        self.by: dict[int, int] = {}
        self.repeated: list[int] = []
        self.lost: set[int] = set()
        """What stood at a daemon's start, was told by none before it, and waited no more."""
        self.failed = self.late = 0


class SlowRoute(Outbox):
    """A program that takes its time, and fails now and then while the weather is bad."""

    def __init__(self, host: Host, life: Life, told: Told) -> None:
        super().__init__(WAY, 100)
        self.mark = "the same in each life"
        self._host, self._life, self._told, self._number = host, life, told, host.daemons

    async def run(self) -> None:
        while True:
            message = await self.take()
            await anyio.sleep(self._told.dice.uniform(0.01, 30.0))
            if self._life.is_over:
                return
            problem = None if self._host.is_calm or self._told.dice.random() > 0.3 else "exit 1"
            if problem is None and message.state == "raised":
                if self._told.by.get(message.id) == self._number:
                    self._told.repeated.append(message.id)
                self._told.by[message.id] = self._number
                self._told.heard.update(number for _, number in message.tells)
            self._told.failed += problem is not None
            self.done(message, problem)


class TellingDaemon(Daemon):
    """A daemon with a way to the operator, wired as phoenixd.wiring.order wires it."""

    ways = (WAY,)
    told: Told
    """Set by the test: it outlives each daemon."""

    def _ports(self, life: Life) -> Ports:
        self.notifier = Notifier([SlowRoute(self._host, life, self.told)], lambda: self._host.wall)
        return replace(super()._ports(life), notifier=self.notifier)

    def _recovered(self, tasks: TaskGroup) -> None:
        ways = Ways(lambda: self.supervisor.fleet, self._clock.at, self.supervisor.tell, self.notifier)
        self.notifier.hear, self.notifier.leave_out = ways.hear, ways.leave_out

        async def look() -> None:
            while True:
                await anyio.sleep(LOOK_EVERY)
                await ways.look()

        fleet = self.supervisor.fleet
        waiting = {one.id for one in unheard(fleet, WAY).alerts}
        self.told.lost |= numbers(fleet) - waiting - self.told.heard.keys()
        self.told.late += len(waiting - set(self.notifier.offered(WAY)))
        ways.begin()
        tasks.start_soon(self.notifier.run)
        tasks.start_soon(look)


@pytest.mark.parametrize("seed", ["1", "2", "3", "4"])
def test_p84_what_stands_after_a_storm_of_kills_was_told_and_no_daemon_told_it_twice(
    seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(seed)

    monkeypatch.setattr(TellingDaemon, "told", told, raising=False)
    monkeypatch.setattr(simulation, "Daemon", TellingDaemon)

    async def main() -> None:
        ran = Simulation(seed, fleet_of(6))

        async def peace() -> None:
            await anyio.sleep(2 * LONGEST_PAUSE)
            fleet = ran.daemon.supervisor.fleet
            assert numbers(fleet) <= told.heard.keys()
            assert {one.waits for agent in fleet.agents.values() for one in agent.alerts} <= {()}
            assert (told.lost, told.repeated) == (set(), [])
            # The storm was one: daemons died over alerts, and the program failed.
            assert told.late > 0
            assert told.failed > 0

        await ran.play(lambda: rage(ran, STORM, 3600.0), peace)

    anyio.run(main, backend_options={"loop_factory": VirtualLoop})
    again = sum(told.heard.values()) - len(told.heard)
    print(f"{len(told.heard)} alerts told, {told.late} of them late, {told.failed} failures, {again} told again")
