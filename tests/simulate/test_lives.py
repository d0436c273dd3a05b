"""A daemon that dies at each point of its turns, and a host that reboots there: what comes next puts all right."""

from __future__ import annotations

from collections import Counter

import anyio
import pytest

from phoenixd.core.events.orders import RestartRequested, SendRequested, StartRequested, StopRequested
from tests.simulate.program import Program
from tests.simulate.simulation import Simulation, fleet_of
from tests.simulate.virtual_loop import VirtualLoop

pytestmark = pytest.mark.usefixtures("quiet")

POINTS = {"saving", "saved", "acting", "acted", "answered"}


class Life:
    """A short story of five agents, in which the daemon dies at one point, or the host reboots there."""

    def __init__(self, strike_at: int | None = None, reboots: bool = False, seed: str = "life") -> None:
        self.passed: Counter[str] = Counter()
        self._strike_at = strike_at
        self._reboots = reboots
        self._seed = seed
        self.simulation: Simulation

    def live(self) -> Simulation:
        """Raises Broken where a promise does not hold, in the story or in the peace after it."""
        anyio.run(self._main, backend_options={"loop_factory": VirtualLoop})
        assert not self.simulation.host.promises.breaches
        return self.simulation

    async def _main(self) -> None:
        self.simulation = Simulation(self._seed, fleet_of(5))
        self.simulation.host.is_calm = self.simulation.host.is_plain = True
        self.simulation.host.at_point = self._pass
        await self.simulation.play(self._story)

    def _pass(self, point: str) -> None:
        self.passed[point] += 1
        if self.passed.total() != self._strike_at:
            return
        host = self.simulation.host
        host.promises.tell(f"{'a reboot' if self._reboots else 'the daemon dies'} at point {self._strike_at}: {point}")
        self.simulation.kill_daemon(0.2)
        if self._reboots:
            host.reboot()

    async def _story(self) -> None:
        """Each order once, a death of each kind; then peace."""
        host, simulation = self.simulation.host, self.simulation
        await anyio.sleep(5)
        simulation.daemon.order(StopRequested("agent-00"), "agent-00", wants_running=False)
        simulation.daemon.order(RestartRequested("agent-01"), "agent-01", wants_running=True)
        await anyio.sleep(2)
        simulation.daemon.order(SendRequested("agent-02", "text", "go on"), "agent-02")
        if (shim := host.shims.get("agent-03")) is not None and shim.run is not None:
            host.kill(shim.run.child)
        await anyio.sleep(2)
        if (shim := host.shims.get("agent-02")) is not None:
            shim.die()
        simulation.daemon.order(StopRequested("agent-04", after_iteration=True), "agent-04", wants_running=False)
        await anyio.sleep(3)
        simulation.daemon.order(StartRequested("agent-00"), "agent-00", wants_running=True)
        simulation.daemon.order(StopRequested("agent-01"), "agent-01", wants_running=False)
        await anyio.sleep(5)


def points() -> int:
    life = Life()
    life.live()
    assert life.passed.keys() == POINTS
    return life.passed.total()


def reboots_seen(simulation: Simulation) -> set[str]:
    """The boots after which, as the journal says, all runs before them were void."""
    rows = simulation.host.journal.entries
    return {str(row.entry.detail["boot_id"]) for row in rows if row.entry.event == "rebooted"}


@pytest.mark.slow
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.proof)])
def test_promises_1_to_3_hold_wherever_in_its_turns_the_daemon_dies(every: int) -> None:
    for point in range(1, points() + 1, every):
        simulation = Life(point).live()
        assert simulation.lives == 2
        assert reboots_seen(simulation) == set(), "runs of this very boot were declared void"


@pytest.mark.parametrize(("read_after", "stopped_after"), [(35.0, 33.0), (55.0, 53.0)])
def test_promise_3_a_shim_that_reads_its_order_too_late_starts_nothing_that_stays(
    monkeypatch: pytest.MonkeyPatch, read_after: float, stopped_after: float
) -> None:
    """The start is given up after 30 s, then the agent is stopped, also after further starts of it were ordered."""
    delays = iter((read_after,))
    monkeypatch.setattr(Program, "exec_delay", lambda program: next(delays, 0.01))

    async def main() -> None:
        simulation = Simulation("late", {"agent-00": fleet_of(1)["agent-00"]})
        host = simulation.host
        host.is_calm = host.is_plain = True

        async def story() -> None:
            await anyio.sleep(stopped_after)
            simulation.daemon.order(StopRequested("agent-00"), "agent-00", wants_running=False)
            await anyio.sleep(30)

        await simulation.play(story)
        reasons = [row.entry.reason for row in host.journal.entries]
        assert reasons.count("run 1 began after it was given up: it is ended") == 1

    anyio.run(main, backend_options={"loop_factory": VirtualLoop})


@pytest.mark.slow
def test_f_sy_5_a_reboot_is_seen_wherever_in_its_turns_the_daemon_was() -> None:
    for point in range(1, points() + 1, 5):
        simulation = Life(point, reboots=True).live()
        assert reboots_seen(simulation) == {"boot-2"}, f"the reboot at point {point} was not seen"


def test_f_sy_5_each_reboot_is_seen_and_none_twice() -> None:
    """Also the second, and one that the daemon before knew nothing of, because it died at once."""

    async def main() -> None:
        simulation = Simulation("reboots", fleet_of(5))
        host = simulation.host
        host.is_calm = host.is_plain = True

        async def story() -> None:
            await anyio.sleep(5)
            for number in range(2, 6):
                simulation.kill_daemon(0.2)
                host.reboot()
                await anyio.sleep(0.2003 if number % 2 else 5)
                simulation.kill_daemon(0.1)
                await anyio.sleep(5)
                assert reboots_seen(simulation) == {f"boot-{boot}" for boot in range(2, number + 1)}

        await simulation.play(story)
        missing = [row.entry for row in host.journal.entries if row.entry.event == "run_missing"]
        assert missing == [], "a run of another boot was looked for in this one"

    anyio.run(main, backend_options={"loop_factory": VirtualLoop})
