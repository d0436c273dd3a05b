"""Implements ports.Starter: from a decision to spawn to the files that a run needs, and the order that starts it."""

from __future__ import annotations

import hmac
import itertools
import json
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import structlog
from anyio import to_thread

from phoenixd import __version__, runs
from phoenixd.command_search import find_command
from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.events import Event
from phoenixd.core.spec import AgentSpec
from phoenixd.directories import Directories
from phoenixd.documents.seal import Seal, mint, request, request_alone
from phoenixd.documents.state import StateDocument
from phoenixd.errors import LaunchFailed, PhoenixdError, UnsafeFile
from phoenixd.harness import Harness, LaunchPlaces
from phoenixd.harness.screens import CANNOT_RUN, harness_of
from phoenixd.memory.breakers import make_file
from phoenixd.memory.brief.composition import first_words
from phoenixd.memory.brief.task_in_hand import POINTER
from phoenixd.memory.desk import Desk, TornState
from phoenixd.memory.files import Files
from phoenixd.memory.publication import Publication
from phoenixd.ports import Clock
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimCommand, ShimHello
from phoenixd.start.ahead import Ahead
from phoenixd.start.coexistence import Coexistence
from phoenixd.start.fences import api_socket, fence_of, offer_api
from phoenixd.start.order import phoenix_variables, render_order
from phoenixd.start.own_files import place_own_files
from phoenixd.start.preflight import questions_at_start
from phoenixd.start.programs import NAME, Programs, offer, with_phoenixctl
from phoenixd.start.resumption import FRESH_MARKER, require_resumable
from phoenixd.start.status_line import add_status_line
from phoenixd.start.trust import seed_trust
from phoenixd.start.variables import Variables

log = structlog.get_logger("phoenixd.start")

REMEMBERED = 1024
"""Shims of which is known that their directories are ours."""


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
        self._key = _token_key(files, directories.state / "token.key")
        self._trust_lock = threading.Lock()
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
        first = await to_thread.run_sync(self.command_problem, agent.spec, abandon_on_cancel=True)
        try:
            environment = await self._variables.environment_of(agent)
            found = await to_thread.run_sync(
                questions_at_start, agent, environment, self._files, abandon_on_cancel=True
            )
        except LaunchFailed as failure:
            found = (failure.message,)
        return found if first is None else (first, *found)

    def token(self, run_id: str) -> str:
        """The run's secret, which the run alone is told: derived, so that it need not be kept."""
        return hmac.new(self._key, run_id.encode(), "sha256").hexdigest()

    def seal(self, agent: Agent, incarnation: int) -> Seal | None:
        """The words that this run of a worker is asked to frame its answer with; None where it is not asked.

        Derived, so that they need not be kept: the daemon that collects may be another one.
        """
        spec = agent.spec
        if not spec.task or not spec.reports.seal or harness_of(spec).transcript_form is None:
            return None
        drawn = itertools.count()

        def draw(count: int) -> str:
            told = f"seal {spec.task} {incarnation} {next(drawn)}".encode()
            return hmac.new(self._key, told, "sha256").hexdigest()[: 2 * count]

        return mint(draw, spec.prompt or "")

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
        if ahead is not None and (
            shelf.holds(".clean-exit") or (spawn.mode is Mode.FRESH and shelf.holds(FRESH_MARKER))
        ):
            return ""
        if problems := harness.problems(spec):
            raise LaunchFailed("; ".join(problems), "phoenixctl config check", CANNOT_RUN)
        state_dir, runtime_dir = self._directories.agent_state(spec.name), self._directories.agent_runtime(spec.name)
        papers = self._directories.agent_state(spec.seat or spec.name)
        # A look at a name: what a respawn costs is counted in milliseconds.
        if not os.access(self._installed.hook, os.X_OK):
            self._stand()
        if not os.access(self._programs / NAME, os.X_OK):
            offer(self._programs, self._files)
        token = self.token(spawn.run_id)
        is_fenced = spec.fence == "namespace"
        socket = api_socket(self._directories.runtime, spec.name, is_fenced=is_fenced)
        out = self._place_of_task(spec, spawn.incarnation) if spec.task else None
        if spec.task:
            self._before_task(spec)
        ours = phoenix_variables(spec, spawn, state_dir, runtime_dir, self._installed.hook, socket, token, papers, out)
        variables = self._variables.compose(spec, base, ours, harness.variables())
        variables = with_phoenixctl(variables, self._programs)
        if spawn.mode is Mode.RESUME:
            require_resumable(harness, spec, spawn.session_id, variables, papers)
        self._publication.desks.learn(agent, self._variables.secrets(agent, variables))
        now = self._clock.now().wall
        desk.told.forget_other(spawn.run_id, spawn.incarnation)
        state = desk.foresee(agent, now)
        with self._trust_lock:
            seed_trust(self._files, harness, spec, variables)
            place_own_files(self._files, harness, variables)
        brief, settings_file = str(papers / "brief.md"), str(state_dir / "settings.json")
        places = LaunchPlaces(brief, settings_file, str(self._installed.hook), str(out or ""))
        url = f"http://127.0.0.1:{hello.hook_port}/hook"
        settings = harness.settings(spec, url, token, str(self._installed.hook))
        if settings is not None:
            add_status_line(spec, harness, settings, variables, str(self._installed.hook), self._files)
            shelf.write("settings.json", (json.dumps(settings, indent=2) + "\n").encode())
        argv, points_to_brief = _command_line(harness, agent, spawn, state, places, self.seal(agent, spawn.incarnation))
        if (points_to_brief or harness.reads_brief_at_once) and self._publication.desks.holds(agent):
            desk.write_page(agent, state, now)
        make_file(agent, state_dir, self._files)
        # Markers belong to the run before; a stale one would mute this one (P57, F-PROC-3).
        shelf.remove(".clean-exit")
        if spawn.mode is Mode.FRESH:
            shelf.remove(FRESH_MARKER)
        has_leaf = self._create_leaf is not None and spec.fence != "none"
        leaf = self._create_leaf(spec.name, spawn.incarnation) if has_leaf and self._create_leaf else None
        if leaf is None and spec.fence == "cgroup":
            remedy = "phoenixctl install-service"
            raise LaunchFailed("no control group is to be had here, and its fence is one", remedy, CANNOT_RUN)
        self._files.ensure_private_dir(runtime_dir)
        if is_fenced:
            offer_api(self._directories.runtime, spec.name)
        fence = fence_of(spec, self._directories, variables)
        order, epoch = runtime_dir / "order.json", self._epoch() if ahead is None else ahead
        content = render_order(spec, spawn, argv, variables, token, leaf, epoch, fence)
        self._files.replace(order, content, durable=False)
        return str(order)

    def _place_of_task(self, spec: AgentSpec, incarnation: int) -> Path:
        """Make the empty directory in which this run of a worker leaves what it makes, and its prompt beside it."""
        out = self._directories.task_out(spec.task, incarnation)
        for directory in (out.parent.parent.parent, out.parent.parent, out.parent, out):
            self._files.ensure_private_dir(directory)
        with os.scandir(out) as entries:
            if next(entries, None) is not None:
                # An old journal may count the runs of a task from the beginning: those files are of another run.
                raise LaunchFailed(f"{out} holds files of an earlier run", f"mv {out} {out}.kept")
        self._files.replace(out.parent / "prompt.md", (spec.prompt or "").encode("utf-8", "replace"), durable=False)
        return out


def _command_line(
    harness: Harness, agent: Agent, spawn: Spawn, state: StateDocument, places: LaunchPlaces, seal: Seal | None
) -> tuple[list[str], bool]:
    """The argv, and whether its words only say where the brief stands."""
    words = first_words(agent, spawn.mode, spawn.prompt, state) if harness.takes_prompt(agent.spec) else None
    if spawn.prompt is PromptKind.SEAL and seal is not None:
        words = request_alone(seal)
    elif words is not None and seal is not None:
        words = f"{words}\n\nYour last answer is your report. {request(seal)}"
    try:
        return harness.command_line(agent.spec, spawn.mode.value, spawn.session_id, words, places), False
    except ValueError:
        # The kernel takes no argument of that length; the brief has no such bound.
        pointer = f"{POINTER}{places.brief}: read it there, and work on it."
        return harness.command_line(agent.spec, spawn.mode.value, spawn.session_id, pointer, places), True


def _token_key(files: Files, path: Path) -> bytes:
    """The key of all tokens; a lost one only makes living agents' tokens void until their next start."""
    try:
        key = files.read_plain(path, 64)
        if len(key) == 32:
            return key
    except FileNotFoundError:
        pass
    key = secrets.token_bytes(32)
    files.replace(path, key)
    return key
