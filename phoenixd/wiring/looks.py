"""Everything that the daemon looks at periodically, in one place: what it is, how often, and why nobody tells of it."""

from __future__ import annotations

from phoenixd.api.server import LOOK_EVERY
from phoenixd.memory import breakers
from phoenixd.runtime.rounds import Look
from phoenixd.start import coexistence
from phoenixd.wiring.parts import Ground, House, World


def periodic_looks(ground: Ground, world: World, house: House) -> tuple[Look, ...]:
    """Those with a fixed pace. Documents and briefs are looked at when they are due, by the same clock."""
    supervisor = ground.supervisor
    files = house.papers.breakers
    return (
        # No CLI locks its sessions.
        Look("processes in agents' sessions", coexistence.INTERVAL, house.starter.coexistence.look),
        # An operator's edit or deletion is an order, and comes on file systems that tell of nothing, too.
        Look("files of breakers", breakers.INTERVAL, lambda: files.look_at_all(supervisor.everybody, supervisor.tell)),
        # The kernel tells of no unlinked socket (F-TMUX).
        Look("the terminal server's socket", LOOK_EVERY, world.terminal.keep_named),
    )
