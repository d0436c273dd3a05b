"""Everything that the daemon looks at periodically, in one place: what it is, how often, and why nobody tells of it."""

from __future__ import annotations

from phoenixd.api.server import LOOK_EVERY
from phoenixd.core.seat.finding import is_other
from phoenixd.drivers.files import project as projects
from phoenixd.drivers.processes import heap
from phoenixd.jobs import cleared
from phoenixd.log_file import LogFile
from phoenixd.memory import breakers, held_sessions, kept_plans, phase_limits
from phoenixd.memory.phase_limits import PhaseLimits
from phoenixd.runtime.log_watch import LogWatch
from phoenixd.runtime.rounds import Look
from phoenixd.runtime.ways import LOOK_EVERY as WAYS_EVERY
from phoenixd.runtime.ways import Ways
from phoenixd.start import coexistence
from phoenixd.wiring.parts import Ground, House, World


def periodic_looks(ground: Ground, world: World, house: House, ways: Ways, lines: LogFile | None) -> tuple[Look, ...]:
    """Those with a fixed pace. Documents and briefs are looked at when they are due, by the same clock."""
    supervisor = ground.supervisor
    files = house.papers.breakers
    plans = PhaseLimits(
        lambda: [one for one in supervisor.everybody() if not is_other(supervisor.fleet, one)],
        projects.stamps_of,
        projects.read_plans,
        supervisor.tell,
        lambda: ground.clock.now().wall,
    )
    return (
        # No CLI locks its sessions.
        Look("processes in agents' sessions", coexistence.INTERVAL, house.starter.coexistence.look),
        # An operator's edit or deletion is an order, and comes on file systems that tell of nothing, too.
        Look("files of breakers", breakers.INTERVAL, lambda: files.look_at_all(supervisor.everybody, supervisor.tell)),
        # The writer of a plan tells nobody; what did not change is not read (E68).
        Look("the length of plans", phase_limits.INTERVAL, plans.look),
        # How full a context is changes with each request: too often to be written each time (E18).
        Look("the records of orchestrators' sessions", held_sessions.INTERVAL, house.sessions.look),
        # An end of a task is written at once; this is for a disk that took it not.
        Look("plans that workers ended tasks of", kept_plans.INTERVAL, house.plans.look),
        # The allocator gives back by itself only what lies above all that is used.
        Look("pages that nothing uses", heap.INTERVAL, _give_back),
        # What is left of a worker after its task, and of a generation after its handoff, is of use for a while.
        Look(
            "directories of what is over",
            cleared.INTERVAL,
            lambda: cleared.clear(ground.directories, lambda: supervisor.fleet),
        ),
        # The line that fills the log begins it anew, and cannot tell that this failed.
        Look("the daemon's log", LOOK_EVERY, LogWatch(lines.tend if lines is not None else None, supervisor.tell).look),
        # A web hook or a program that is well again says nothing of that.
        Look("ways that have yet to tell alerts", WAYS_EVERY, ways.look),
        # The kernel tells of no unlinked socket (F-TMUX).
        Look("the terminal server's socket", LOOK_EVERY, world.terminal.keep_named),
    )


async def _give_back() -> None:
    heap.give_back()
