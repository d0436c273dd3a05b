"""The daemon's life: its directories are owned, its parts begin in order, and it serves until it is told to end."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from phoenixd import __version__, log_file, logs, runs, signals
from phoenixd.config import Configuration, load_configuration
from phoenixd.config.seats import require_known
from phoenixd.core import unheard
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.directories import (
    CONFIGURATION_POINTER,
    STATE_POINTER,
    Directories,
    are_named,
    check_socket_paths,
    find_directories,
)
from phoenixd.drivers.files.ownership import Ownership, Waiting, own
from phoenixd.drivers.files.plain import replace
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.processes.heap import give_back, share_one_arena
from phoenixd.drivers.processes.precedence import take_precedence, take_turns
from phoenixd.drivers.systemd import ServiceManager
from phoenixd.errors import AlreadyRunning, ConfigurationError, PhoenixdError
from phoenixd.jobs.kept import forgotten, newest_task
from phoenixd.leaving import leave_what_hangs
from phoenixd.runtime.ending import LAST_COMMITS, finish
from phoenixd.runtime.last_life import last_life, newest_rows, remember_end
from phoenixd.runtime.openings import recall
from phoenixd.runtime.recovery import recover
from phoenixd.runtime.reloads import Reloads
from phoenixd.runtime.supervisor import Supervisor
from phoenixd.runtime.ways import begin_new
from phoenixd.runtime.world import face
from phoenixd.wiring.closing import Ending, dismiss
from phoenixd.wiring.order import compose
from phoenixd.wiring.parts import Daemon
from phoenixd.wiring.serving import serve_api

EXIT_BAD_CONFIGURATION = 78
EXIT_ANOTHER_RUNS = 6
LOCK_PATIENCE = 1.0
"""Seconds for which a daemon that ends just now is waited for."""
WAITING_LOOK, WAITING_EXTENSION = 1.0, 30.0
"""Seconds between two looks of a service that waits for the directories, and those that systemd is asked for."""

log = structlog.get_logger()


class _Parser(argparse.ArgumentParser):
    """argparse whose complaints have the form of the daemon's own."""

    def error(self, message: str) -> NoReturn:
        raise SystemExit(_fail(message, "phoenixd --help", 2))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the daemon in the foreground until it is told to stop.

    78 for a configuration that cannot be used, 6 where another daemon has the directories, or an agent asks.
    """
    signals.outlive()
    parser = _Parser(prog="phoenixd", description="Keep AI coding agents alive and at work.")
    parser.add_argument("--config", metavar="PATH", help="configuration directory or file")
    parser.add_argument("--state-dir", metavar="DIR", help="where everything lives that has to survive")
    parser.add_argument("--runtime-dir", metavar="DIR", help="where the sockets are")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    parser.add_argument("--version", action="version", version=f"phoenixd {__version__}")
    given = parser.parse_args(arguments)
    signals.tell_stacks()
    for flag, path in (("config", given.config), ("state-dir", given.state_dir), ("runtime-dir", given.runtime_dir)):
        if path == "":
            parser.error(f"--{flag} is empty")
    if not sys.platform.startswith("linux"):
        return _fail("phoenixd needs Linux: it holds processes by pidfd, subreaper and cgroup", "", 1)
    try:
        directories = find_directories(
            os.environ, configuration=given.config, state=given.state_dir, runtime=given.runtime_dir
        )
        named = are_named(os.environ, given.state_dir, given.runtime_dir)
        if (refusal := runs.forbids_daemon(directories.state, directories.runtime, named=named)) is not None:
            return _fail(refusal, runs.ASK, EXIT_ANOTHER_RUNS)
        configuration = _configuration(directories)
    except ConfigurationError as error:
        return _fail(error.message, error.remedy, EXIT_BAD_CONFIGURATION)
    daemon_table = configuration.settings.daemon
    lines = logs.configure(given.log_level or daemon_table.log_level, daemon_table.log_format)
    try:
        with own(directories.state, directories.runtime, LOCK_PATIENCE, _patience_of_a_service()) as owned:
            if owned.waited:
                configuration = _configuration(directories)
            if (file := log_file.written_by_us(directories.state / log_file.NAME)) is not None:
                lines.tend = file.tend
            _point_to_places(directories, given.config is not None)
            share_one_arena()
            give_back()
            take_precedence()
            take_turns()
            anyio.run(_live, directories, configuration, owned, file)
    except ConfigurationError as error:
        return _fail(error.message, error.remedy, EXIT_BAD_CONFIGURATION)
    except AlreadyRunning as error:
        return _fail(error.message, error.remedy, EXIT_ANOTHER_RUNS)
    except PhoenixdError as error:
        return leave_what_hangs(_fail(error.message, error.remedy, 1))
    return leave_what_hangs(0)


def _configuration(directories: Directories) -> Configuration:
    configuration = load_configuration(directories.configuration, directories.state, os.environ, begins=True)
    check_socket_paths(directories.runtime, configuration.agents)
    return configuration


def _patience_of_a_service() -> Waiting | None:
    """Under systemd the directories are waited for, however long: it would only start the service again and again."""
    manager = ServiceManager()

    def wait(refusal: AlreadyRunning) -> float:
        manager.status(f"waits: {refusal.message}")
        manager.extend_timeout(WAITING_EXTENSION)
        return WAITING_LOOK

    return wait if manager.is_present else None


def _point_to_places(directories: Directories, is_configuration_named: bool) -> None:
    """Say in the runtime directory what starts this daemon again, for phoenixctl while it cannot be asked."""
    configuration = directories.configuration if is_configuration_named else None
    told = {
        STATE_POINTER: os.fsencode(directories.state),
        CONFIGURATION_POINTER: os.fsencode(configuration) if configuration is not None else b"",
    }
    for name, path in told.items():
        try:
            replace(directories.runtime / name, path + b"\n", durable=False)
        except OSError as error:
            log.warning("pointer_not_written", pointer=name, reason=str(error))


def _fail(message: str, remedy: str, code: int) -> int:
    print(f"phoenixd: {message}" + (f"\n  {remedy}" if remedy else ""), file=sys.stderr)
    return code


async def _live(
    directories: Directories, configuration: Configuration, owned: Ownership, lines: log_file.LogFile | None
) -> None:
    """Build, recover, serve until told to stop; the agents live on."""
    keep = configuration.settings.journal.keep
    with SqliteJournal(directories.state / "journal.sqlite3", keep_seconds=keep) as journal:
        require_known(configuration.agents.values(), lambda: {agent.name for agent in journal.load().agents})
        async with anyio.create_task_group() as tasks:
            daemon = await compose(directories, configuration, journal, tasks, Ending(owned), lines)
            await _begin(daemon, tasks)
            await daemon.ending.begun.wait()
            await _end(daemon)
            tasks.cancel_scope.cancel()
        daemon.world.shims.close()
        daemon.world.terminal.close()
    log.info("stopped")


async def _begin(daemon: Daemon, tasks: TaskGroup) -> None:
    """Look at the world, have every part run, recover, and answer the control API. The order is the promise."""
    ground, hands, papers = daemon.ground, daemon.hands, daemon.house.papers
    supervisor, manager, specs = ground.supervisor, ground.manager, tuple(ground.configuration.agents.values())
    stood = unheard.numbers(supervisor.fleet)
    # Before anything turns: the first step may start what an old journal wants.
    faced = await face(
        supervisor, daemon.outside, ground.epochs, daemon.keeper, specs, is_damaged=ground.journal.damage is not None
    )
    papers.inherit(await newest_rows(ground.journal))
    before = await last_life(ground.journal)
    parts = (daemon.keeper, supervisor, hands.performer, daemon.publisher, daemon.evidence, hands.strays)
    looks = (
        hands.messenger, hands.metering, hands.cut_answers, hands.marker_watch, hands.key_watch, hands.turn_watch,
        hands.ack_watch,
    )  # fmt: skip
    for part in (*parts, papers, papers.briefing, daemon.rounds, daemon.notifier, *looks):
        tasks.start_soon(part.run)
    reloads = Reloads(ground.clock, partial(_reload, daemon))
    tasks.start_soon(reloads.run)
    tasks.start_soon(_obey_signals, daemon, reloads)
    newest = await to_thread.run_sync(newest_task, ground.directories)
    kept = await to_thread.run_sync(forgotten, ground.directories, ground.clock.now().wall) if faced.behind else ()
    await recover(supervisor, daemon.outside, hands.hearing, specs, faced, newest, before, kept)
    tasks.start_soon(daemon.keeper.settle, supervisor.everybody, lambda: supervisor.fleet.retired)
    _tell_of_the_journal(supervisor, ground.journal)
    # Also of agents to which nothing happened: what was resolved, or became stale, while nobody watched.
    daemon.publisher.hear_rest(supervisor.everybody())
    tasks.start_soon(recall, ground.journal, supervisor.everybody(), hands.sights.opens)
    # What the start itself has told goes every way by now, and what it found to be over is not told as if it stood.
    await begin_new(ground.journal, daemon.notifier.ways, stood, supervisor.ask)
    daemon.ways.begin()
    await tasks.start(serve_api, daemon)
    agents = len(supervisor.fleet.agents)
    manager.ready(f"{agents} agents")
    log.info("ready", agents=agents, tier=daemon.service.describe().tier)


async def _end(daemon: Daemon) -> None:
    """Save what was decided; the agents live on."""
    manager, world, supervisor = daemon.ground.manager, daemon.world, daemon.ground.supervisor
    manager.stopping("the agents live on")
    manager.extend_timeout(2 * LAST_COMMITS)  # Closing waits for the commit that is under way.
    await finish(supervisor)
    await remember_end(daemon.ground.journal, daemon.ground.clock.now().wall, daemon.ending.why)
    # Orders were taken until now: what somebody started meanwhile lives on.
    what, fleet = daemon.ending.dismiss, supervisor.fleet
    if (what == "all" and fleet.is_down) or (what == "idle" and fleet.is_at_rest):
        await dismiss(world.shims, world.terminal, world.cgroups, what)


def _tell_of_the_journal(supervisor: Supervisor, journal: SqliteJournal) -> None:
    """What stood of it before this start is over, unless it was found again."""
    if (migrated := journal.migrated) is not None:
        log.info("journal_migrated", before=migrated.before, now=migrated.now, kept_as=migrated.kept_as)
    if journal.damage is not None:
        supervisor.tell(TroubleSeen(None, "journal", str(journal.damage)))
    else:
        supervisor.tell(TroubleGone(None, "journal", "the journal is sound"))


async def _obey_signals(daemon: Daemon, reloads: Reloads) -> None:
    """Some signals end the daemon, SIGHUP applies the configuration, and the rest is told."""
    with anyio.open_signal_receiver(*signals.HEARD) as arrived:
        async for number in arrived:
            if number in signals.ENDING:
                log.info("stopping", signal=number.name)
                daemon.ending.begin(why=number.name)
                break
            if number != signals.APPLYING:
                log.warning("signal_ignored", signal=number.name, remedy="to end phoenixd: phoenixctl down")
                continue
            reloads.ask()
    signals.outlive()  # The receiver has put back what ends a process, and the end takes a while.


async def _reload(daemon: Daemon) -> None:
    """Apply the configuration, and say what came of it in the log."""
    daemon.ground.manager.reloading()
    try:
        done = await daemon.service.apply()
        changes = [f"{one.action} {one.agent}" for one in done.changes if one.action != "keep"]
        keys = {"settings": list(done.settings), "after_restart": list(done.after_restart)}
        log.info("applied", changes=changes, **{name: told for name, told in keys.items() if told})
        for one in done.changes:
            if one.refused:
                log.error("change_refused", agent=one.agent, reason=one.refused, remedy="phoenixctl apply")
    except ConfigurationError as error:
        log.error("reload_refused", reason=error.message, remedy=error.remedy)
    daemon.ground.manager.ready()
