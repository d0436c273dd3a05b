"""A glance says of each agent what its row says, and the page that is made of glances is the page made of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from phoenixd.api.pages import status as text
from phoenixd.core import condition, glance, projection
from phoenixd.core.agent import Agent
from phoenixd.core.alerts import pressing
from phoenixd.core.events.orders import StopRequested
from phoenixd.core.glance import Glance
from phoenixd.core.mutes.state import Mute
from tests.api.daemon import FakeDaemon, MemoryJournal
from tests.api.fleets import FLEETS, three_at_work
from tests.api.test_text import HERE

fleets = pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.__name__)


@fleets
def test_a_glance_is_what_the_row_says(fleet: Callable[[], FakeDaemon]) -> None:
    daemon = fleet()
    rows = projection.project(daemon.state, daemon.now())
    seen = glance.glances(daemon.state, daemon.now())

    assert [one.name for one in seen] == [row.name for row in rows]
    for one, row in zip(seen, rows, strict=True):
        told = {name: getattr(row, name) for name in Glance._fields if name not in ("kind", "context")}
        assert {name: getattr(one, name) for name in told} == told
    counted = glance.counts(daemon.state, daemon.now())
    of_rows = {group: sum(row.group == group for row in rows) for group in condition.SIGNS}
    of_no_agent = len(pressing(daemon.state.alerts))
    assert counted == {**of_rows, "needs_you": of_rows["needs_you"] + of_no_agent}


@fleets
def test_the_page_of_glances_is_the_page_of_rows(fleet: Callable[[], FakeDaemon]) -> None:
    daemon = fleet()
    rows = projection.project(daemon.state, daemon.now())
    seen = glance.glances(daemon.state, daemon.now())
    whole = glance.whole(daemon.state, daemon.now(), daemon.sight)

    assert text.status(seen, daemon.facts(), None, HERE, whole=whole) == text.status(rows, daemon.facts(), None, HERE)


@fleets
def test_what_is_known_of_earlier_looks_changes_no_glance(fleet: Callable[[], FakeDaemon]) -> None:
    """Each look may find agents changed, gone and muted, and mutes that are over."""
    # The fleet and its journal are other tests' as well.
    daemon, known = replace(fleet(), journal=MemoryJournal()), dict[str, tuple[Agent, Glance]]()
    names = sorted(daemon.state.agents)
    mutes = {name: Mute(name, daemon.now().wall, daemon.now().wall + 60, "operator") for name in names}
    worlds = [daemon.state]
    worlds.append(replace(daemon.state, mutes=mutes))
    worlds.append(daemon.state)
    for name in names[:5]:
        daemon.happen(StopRequested(name, by="operator"))
        worlds.append(daemon.state)
    worlds.append(replace(daemon.state, agents={}))
    worlds.append(daemon.state)
    for world in worlds:
        for later in (0.0, 120.0):
            now = daemon.now()
            now = replace(now, wall=now.wall + later)
            assert glance.counts(world, now, known) == glance.counts(world, now)
            assert glance.glances(world, now, known=known) == glance.glances(world, now)
            assert glance.counts(world, now, known) == glance.counts(world, now)


def test_a_shell_that_only_counts_remembers_no_more_than_there_is() -> None:
    """Workers come and go under names of their own, and nobody may ever look at the whole fleet."""
    daemon, known = three_at_work(), dict[str, tuple[Agent, Glance]]()
    agents = tuple(daemon.state.agents.values())
    for number in range(100):
        renamed = [replace(one, spec=replace(one.spec, name=f"{one.name}-{number}", seat="")) for one in agents]
        world = replace(daemon.state, agents={one.name: one for one in renamed})
        glance.counts(world, daemon.now(), known)
    assert 0 < len(known) <= 3 * len(agents)
