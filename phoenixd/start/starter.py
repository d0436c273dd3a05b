"""Implements ports.Starter: from a decision to spawn to the files that a run needs, and the order that starts it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import structlog
from anyio import to_thread

from phoenixd import __version__, runs
from phoenixd.bounded_reads import BoundedReads
from phoenixd.command_search import find_command
from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode
from phoenixd.core.events import Event
from phoenixd.core.spec import AgentSpec
from phoenixd.directories import Directories
from phoenixd.errors import LaunchFailed, NoAnswer, PhoenixdError, UnsafeFile
from phoenixd.harness import Harness, LaunchPlaces
from phoenixd.harness.screens import CANNOT_RUN, harness_of
from phoenixd.memory.breakers import make_file
from phoenixd.memory.desk import Desk, TornState
from phoenixd.memory.files import Files
from phoenixd.memory.publication import Publication
from phoenixd.memory.shelf import Shelf
from phoenixd.ports import Clock
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimCommand, ShimHello
from phoenixd.start.ahead import Ahead
from phoenixd.start.coexistence import Coexistence
from phoenixd.start.fences import api_socket, fence_of, leaf_of, offer_api
from phoenixd.start.order import command_line, phoenix_variables, render_order
from phoenixd.start.own_files import place_own_files
from phoenixd.start.preflight import questions_at_start
from phoenixd.start.programs import NAME, Programs, offer, with_phoenixctl
from phoenixd.start.resumption import FRESH_MARKER, require_resumable
from phoenixd.start.run_secrets import RunSecrets
from phoenixd.start.status_line import add_status_line
from phoenixd.start.trust import seed_trust
from phoenixd.start.variables import Variables
from phoenixd.terrain import TERRAIN

log = structlog.get_logger("phoenixd.start")

PATIENCE = 2.5
"""Seconds for each look at what an unattended start would meet."""

REMEMBERED = 1024
"""Shims that are known to have been begun with our directories."""

CLEAN_EXIT, SETTINGS = ".clean-exit", "settings.json"
"""Files of an agent's directory: the shim's word that a run ended on purpose, and what its CLI is started with."""


class Starter:
    """Everything that lies between a Spawn and the shim's start: environment, brief, settings, command line, order.

    create_leaf: makes the cgroup of a run, and returns its path or None. prune: takes away those of the runs before it.
    agents: those whose sessions are watched. tell: takes what was found of a session, to be decided upon.
    publication: whose desks a start consults.
    """

    def __init__(
        self,
        *,
        directories: Directories,
        create_leaf: Callable[[str, int], str | None] | None,
        prune: Callable[[str, int], None] = lambda agent, keep: None,
        clock: Clock,
        files: Files,
        programs: Programs,
        variables: Variables,
        publication: Publication,
        agents: Callable[[], Iterable[Agent]] = tuple,
        tell: Callable[[Event], None] = lambda event: None,
        epoch: Callable[[], int] = lambda: 0,
        owner: str = "",
        before_task: Callable[[AgentSpec], None] = lambda spec: None,
    ) -> None:
        """Raises OSError. owner: whose orders a shim takes. before_task: notes how a worker finds its workspace."""
        self._directories = directories
        self._owner = owner
        self._create_leaf, self._prune = create_leaf, prune
        self._epoch = epoch
        self._before_task = before_task
        self._clock = clock
        self._files = files
        for everybodys in (directories.agent_state("a").parent, directories.agent_runtime("a").parent):
            files.ensure_private_dir(everybodys)
        self._installed, self._stand = programs.installed, programs.stand
        self._programs = programs.directory
        self._interpreter = programs.interpreter
        self._variables = variables
        self._publication = publication
        self.secrets = RunSecrets(files, directories.state / "token.key")
        self._trust_lock = threading.Lock()
        self._looks = BoundedReads()
        self._ahead: dict[str, Ahead] = {}
        self._in_place: set[ProcessIdentity] = set()
        self.coexistence = Coexistence(agents, tell, files, variables.session_files)

    async def shim_command(self, agent: str) -> ShimCommand:
        """The command of a new shim, which stands there to be run. Raises LaunchFailed."""
        return await to_thread.run_sync(self._stand_for, agent)

    async def begun_elsewhere(self, shim: ProcessIdentity) -> str | None:
        """The directory of ours that a living shim was begun with, and from which it was moved since; else None."""
        # A start takes milliseconds, and is spared a look at what was in its place before.
        if shim in self._in_place:
            return None
        places = self._directories.state, self._directories.runtime
        found = await to_thread.run_sync(runs.begun_elsewhere, shim.pid, *places)
        if found is None:
            if len(self._in_place) >= REMEMBERED:
                self._in_place.clear()
            self._in_place.add(shim)
        return found[0] if found is not None else None

    def _stand_for(self, agent: str) -> ShimCommand:
        state, runtime = self._directories.agent_state(agent), self._directories.agent_runtime(agent)
        try:
            for directory in (state.parent, runtime.parent, state, runtime):
                self._files.ensure_private_dir(directory)
            self._stand()
        except (OSError, UnsafeFile) as error:
            raise LaunchFailed(
                f"there is nothing to start it with: {error}", "free space, or fix the state directory"
            ) from error
        program = (self._interpreter, "-I", "-S", str(self._installed.shim))
        places = ("--agent", agent, "--state", str(state), "--run", str(runtime))
        owner = ("--owner", self._owner) if self._owner else ()
        return ShimCommand((*program, *places, "--version", __version__, *owner))

    async def write_order(self, agent: Agent, spawn: Spawn, hello: ShimHello) -> str:
        """Write what the run needs before it begins, the order last, and return the order's path; raises LaunchFailed.

        What its program finds while it boots is written by the publication that each start brings with it: state.json,
        brief.md (unless it is read at once) and the run's own session-start files, for which the hook program waits.
        """
        ahead = self._ahead.pop(agent.name, None)
        if ahead is not None and (order := await ahead.order_for(agent, spawn, hello, self._epoch(), self._clock.at())):
            return order
        harness = harness_of(agent.spec)
        if spawn.mode is Mode.RESUME:
            await self.coexistence.require_alone(agent)
        base = await self._variables.base(agent.spec.env_from)
        desk = self._publication.desks.desk_of(agent)
        if harness.reads_brief_at_once:
            await self._publication.repositories.first(desk, agent)
        async with desk.lock:
            try:
                return await self._publication.write_safely(
                    desk, lambda: self._write(agent, spawn, hello, harness, base, desk)
                )
            except (OSError, UnsafeFile) as error:
                raise LaunchFailed(
                    f"the files of a start could not be written: {error}", "free space, or fix the state directory"
                ) from error

    async def prepare(self, agent: Agent, spawn: Spawn, hello: ShimHello, epoch: int) -> None:
        """Write an order while the decision on it is being saved, where nothing of that counts unless it is saved.

        `write_order` then finds it. Where it cannot be had, or no longer fits, that writes it as ever, and says why it
        cannot. What may not be done before the commit is not done here: no file that says how the run before ended
        goes, and no task takes its place. epoch: the one that the decision will have been saved with.
        """
        harness, base = harness_of(agent.spec), self._variables.known_base(agent.spec.env_from)
        if base is None or agent.spec.task:
            return
        desk, now = self._publication.desks.desk_of(agent), self._clock.at()
        for name in [name for name, one in self._ahead.items() if name == agent.name or not one.is_fresh(now)]:
            self._ahead.pop(name).is_void = True
        ahead = self._ahead[agent.name] = Ahead(agent, spawn, hello, epoch, now)
        try:
            if harness.reads_brief_at_once:
                await self._publication.repositories.first(desk, agent)
            async with desk.lock:
                if spawn.mode is Mode.RESUME:
                    await self.coexistence.require_alone(agent)
                if not ahead.is_void:
                    ahead.order = await self._publication.threads.run(
                        lambda: self._write(agent, spawn, hello, harness, base, desk, ahead=epoch)
                    )
        except (PhoenixdError, OSError, TornState) as problem:
            log.info("not_prepared", agent=agent.name, reason=str(problem))
        finally:
            ahead.done.set()

    def tidy(self, agent: str, incarnation: int) -> None:
        """Take away the control groups of the runs before, once that one was ordered; no disk is asked."""
        self._prune(agent, incarnation)

    def command_problem(self, spec: AgentSpec) -> str | None:
        """Why the agent's command could not be run as things stand, as far as that can be told without waiting."""
        base = self._variables.known_base(spec.env_from)
        path = dict(spec.env).get("PATH") or (base or {}).get("PATH")
        command = spec.argv[0]
        if path is None and "/" not in command:
            return None
        if find_command(command, path or os.defpath, spec.cwd) is not None:
            return None
        if "/" in command and os.path.isfile(os.path.join(spec.cwd, command)):
            return f"{command} cannot be run now: it is not executable (chmod +x); it is needed when the agent starts"
        return f"{command} is not to be found in the agent's environment now; it is needed when the agent starts"

    async def start_problems(self, agent: Agent) -> tuple[str, ...]:
        """What stands in the way of an unattended start, one sentence each: the command, its login, its questions."""
        disk = f"a disk that {agent.name} needs"
        try:
            first = await self._looks.of(disk, partial(self.command_problem, agent.spec), PATIENCE)
            try:
                environment = await self._variables.environment_of(agent)
                asks = partial(questions_at_start, agent, environment, self._files)
                found = await self._looks.of(disk, asks, PATIENCE)
            except LaunchFailed as failure:
                found = (failure.message,)
        except NoAnswer as silent:
            return (f"nobody knows whether it can start unattended: {silent.message}",)
        return found if first is None else (first, *found)

    def token(self, run_id: str) -> str:
        """The run's secret, which the run alone is told."""
        return self.secrets.token(run_id)

    def _write(
        self,
        agent: Agent,
        spawn: Spawn,
        hello: ShimHello,
        harness: Harness,
        base: Mapping[str, str],
        desk: Desk,
        *,
        ahead: int | None = None,
    ) -> str:
        """The order's path; empty where it may not be written yet.

        ahead: the epoch that will be committed when it counts, where it is not yet.
        """
        spec, shelf = agent.spec, desk.shelf
        if ahead is not None and _is_marked(shelf, spawn.mode):
            return ""
        if problems := harness.problems(spec):
            raise LaunchFailed("; ".join(problems), "phoenixctl config check", CANNOT_RUN)
        self._keep_programs()
        token = self.token(spawn.run_id)
        out = self._place_of_task(spec, spawn.incarnation) if spec.task else None
        variables = self._run_variables(spec, spawn, harness, base, token, out)
        _require_answers(harness, spec, spawn, variables)
        if spawn.mode is Mode.RESUME:
            require_resumable(harness, spec, spawn.session_id, variables, self._papers_of(spec))
        self._publication.desks.learn(agent, self._variables.secrets(agent, variables))
        now = self._clock.now().wall
        desk.told.forget_other(spawn.run_id, spawn.incarnation)
        state = desk.foresee(agent, now)
        with self._trust_lock:
            seed_trust(self._files, harness, spec, variables)
            place_own_files(self._files, harness, variables)
        self._write_settings(spec, harness, hello, token, variables, shelf)
        places = self._launch_places(spec, out)
        seal = self.secrets.seal(agent, spawn.incarnation)
        argv, points_to_brief = command_line(harness, agent, spawn, state, places, seal)
        if (points_to_brief or harness.reads_brief_at_once) and self._publication.desks.holds(agent):
            desk.write_page(agent, state, now)
        make_file(agent, self._directories.agent_state(spec.name), self._files)
        _clear_markers(shelf, spawn.mode)
        return self._write_order_file(spec, spawn, argv, variables, token, ahead)

    def _papers_of(self, spec: AgentSpec) -> Path:
        """The directory of its brief and state; of a generation its seat's."""
        return self._directories.agent_state(spec.seat or spec.name)

    def _keep_programs(self) -> None:
        """Have the hook program and phoenixctl be there. By a look at a name: a respawn's cost is counted in ms."""
        if not os.access(self._installed.hook, os.X_OK):
            self._stand()
        if not os.access(self._programs / NAME, os.X_OK):
            offer(self._programs, self._files)

    def _run_variables(
        self, spec: AgentSpec, spawn: Spawn, harness: Harness, base: Mapping[str, str], token: str, out: Path | None
    ) -> dict[str, str]:
        """The whole environment of the run. out: where a worker leaves what it makes."""
        state, runtime = self._directories.agent_state(spec.name), self._directories.agent_runtime(spec.name)
        socket = api_socket(self._directories.runtime, spec.name, is_fenced=spec.fence == "namespace")
        papers, hook = self._papers_of(spec), self._installed.hook
        ours = phoenix_variables(spec, spawn, state, runtime, hook, socket, token, papers, out)
        return with_phoenixctl(self._variables.compose(spec, base, ours, harness.variables()), self._programs)

    def _launch_places(self, spec: AgentSpec, out: Path | None) -> LaunchPlaces:
        brief, settings = self._papers_of(spec) / "brief.md", self._directories.agent_state(spec.name) / SETTINGS
        return LaunchPlaces(str(brief), str(settings), str(self._installed.hook), str(out or ""))

    def _write_settings(
        self, spec: AgentSpec, harness: Harness, hello: ShimHello, token: str, variables: dict[str, str], shelf: Shelf
    ) -> None:
        """Write the CLI's settings, of those that take some; an operator's own status line goes into the variables."""
        hook, url = str(self._installed.hook), f"http://127.0.0.1:{hello.hook_port}/hook"
        settings = harness.settings(spec, url, token, hook)
        if settings is not None:
            add_status_line(spec, harness, settings, variables, hook, self._files)
            shelf.write(SETTINGS, (json.dumps(settings, indent=2) + "\n").encode())

    def _write_order_file(
        self, spec: AgentSpec, spawn: Spawn, argv: list[str], variables: dict[str, str], token: str, ahead: int | None
    ) -> str:
        """Make what holds the run, then write its order, last of all; the order's path. ahead: as in `_write`."""
        runtime = self._directories.agent_runtime(spec.name)
        leaf = leaf_of(spec, self._create_leaf, spawn.incarnation)
        self._files.ensure_private_dir(runtime)
        if spec.fence == "namespace":
            offer_api(self._directories.runtime, spec.name)
        fence = fence_of(spec, self._directories, variables)
        order, epoch = runtime / "order.json", self._epoch() if ahead is None else ahead
        content = render_order(spec, spawn, argv, variables, token, leaf, epoch, fence)
        self._files.replace(order, content, durable=False)
        return str(order)

    def _place_of_task(self, spec: AgentSpec, incarnation: int) -> Path:
        """Make the empty directory in which this run of a worker leaves what it makes, and its prompt beside it.

        How the worker finds its workspace is noted as well.
        """
        out = self._directories.task_out(spec.task, incarnation)
        for directory in (out.parent.parent.parent, out.parent.parent, out.parent, out):
            self._files.ensure_private_dir(directory)
        with os.scandir(out) as entries:
            if next(entries, None) is not None:
                # An old journal may count the runs of a task from the beginning: those files are of another run.
                raise LaunchFailed(f"{out} holds files of an earlier run", f"mv {out} {out}.kept")
        self._files.replace(out.parent / "prompt.md", (spec.prompt or "").encode("utf-8", "replace"), durable=False)
        self._before_task(spec)
        return out


def _require_answers(harness: Harness, spec: AgentSpec, spawn: Spawn, variables: Mapping[str, str]) -> None:
    """Raise LaunchFailed where what a start looks into hangs: all starts and documents share a few threads."""
    transcript = harness.transcript(spec, spawn.session_id, variables, spec.cwd)
    for place in filter(None, (spec.cwd, variables.get("HOME"), transcript)):
        if TERRAIN.is_directory(place) is None:
            raise LaunchFailed(f"{place} does not answer: its file system hangs", "have its file system answer")


def _is_marked(shelf: Shelf, mode: Mode) -> bool:
    """Whether a file that tells of the run before stands there, which goes only once the start is decided on."""
    return shelf.holds(CLEAN_EXIT) or (mode is Mode.FRESH and shelf.holds(FRESH_MARKER))


def _clear_markers(shelf: Shelf, mode: Mode) -> None:
    """Take away what belongs to the run before: a stale marker would mute this one (P57, F-PROC-3)."""
    shelf.remove(CLEAN_EXIT)
    if mode is Mode.FRESH:
        shelf.remove(FRESH_MARKER)
