"""What `since` counts is what happened: compared with a ledger that the simulated host keeps by itself."""

from __future__ import annotations

import anyio
import pytest

from phoenixd.api.history import Digest
from phoenixd.core.facts import RunProductive
from phoenixd.ports.journal import StoredEntry
from tests.simulate.simulation import Simulation, fleet_of
from tests.simulate.storm import NIGHT
from tests.simulate.virtual_loop import VirtualLoop

pytestmark = pytest.mark.usefixtures("quiet")

HOURS = 8.0


def a_night(seed: str, agents: int, server_ends: int = 0) -> Simulation:
    simulations: list[Simulation] = []

    async def main() -> None:
        simulation = Simulation(seed, fleet_of(agents))
        simulation.host.is_plain = True
        simulations.append(simulation)
        for number in range(server_ends):
            simulation.host.later((number + 0.5) * HOURS * 3600 / server_ends, simulation.host.lose_terminal)
        await simulation.run(NIGHT, HOURS * 3600)

    anyio.run(main, backend_options={"loop_factory": VirtualLoop})
    return simulations[0]


@pytest.mark.slow
@pytest.mark.parametrize("server_ends", [0, 4])
@pytest.mark.parametrize("seed", ["1", pytest.param("4", marks=pytest.mark.proof)])
def test_since_counts_what_the_ledger_of_the_host_counts(seed: str, server_ends: int) -> None:
    """Deaths, healed, resumed, fresh, quarantined, released, finished and iterations: 0 differences (F-RES-1, P34)."""
    night = a_night(seed, 15, server_ends)
    rows = night.host.journal.entries
    digest = Digest(0.0)
    digest.feed(rows)

    fell = {run for end in digest.terminals.told for run in end.fell.items()}
    assert len(digest.terminals.told) == server_ends
    counted = night.host.ledger.add_up(night.specs, productive_runs(rows), fell)

    assert {name: getattr(digest, name) for name in counted} == counted
    classes = ("healed", "repeated", "quarantined", "returned", "released", "ended", "unhealed")
    assert digest.deaths == sum(getattr(digest, one) for one in classes)
    assert min(counted["deaths"], counted["resumed"], counted["fresh"], counted["iterations"]) > 0, counted


def productive_runs(rows: list[StoredEntry]) -> set[tuple[str, int]]:
    return {
        (row.entry.agent or "", fact.incarnation)
        for row in rows
        for fact in row.entry.facts
        if isinstance(fact, RunProductive)
    }
