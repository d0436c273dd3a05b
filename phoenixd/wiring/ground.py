"""What needs nothing of ours, and what runs on this machine."""

from __future__ import annotations

import math
from functools import partial

import structlog

from phoenixd.config import Configuration
from phoenixd.directories import Directories
from phoenixd.drivers.cgroups.tree import CgroupTree
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.files.epoch import EpochFiles
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.shims.links import SeqpacketShims
from phoenixd.drivers.shims.records import ExitRecords
from phoenixd.drivers.systemd import ServiceManager
from phoenixd.drivers.tmux.terminal import TmuxTerminal
from phoenixd.errors import PhoenixdError
from phoenixd.runtime.recovery import restore
from phoenixd.runtime.supervisor import LONGEST_PAUSE, Supervisor
from phoenixd.wiring.kin import Kin, living_shim
from phoenixd.wiring.parts import Ground, World

log = structlog.get_logger()


def lay_ground(directories: Directories, configuration: Configuration, journal: SqliteJournal) -> Ground:
    saved, manager = journal.load(), ServiceManager()
    clock = SupervisedClock(saved.at)
    supervisor = Supervisor(
        restore(
            saved,
            dict(configuration.agents),
            configuration.limits,
            configuration.jobs,
            configuration.clinic,
            configuration.settings.alerts.ways,
        ),
        clock,
        journal,
        on_turn=manager.watchdog,
        on_degraded=lambda why: manager.status(f"degraded: {why}" if why else "ready"),
        longest_pause=min(LONGEST_PAUSE, (manager.watchdog_interval or math.inf) / 2),
    )
    records = ExitRecords(directories.state, plain_files.read_plain)
    epochs = EpochFiles(directories.state)
    return Ground(directories, configuration, journal, manager, clock, records, epochs, supervisor)


async def find_world(ground: Ground, owner: str) -> World:
    directories, under_systemd = ground.directories, ground.manager.is_present
    kin = Kin(directories, ground.supervisor.everybody, ground.records)
    shims = SeqpacketShims(
        directories.runtime, is_of_a_run=kin.is_of_a_run, lives=kin.lives, is_there=kin.is_there, owner=owner
    )
    terminal = TmuxTerminal(directories.runtime, under_systemd=under_systemd, shim_pid=partial(living_shim, shims))
    terminal.meet(kin.terminal_server())
    found = await _look(terminal)
    if not found:
        log.warning("tmux_unavailable")
    server_pid = await terminal.server_pid() if found else None
    cgroups = kin.cgroups = CgroupTree.find(directories.state, server_pid=server_pid)
    if cgroups is not None:
        cgroups.end_jobs()
    return World(shims, terminal, cgroups, Processes(leaves=cgroups, reaper_of=shims.shim_of))


async def _look(terminal: TmuxTerminal) -> bool:
    """Find the terminal server, or start it where that is ours to do; agents can be adopted without it."""
    try:
        return await terminal.revive()
    except PhoenixdError as failure:
        log.error("terminal_failed", reason=failure.message, remedy=failure.remedy)
        return False
