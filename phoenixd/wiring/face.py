"""What the daemon shows: its service, its facts, and what `phoenixctl doctor` asks of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial

import anyio
from anyio.abc import TaskGroup

from phoenixd import __version__, runs
from phoenixd.api.values import Facts
from phoenixd.config import read_configuration
from phoenixd.config.problems import Problem
from phoenixd.core.seat.finding import declared, meant
from phoenixd.directories import find_configuration, for_any_shell, start_again
from phoenixd.doctor import Doctor
from phoenixd.doctor_alerts import alert_findings
from phoenixd.drivers.cgroups.tree import tier
from phoenixd.drivers.files.project import projects_of, read_project
from phoenixd.ports import Outside
from phoenixd.runtime.onlookers import Onlookers
from phoenixd.runtime.recovery import relink
from phoenixd.runtime.world import left_alone
from phoenixd.service.daemon_service import DaemonService
from phoenixd.service.declarations import Declarations
from phoenixd.wiring.closing import Ending
from phoenixd.wiring.kin import above_agents
from phoenixd.wiring.parts import Ground, Hands, House, World


def make_service(
    ground: Ground, world: World, house: House, outside: Outside, hands: Hands, ending: Ending, tasks: TaskGroup
) -> DaemonService:
    supervisor, shims, cgroups = ground.supervisor, world.shims, world.cgroups
    facts = _facts(ground, world)
    return DaemonService(
        supervisor=supervisor,
        clock=ground.clock,
        journal=ground.journal,
        cleaner=outside.cleaner,
        terminal=world.terminal,
        shims=shims,
        hearing=hands.hearing,
        metering=hands.metering,
        knowledge=house.papers,
        starts=house.starter,
        directories=ground.directories,
        declarations=Declarations(
            supervisor=supervisor,
            clock=ground.clock,
            starts=house.starter,
            directories=ground.directories,
            environ=os.environ,
            began_with=ground.configuration.settings,
            left_alone=lambda name: left_alone(outside, ground.epochs, name),
            files=ground.configuration.read,
            began_without=_undeclared(ground),
            adopted=lambda name: tasks.start_soon(relink, name, supervisor.find, shims, hands.hearing, ground.clock),
        ),
        describe=facts,
        examine=_doctor(ground, world, house).examine,
        stop=ending.begin,
        transcripts=house.transcripts,
        above_agents=lambda: above_agents(shims, supervisor.fleet.agents),
        handover=house.handover,
        shared=house.shared,
        list_projects=projects_of,
        read_project=partial(read_project, hashed=False),
        agents_cgroup=cgroups.agents_path if cgroups else None,
        sights=hands.sights,
        onlookers=Onlookers(world.terminal, hands.sights, ground.clock, supervisor.everybody),
    )


def _undeclared(ground: Ground) -> dict[str, int]:
    """The agents of the journal that no file declares, with their incarnations."""
    fleet = ground.supervisor.fleet
    found = {name: meant(fleet, name) for name in declared(fleet).keys() - ground.configuration.agents.keys()}
    return {name: agent.incarnation for name, agent in found.items() if agent is not None}


def _facts(ground: Ground, world: World) -> Callable[[], Facts]:
    """What the daemon says of itself, as of the moment it is asked."""
    directories, supervisor, started_at = ground.directories, ground.supervisor, time.time()
    # The shell in which it is typed need not have the variables with which this daemon was begun.
    again = start_again(for_any_shell(os.environ), directories)

    def facts() -> Facts:
        # A place that had none when the daemon began may have one by now, which is the one that it applies.
        configuration = directories.configuration or find_configuration(os.environ)
        return Facts(
            version=__version__,
            pid=os.getpid(),
            started_at=started_at,
            tmux=world.terminal.version,
            tier=tier(world.cgroups),
            degraded=supervisor.degraded,
            halted=supervisor.halted,
            commits=supervisor.saver.known.latency,
            alerts=supervisor.fleet.alerts,
            state=os.fspath(directories.state),
            runtime=os.fspath(directories.runtime),
            configuration=os.fspath(configuration) if configuration else None,
            again=again,
        )

    return facts


def _doctor(ground: Ground, world: World, house: House) -> Doctor:
    directories, supervisor, journal = ground.directories, ground.supervisor, ground.journal
    terminal, cgroups = world.terminal, world.cgroups

    async def problems() -> tuple[Problem, ...]:
        place = directories.configuration or find_configuration(os.environ)
        found = await anyio.to_thread.run_sync(read_configuration, place, directories.state, os.environ)
        return found.problems

    def moved_from(agent: str) -> tuple[str, str] | None:
        shim = world.shims.shim_of(agent)
        places = directories.state, directories.runtime
        return runs.begun_elsewhere(shim.pid, *places) if shim is not None else None

    return Doctor(
        now=ground.clock.now,
        degraded=lambda: supervisor.degraded,
        halted=lambda: supervisor.halted or journal.trouble,
        latency=lambda: supervisor.saver.known.latency,
        damage=lambda: str(journal.damage) if journal.damage else None,
        tmux=lambda: terminal.version,
        foreign_panes=terminal.foreign,
        tier=tier(cgroups),
        problems=problems,
        environment_of=house.variables.environment_of,
        size_of=terminal.size,
        tmux_hangs=terminal.hangs,
        under_systemd=ground.manager.is_present,
        agents_cgroup=cgroups.agents_path if cgroups else None,
        alerts=lambda: tuple(alert_findings(ground.configuration.settings.alerts, os.environ)),
        moved_from=moved_from,
    )
