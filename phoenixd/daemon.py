"""The composition root: the only file that names drivers and runtime together."""

from __future__ import annotations

import argparse
import asyncio
import grp
import json
import math
import os
import socket
import sys
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import structlog
from anyio.abc import TaskGroup

from phoenixd import __version__, logs, runs, signals
from phoenixd.api.application import Api
from phoenixd.api.lineage import Scarce
from phoenixd.api.marks import agent_by_mark
from phoenixd.api.rights import Doorkeeper
from phoenixd.api.server import LOOK_EVERY, bind, serve
from phoenixd.api.service import Facts
from phoenixd.config import Configuration, load_configuration, read_configuration
from phoenixd.config.tables import AlertsTable
from phoenixd.core.agent import Agent
from phoenixd.core.events import TroubleGone, TroubleSeen
from phoenixd.core.spec import WriterKind
from phoenixd.directories import (
    STATE_POINTER,
    Directories,
    are_named,
    check_socket_paths,
    find_configuration,
    find_directories,
)
from phoenixd.doctor import Doctor
from phoenixd.drivers.cgroups.oom import OomCounters
from phoenixd.drivers.cgroups.tree import CgroupTree, tier
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.drivers.evidence.signs import HEARTBEAT, EvidenceFiles
from phoenixd.drivers.files.changes import DirectoryChanges
from phoenixd.drivers.files.epoch import EpochFiles
from phoenixd.drivers.files.ownership import Ownership, Waiting, own
from phoenixd.drivers.files.plain import ensure_private_dir, read_plain, replace
from phoenixd.drivers.git.work import WorkPrints
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.notify.command import CommandRoute
from phoenixd.drivers.notify.notifier import Notifier, Route
from phoenixd.drivers.notify.webhook import Endpoint, WebhookRoute
from phoenixd.drivers.processes.leftovers import Cleaner, RunCleaner
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.processes.proc import is_hidden, run_of
from phoenixd.drivers.processes.strays import StraySweeper
from phoenixd.drivers.shims.links import SeqpacketShims
from phoenixd.drivers.systemd import ServiceManager
from phoenixd.drivers.tmux.terminal import TmuxTerminal
from phoenixd.drivers.writers.command import AGENT as NO_AGENT
from phoenixd.drivers.writers.command import CommandWriter
from phoenixd.drivers.writers.model import ModelWriter
from phoenixd.errors import AlreadyRunning, ConfigurationError, PhoenixdError, UnsafeFile
from phoenixd.memory.changes import DOCUMENT as EDITED
from phoenixd.ports import Outside, ProcessIdentity, ShimMessage
from phoenixd.runtime.answers import Answerer
from phoenixd.runtime.ending import LAST_COMMITS, finish
from phoenixd.runtime.epochs import EpochKeeper
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.messages import Messenger
from phoenixd.runtime.performer import Performer
from phoenixd.runtime.publisher import Publisher
from phoenixd.runtime.recovery import recover, relink, restore, unfinished_texts
from phoenixd.runtime.strays import Strays
from phoenixd.runtime.supervisor import LONGEST_PAUSE, Supervisor
from phoenixd.runtime.world import face, left_alone
from phoenixd.service import DaemonService
from phoenixd.start.fences import offer_api
from phoenixd.start.launcher import Launch

EXIT_BAD_CONFIGURATION = 78
EXIT_ANOTHER_RUNS = 6
MAX_RECORD = 256 * 1024
LOCK_PATIENCE = 1.0
"""Seconds for which a daemon that ends just now is waited for."""
WAITING_LOOK, WAITING_EXTENSION = 1.0, 30.0
"""Seconds between two looks of a service that waits for the directories, and those that systemd is asked for."""

log = structlog.get_logger()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the daemon in the foreground until it is told to stop.

    78 for a configuration that cannot be used, 6 where another daemon has the directories, or an agent asks.
    """
    signals.outlive()
    parser = argparse.ArgumentParser(prog="phoenixd", description="Keep AI coding agents alive and at work.")
    parser.add_argument("--config", metavar="PATH", help="configuration directory or file")
    parser.add_argument("--state-dir", metavar="DIR", help="where everything lives that has to survive")
    parser.add_argument("--runtime-dir", metavar="DIR", help="where the sockets are")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    parser.add_argument("--version", action="version", version=f"phoenixd {__version__}")
    given = parser.parse_args(arguments)
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
    logs.configure(given.log_level or daemon_table.log_level, daemon_table.log_format)
    try:
        with own(directories.state, directories.runtime, LOCK_PATIENCE, _patience_of_a_service()) as owned:
            if owned.waited:
                configuration = _configuration(directories)
            _point_to_state(directories)
            anyio.run(_live, directories, configuration, owned)
    except ConfigurationError as error:
        return _fail(error.message, error.remedy, EXIT_BAD_CONFIGURATION)
    except AlreadyRunning as error:
        return _fail(error.message, error.remedy, EXIT_ANOTHER_RUNS)
    except PhoenixdError as error:
        return _fail(error.message, error.remedy, 1)
    return 0


def _configuration(directories: Directories) -> Configuration:
    configuration = load_configuration(directories.configuration, directories.state, os.environ)
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


def _point_to_state(directories: Directories) -> None:
    try:
        replace(directories.runtime / STATE_POINTER, os.fsencode(directories.state) + b"\n", durable=False)
    except OSError as error:
        log.warning("state_pointer_not_written", reason=str(error))


def _fail(message: str, remedy: str, code: int) -> int:
    print(f"phoenixd: {message}" + (f"\n  {remedy}" if remedy else ""), file=sys.stderr)
    return code


async def _live(directories: Directories, configuration: Configuration, owned: Ownership) -> None:
    """Build, recover, serve until told to stop; the agents live on."""
    keep = configuration.settings.journal.keep
    with SqliteJournal(directories.state / "journal.sqlite3", keep_seconds=keep) as journal:
        async with anyio.create_task_group() as tasks:
            daemon = await _build(directories, configuration, journal, tasks, owned)
            specs = tuple(configuration.agents.values())
            faced = await face(
                daemon.supervisor, daemon.outside, daemon.epochs, daemon.keeper, specs,
                is_damaged=journal.damage is not None,
            )  # fmt: skip
            for part in (
                daemon.keeper,
                daemon.supervisor,
                daemon.performer,
                daemon.publisher,
                daemon.evidence,
                daemon.strays,
                daemon.launch,
                daemon.launch.briefing,
                daemon.notifier,
            ):
                tasks.start_soon(part.run)
            tasks.start_soon(daemon.launch.breakers.run, daemon.service.agents, daemon.supervisor.tell)
            tasks.start_soon(_obey_signals, daemon)
            tasks.start_soon(_keep_terminal_named, daemon.terminal)
            await recover(daemon.supervisor, daemon.outside, daemon.hearing, specs, faced)
            tasks.start_soon(daemon.keeper.settle, daemon.service.agents)
            _tell_of_the_journal(daemon.supervisor, journal)
            # Also of agents to which nothing happened: what was resolved, or became stale, while nobody watched.
            daemon.publisher.hear((), tuple(daemon.supervisor.fleet.agents.values()))
            await tasks.start(_serve, daemon, owned)
            agents = len(daemon.supervisor.fleet.agents)
            daemon.manager.ready(f"{agents} agents")
            log.info("ready", agents=agents, tier=daemon.service.describe().tier)
            await daemon.ending.begun.wait()
            daemon.manager.stopping("the agents live on")
            if daemon.ending.dismiss:
                await _dismiss(daemon)
            daemon.manager.extend_timeout(2 * LAST_COMMITS)  # Closing waits for the commit that is under way.
            await finish(daemon.supervisor)
            tasks.cancel_scope.cancel()
        daemon.shims.close()
        daemon.terminal.close()
    log.info("stopped")


def _tell_of_the_journal(supervisor: Supervisor, journal: SqliteJournal) -> None:
    """What stood of it before this start is over, unless it was found again."""
    if (migrated := journal.migrated) is not None:
        log.info("journal_migrated", before=migrated.before, now=migrated.now, kept_as=migrated.kept_as)
    if journal.damage is not None:
        supervisor.tell(TroubleSeen(None, "journal", str(journal.damage)))
    else:
        supervisor.tell(TroubleGone(None, "journal", "the journal is sound"))


@dataclass(slots=True)
class _Daemon:
    """The parts that outlive the building."""

    outside: Outside
    epochs: EpochFiles
    keeper: EpochKeeper
    shims: SeqpacketShims
    cgroups: CgroupTree | None
    terminal: TmuxTerminal
    evidence: EvidenceFiles
    launch: Launch
    notifier: Notifier
    supervisor: Supervisor
    performer: Performer
    publisher: Publisher
    hearing: Hearing
    strays: Strays
    service: DaemonService
    manager: ServiceManager
    directories: Directories
    api_group: str
    ending: _Ending


@dataclass(slots=True)
class _Ending:
    """The end of the daemon's life, and whether shims and terminals, which serve nobody then, end with it."""

    owned: Ownership
    begun: anyio.Event = field(default_factory=anyio.Event)
    dismiss: bool = False

    def begin(self, dismiss: bool = False) -> None:
        self.dismiss = dismiss
        try:
            self.owned.say_ending()
        except OSError as error:
            log.warning("ending_not_said", reason=str(error))
        self.begun.set()


async def _build(
    directories: Directories, configuration: Configuration, journal: SqliteJournal, tasks: TaskGroup, owned: Ownership
) -> _Daemon:
    """Make every part, and tie them together."""
    settings, manager = configuration.settings, ServiceManager()
    saved = journal.load()
    clock = SupervisedClock(saved.at)
    ending, owner = _Ending(owned), owned.owner.id
    shims: SeqpacketShims
    processes: Processes

    def shim_pid(agent: str) -> int | None:
        shim = shims.shim_of(agent)
        return shim.pid if shim is not None and processes.identity_of(shim.pid) == shim else None

    terminal = TmuxTerminal(directories.runtime, under_systemd=manager.is_present, shim_pid=shim_pid)
    found = await _look(terminal)
    if not found:
        log.warning("tmux_unavailable")
    server_pid = await terminal.server_pid() if found else None
    cgroups = CgroupTree.find(directories.state, server_pid=server_pid)
    started_at = time.time()
    # The parts know each other in a ring; the closures below are called only after all of them are made.
    supervisor: Supervisor
    hearing: Hearing
    performer: Performer
    publisher: Publisher
    service: DaemonService

    def create_leaf(agent: str, incarnation: int) -> str | None:
        assert cgroups is not None
        cgroups.prune(agent, keep=incarnation)
        return cgroups.create_leaf(agent, incarnation)

    def hear(message: ShimMessage) -> None:
        hearing.hear(message)

    def is_of_a_run(pid: int) -> bool:
        runs = {agent.run.run_id for agent in supervisor.fleet.agents.values() if agent.run is not None}
        if cgroups is not None and cgroups.owner_of(pid) is not None:
            return True
        # A shim of ours is never hidden from us, and bears no run's mark.
        if run_of(pid) in runs or is_hidden(pid):
            return True
        try:
            return agent_by_mark(pid, str(directories.state / "agents")) is not None
        except Scarce:
            return True  # The link is taken up again, and then there is a descriptor to look with.

    def lives(agent: str, shim: ProcessIdentity | None) -> bool:
        known = supervisor.fleet.agents.get(agent)
        if shim is None:
            return known is not None and known.run is not None
        return processes.identity_of(shim.pid) == shim

    def is_there(agent: str) -> bool:
        named = (records.run_record(agent) or {}).get("shim")
        pid = named.get("pid") if isinstance(named, dict) else None
        return runs.seems_to_live(directories.state, directories.runtime, agent, pid if isinstance(pid, int) else 0)

    shims = SeqpacketShims(
        directories.runtime, hear, is_of_a_run=is_of_a_run, lives=lives, is_there=is_there, owner=owner
    )
    processes = Processes(leaves=cgroups, reaper_of=shims.shim_of)
    epochs = EpochFiles(directories.state)
    keeper = EpochKeeper(epochs, clock, lambda event: supervisor.tell(event), shims.tell_epoch)
    launch = Launch(
        directories=directories,
        owner=owner,
        settings=settings,
        create_leaf=create_leaf if cgroups else None,
        clock=clock,
        agents=lambda: supervisor.fleet.agents.values(),
        tell=lambda event: supervisor.tell(event),
        conversation=lambda agent, budget: launch.transcripts.conversation(agent, budget),
        writers={
            WriterKind.COMMAND: CommandWriter(
                lambda: launch.job_runner,
                lambda agent: launch.environment_of(agent),
                lambda run_id: processes.fence(NO_AGENT, 0, run_id, None),
            ),
            WriterKind.MODEL: ModelWriter(lambda agent: launch.environment_of(agent)),
        },
        changes=DirectoryChanges(EDITED),
        epoch=lambda: keeper.committed,
    )
    records = _ExitRecords(directories.state)
    notifier = Notifier(_routes(settings.alerts, processes), time.time)

    def find(name: str) -> Agent | None:
        return supervisor.fleet.agents.get(name)

    def everybody() -> tuple[Agent, ...]:
        return tuple(supervisor.fleet.agents.values())

    def greeted(name: str) -> None:
        tasks.start_soon(relink, name, find, shims, hearing, clock)

    def above_agents() -> dict[str, ProcessIdentity]:
        """By agent, below what its processes are: its shim, linked or not, or where that is lost the agent itself."""
        found = shims.living()
        for agent in everybody():
            shim, run = shims.shim_of(agent.name), agent.run
            child = None
            if run is not None and run.pid is not None and run.start_time is not None:
                child = ProcessIdentity(processes.boot_id(), run.pid, run.start_time)
            for one in (shim, child):
                if agent.name not in found and one is not None and processes.identity_of(one.pid) == one:
                    found[agent.name] = one
        return found

    def degraded(why: str | None) -> None:
        manager.status(f"degraded: {why}" if why else "ready")

    def listen(entries: Sequence[Any], changed: Sequence[Agent]) -> None:
        publisher.hear(entries, changed)
        service.ring(max((stored.seq for stored in entries), default=0))

    evidence = EvidenceFiles(
        directories.state, lambda event: supervisor.tell(event), DirectoryChanges(HEARTBEAT), launch.transcript
    )

    async def tokens_of(agent: Agent) -> int | None:
        used = await launch.transcripts.usage(agent)
        return used.tokens if used is not None else None

    outside = Outside(
        clock=clock,
        journal=journal,
        terminal=terminal,
        shims=shims,
        processes=processes,
        launcher=launch,
        records=records,
        evidence=evidence,
        transcripts=launch.transcripts,
        notifier=notifier,
        work=WorkPrints([directories.state, directories.runtime], tokens_of, everybody),
        cleaner=RunCleaner(Cleaner(cgroups, shims.shim_of), directories.agent_state),
    )
    answerer = Answerer(find, terminal, shims, launch, launch.transcripts, clock)
    messenger = Messenger(terminal, launch, launch.transcripts, clock, find, lambda event: supervisor.tell(event))
    for name, text in unfinished_texts(await journal.read(newest=True)).items():
        messenger.left_behind(name, text)
    supervisor = Supervisor(
        restore(saved, dict(configuration.agents), configuration.limits),
        clock,
        journal,
        lambda action: performer.submit(action),
        [listen],
        on_turn=manager.watchdog,
        on_degraded=degraded,
        on_saved=lambda newest: service.ring(newest),
        clean=launch.clean,
        remember=keeper.keep,
        longest_pause=min(LONGEST_PAUSE, (manager.watchdog_interval or math.inf) / 2),
    )
    loop = asyncio.get_running_loop()
    sweeper = StraySweeper(cgroups, lambda: shims.living().values())
    strays = Strays(sweeper, clock, find, supervisor.tell, shims.swept)
    hearing = Hearing(
        shims, processes, records, clock, find, supervisor.tell,
        later=lambda seconds, call: loop.call_later(seconds, call),
        heard=messenger.heard,
        greeted=greeted,
        answered=answerer.heard,
        memory=OomCounters(cgroups.leaf_of if cgroups is not None else lambda agent, incarnation: None),
        unswept=strays.hear,
    )  # fmt: skip
    performer = Performer(outside, find, supervisor.tell, hearing, messenger, answerer)
    publisher = Publisher(launch, evidence, clock, lambda event: supervisor.tell(event))

    def facts() -> Facts:
        return Facts(
            version=__version__,
            pid=os.getpid(),
            started_at=started_at,
            tmux=terminal.version,
            tier=tier(cgroups),
            degraded=supervisor.degraded,
            halted=supervisor.halted,
            commits=supervisor.saver.known.latency,
            alerts=supervisor.fleet.alerts,
            state=os.fspath(directories.state),
            runtime=os.fspath(directories.runtime),
            configuration=os.fspath(directories.configuration) if directories.configuration else None,
        )

    async def problems() -> tuple[str, ...]:
        found = await anyio.to_thread.run_sync(
            read_configuration,
            directories.configuration or find_configuration(os.environ),
            directories.state,
            os.environ,
        )
        return tuple(map(str, found.problems))

    doctor = Doctor(
        now=clock.now,
        degraded=lambda: supervisor.degraded,
        halted=lambda: supervisor.halted or journal.trouble,
        latency=lambda: supervisor.saver.known.latency,
        damage=lambda: str(journal.damage) if journal.damage else None,
        tmux=lambda: facts().tmux,
        foreign_panes=terminal.foreign,
        tier=tier(cgroups),
        problems=problems,
        environment_of=launch.environment_of,
        size_of=terminal.size,
        tmux_hangs=terminal.hangs,
        under_systemd=manager.is_present,
        agents_cgroup=cgroups.agents_path if cgroups else None,
    )
    service = DaemonService(
        supervisor=supervisor,
        clock=clock,
        journal=journal,
        cleaner=outside.cleaner,
        terminal=terminal,
        shims=shims,
        hearing=hearing,
        knowledge=launch,
        directories=directories,
        environ=os.environ,
        describe=facts,
        examine=doctor.examine,
        stop=ending.begin,
        left_alone=lambda name: left_alone(outside, epochs, name),
        adopted=greeted,
        living_shims=above_agents,
        agents_cgroup=cgroups.agents_path if cgroups else None,
    )
    return _Daemon(
        outside=outside,
        epochs=epochs,
        keeper=keeper,
        shims=shims,
        cgroups=cgroups,
        terminal=terminal,
        evidence=evidence,
        launch=launch,
        notifier=notifier,
        supervisor=supervisor,
        performer=performer,
        publisher=publisher,
        hearing=hearing,
        strays=strays,
        service=service,
        manager=manager,
        directories=directories,
        api_group=settings.daemon.api_group,
        ending=ending,
    )


def _routes(alerts: AlertsTable, processes: Processes) -> list[Route]:
    """The ways to the operator that are configured."""
    routes: list[Route] = []
    if alerts.command:
        # No agent can have that name, so nothing of an agent's is ever met.
        def end_tree(run_id: str) -> Awaitable[object]:
            return processes.fence("#alert", 0, run_id, None)

        routes.append(CommandRoute(alerts.command, end_tree, timeout=alerts.timeout, at_once=alerts.at_once))
    if alerts.webhook is not None:
        url = alerts.webhook if isinstance(alerts.webhook, str) else Path(alerts.webhook.file)
        header = Path(alerts.webhook_authorization.file) if alerts.webhook_authorization is not None else None
        routes.append(WebhookRoute(Endpoint(url, header), timeout=alerts.timeout, tries=alerts.tries))
    return routes


async def _look(terminal: TmuxTerminal) -> bool:
    """Find the terminal server, or start it where that is ours to do; agents can be adopted without it."""
    try:
        return await terminal.revive()
    except PhoenixdError as failure:
        log.error("terminal_failed", reason=failure.message, remedy=failure.remedy)
        return False


async def _dismiss(daemon: _Daemon) -> None:
    """End the shims, none of which has a run, and the tmux server where it is ours to end."""
    for name in daemon.shims.living():
        try:
            daemon.shims.quit(name)
        except PhoenixdError as failure:
            # That of an agent that was removed a moment ago goes by itself.
            log.info("shim_goes_by_itself", agent=name, reason=failure.message)
    try:
        await daemon.terminal.end()
    except PhoenixdError as failure:
        log.warning("terminal_not_ended", reason=failure.message)
    if daemon.cgroups is not None:
        daemon.cgroups.discard()


async def _serve(daemon: _Daemon, owned: Ownership, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    """Answer the control API until the daemon stops."""
    group = grp.getgrnam(daemon.api_group).gr_gid if daemon.api_group else None
    runtime = daemon.directories.runtime

    def listening() -> socket.socket:
        ensure_private_dir(runtime)
        try:
            owned.keep()
        except OSError as error:
            log.warning("runtime_directory_not_owned", reason=str(error))
        listener = bind(runtime / "api.sock", group)
        for agent in daemon.supervisor.fleet.agents.values():
            if agent.spec.fence == "namespace" and daemon.directories.agent_runtime(agent.name).is_dir():
                try:
                    offer_api(runtime, agent.name)
                except OSError as error:
                    # What an agent makes of its own directory is its own loss.
                    log.warning("api_not_offered", agent=agent.name, reason=str(error))
        return listener

    api = Api(daemon.service, Doorkeeper(daemon.service.agent_of_token, group))
    await serve(api, listening(), on_ready=lambda server: task_status.started(), bind_again=listening)


async def _keep_terminal_named(terminal: TmuxTerminal) -> None:
    """Have the terminal server make its socket anew whenever somebody took it away (F-TMUX)."""
    while True:
        await anyio.sleep(LOOK_EVERY)
        await terminal.keep_named()


async def _obey_signals(daemon: _Daemon) -> None:
    """Some signals end the daemon, SIGHUP applies the configuration, and the rest is told."""
    with anyio.open_signal_receiver(*signals.HEARD) as arrived:
        async for number in arrived:
            if number in signals.ENDING:
                log.info("stopping", signal=number.name)
                daemon.ending.begin()
                break
            if number != signals.APPLYING:
                log.warning("signal_ignored", signal=number.name, remedy="to end phoenixd: phoenixctl down")
                continue
            daemon.manager.reloading()
            try:
                changes = await daemon.service.apply()
                log.info("applied", changes=[f"{one.action} {one.agent}" for one in changes if one.action != "keep"])
            except ConfigurationError as error:
                log.error("reload_refused", reason=error.message, remedy=error.remedy)
            daemon.manager.ready()
    signals.outlive()  # The receiver has put back what ends a process, and the end takes a while.


@dataclass(frozen=True, slots=True)
class _ExitRecords:
    """run.json and exit.json as shims write them, read as what they are: files in reach of an agent."""

    state: Path

    def exit_record(self, agent: str) -> dict[str, Any] | None:
        return self._read(agent, "exit.json")

    def run_record(self, agent: str) -> dict[str, Any] | None:
        return self._read(agent, "run.json")

    def _read(self, agent: str, name: str) -> dict[str, Any] | None:
        try:
            record = json.loads(read_plain(self.state / "agents" / agent / name, MAX_RECORD))
        except (FileNotFoundError, UnsafeFile, ValueError, RecursionError):
            return None
        return record if isinstance(record, dict) else None
