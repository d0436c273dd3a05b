"""Implements ports.Launcher: from a decision to spawn to the files that a run needs, and the order that starts it."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import anyio
import structlog
from anyio import to_thread

from phoenixd import __version__, hidden
from phoenixd.api.service import BriefPage, LoopCounts
from phoenixd.config.tables import BriefTable, ConfigurationTable
from phoenixd.core.actions import RecordIncident, Spawn
from phoenixd.core.agent import Agent, Mode
from phoenixd.core.briefing import Calendar
from phoenixd.core.events import Event, StateEdited
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.spec import AgentSpec, WriterKind
from phoenixd.directories import Directories
from phoenixd.doctor import find_command
from phoenixd.documents.brief.health import Fault
from phoenixd.documents.conversation import Conversation
from phoenixd.documents.heartbeat import heartbeat_record
from phoenixd.documents.redact import redact
from phoenixd.documents.resolved import Resolved
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.state import OpenLoop, StateDocument
from phoenixd.drivers.evidence.signs import known_transcript
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.git.summary import git_summary
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.errors import LaunchFailed, UnsafeFile
from phoenixd.harness import HARNESSES, Harness, LaunchPlaces, Prompt
from phoenixd.harness.failed_turn import failed_turn
from phoenixd.installed import SOURCE, collect_garbage, install, interpreter
from phoenixd.memory.breakers import BreakerFiles
from phoenixd.memory.brief.composition import first_words
from phoenixd.memory.brief.run import ConversationLook
from phoenixd.memory.brief.schedule import AlertSink, Briefing
from phoenixd.memory.brief.task_in_hand import POINTER
from phoenixd.memory.changes import follow_edits
from phoenixd.memory.desk import Desk, TornState
from phoenixd.memory.files import Files
from phoenixd.memory.publication import GitLook, Publication
from phoenixd.memory.watch import DocumentWatch
from phoenixd.ports import BriefWriter, Changes, Clock, Entry, ShimCommand, ShimHello
from phoenixd.start.coexistence import Coexistence
from phoenixd.start.fences import api_socket, fence_of, offer_api
from phoenixd.start.order import phoenix_variables, render_order
from phoenixd.start.own_files import place_own_files
from phoenixd.start.preflight import questions_at_start
from phoenixd.start.programs import NAME, offer, with_phoenixctl
from phoenixd.start.resumption import FRESH_MARKER, require_resumable
from phoenixd.start.trust import seed_trust
from phoenixd.start.variables import Variables

CANNOT_RUN = 126

log = structlog.get_logger("phoenixd.start")


async def _no_conversation(agent: Agent, budget: int) -> Conversation | None:
    return None


class Launch:
    """Everything that lies between a Spawn and the shim's start: environment, brief, settings, command line, order.

    create_leaf: makes the cgroup of a run, and returns its path or None. agents: those that are watched over.
    tell: takes what somebody did to a document, and what the watch found, to be decided upon.
    """

    def __init__(
        self,
        *,
        directories: Directories,
        settings: ConfigurationTable,
        create_leaf: Callable[[str, int], str | None] | None,
        clock: Clock,
        environ: Mapping[str, str] | None = None,
        files: Files = plain_files,
        git: GitLook = git_summary,
        source: Path = SOURCE,
        agents: Callable[[], Iterable[Agent]] = tuple,
        tell: Callable[[Event], None] = lambda event: None,
        conversation: ConversationLook = _no_conversation,
        writers: Mapping[WriterKind, BriefWriter] | None = None,
        alert: AlertSink | None = None,
        changes: Changes | None = None,
        epoch: Callable[[], int] = lambda: 0,
        owner: str = "",
    ) -> None:
        """Install the shim and the hook program; raises OSError. owner: whose orders a shim takes."""
        self._directories = directories
        self._owner = owner
        self._create_leaf = create_leaf
        self._epoch = epoch
        self._clock = clock
        self._files = files
        for everybodys in (directories.agent_state("a").parent, directories.agent_runtime("a").parent):
            files.ensure_private_dir(everybodys)
        library = directories.state / "lib"
        self._installed = install(library, source)
        self._standing = threading.Lock()
        self._interpreter = interpreter()
        self._programs = offer(directories.state / "bin", files)
        # Where processes are hidden from us, what uses a copy is not to be seen, and so each one is kept.
        if hidden.hidepid() is None and (removed := collect_garbage(library, self._installed)):
            log.info("old_shims_removed", count=len(removed))
        self._key = _token_key(files, directories.state / "token.key")
        self._variables = Variables(os.environ if environ is None else environ, files)
        self._trust_lock = threading.Lock()
        self._publication = Publication(directories, settings, clock, files, git)
        self._publication.secrets_of = self._variables.secrets
        self.transcripts = TranscriptFiles(self.transcript)
        self._publication.session_of = self.transcripts.facts_now
        self.breakers = BreakerFiles(directories, files)
        self._tell = tell
        self.briefing = Briefing(
            self._publication, clock, lambda: _calendar(settings.brief), conversation, writers, alert
        )
        self._agents = agents
        self._marks = settings.redaction.marks
        self._learnt: set[str] = set()
        self._watch = DocumentWatch(directories, files, clock, settings.alerts.brief_max_age, agents, tell)
        self._coexistence = Coexistence(agents, tell, files, self._session_files)
        self._changes = changes
        if changes is not None:
            self._publication.watch = changes.watch
        self._publication.edited = lambda name: tell(StateEdited(name))
        self._publication.damaged, self._publication.published = self._watch.damaged, self._published

    @property
    def job_runner(self) -> tuple[str, ...]:
        """The argv before that of a program that runs once, and of which nothing may stay behind."""
        return (self._interpreter, "-I", "-S", str(self._installed.shim), "--job")

    async def run(self) -> None:
        """Keep documents up to date, and watch over them, for ever."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._learn_secrets)
            tasks.start_soon(self._publication.run)
            tasks.start_soon(self._watch.run)
            tasks.start_soon(self._coexistence.run)
            if self._changes is not None:
                tasks.start_soon(follow_edits, self._changes, self._publication.look_for_edit)

    def clean(self, name: str | None, text: str) -> str:
        """A text without its secrets, also those of the agent's own variables as far as they are known."""
        if name not in self._learnt:
            agent = next((agent for agent in self._agents() if agent.name == name), None)
            if agent is None:
                return redact(text, marks=self._marks)
            self._learnt.add(agent.name)
            desk = self._publication.desk(agent.name)
            desk.secrets = desk.secrets or self._variables.secrets(agent)
        if name is None:
            return redact(text, marks=self._marks)
        return self._publication.desk(name).clean(text)

    async def _learn_secrets(self) -> None:
        """Ask the login shell for those agents that live since before this daemon and have its variables."""
        for agent in tuple(self._agents()):
            if agent.spec.env_from == "login":
                await self._variables.base("login")
                self._publication.desk(agent.name).secrets = self._variables.secrets(agent)

    async def shim_command(self, agent: str) -> ShimCommand:
        """The command of a new shim, which stands there to be run. Raises LaunchFailed."""
        return await to_thread.run_sync(self._stand_for, agent)

    def _stand_for(self, agent: str) -> ShimCommand:
        state, runtime = self._directories.agent_state(agent), self._directories.agent_runtime(agent)
        try:
            for directory in (state.parent, runtime.parent, state, runtime):
                self._files.ensure_private_dir(directory)
            self._stand()
        except (OSError, UnsafeFile) as error:
            raise LaunchFailed(
                f"there is nothing to start it with: {error}", "free space, or mend the state directory"
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
        harness = _harness(agent.spec)
        if spawn.mode is Mode.RESUME:
            await self._coexistence.require_alone(agent)
        base = await self._variables.base(agent.spec.env_from)
        desk = self._publication.desk(agent.name)
        if harness.reads_brief_at_once:
            await self._publication.first_git(desk, agent)
        async with desk.lock:
            try:
                return await self._publication.write_safely(
                    desk, lambda: self._write(agent, spawn, hello, harness, base, desk)
                )
            except (OSError, UnsafeFile) as error:
                raise LaunchFailed(
                    f"the files of a start could not be written: {error}", "free space, or mend the state directory"
                ) from error

    async def opening_words(self, agent: Agent) -> str:
        run, desk = agent.run, self._publication.desk(agent.name)
        if run is None:
            raise LaunchFailed("its run is over")
        async with desk.lock:
            try:
                state = await to_thread.run_sync(desk.foresee, agent, self._clock.now().wall)
            except (TornState, OSError, UnsafeFile) as error:
                raise LaunchFailed(f"state.json cannot be read: {error}") from error
        words = first_words(agent, run.mode, run.prompt, state)
        if words is None:
            raise LaunchFailed("there is nothing to tell it")
        return words

    def _published(self, agent: Agent) -> None:
        self._watch.published(agent)
        self.briefing.replan(agent)

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        await self._publication.publish(agent, entries)
        self.briefing.hear(agent, entries)
        found = await self.breakers.publish(agent)
        if found is not None:
            self._tell(found)

    async def look_at_breaker(self, agent: Agent) -> Event | None:
        """What somebody did to a loop's breaker file, None for nothing."""
        return await self.breakers.look(agent)

    async def record_incident(self, agent: Agent, action: RecordIncident, screen: str) -> tuple[int, str]:
        return await self._publication.record_incident(agent, action, screen)

    def classify(self, agent: Agent, screen: str) -> str:
        return _harness(agent.spec).screen_says(screen)

    def dismisses(self, agent: Agent, verdict: str) -> bool:
        return verdict in _harness(agent.spec).dismissible

    def failed_turn(self, agent: Agent, facts: SessionFacts) -> TurnFailed | None:
        return failed_turn(agent, facts, _harness(agent.spec), self._clock.now().wall)

    def input_line(self, agent: Agent, screen: str) -> str | None:
        return _harness(agent.spec).input_line(screen)

    def holds(self, agent: Agent, screen: str, text: str) -> bool:
        return _harness(agent.spec).holds(screen, text)

    def prompt(self, agent: Agent, text: str) -> Prompt:
        return _harness(agent.spec).prompt(text)

    async def environment_of(self, agent: Agent) -> Mapping[str, str]:
        """The environment that the agent's command would get, without what a run adds; raises LaunchFailed."""
        base = await self._variables.base(agent.spec.env_from)
        return await to_thread.run_sync(lambda: self._variables.compose(agent.spec, base, {}))

    def command_problem(self, agent: Agent) -> str | None:
        """Why the agent's command could not be run as things stand, as far as that can be told without waiting."""
        base = self._variables.known_base(agent.spec.env_from)
        path = dict(agent.spec.env).get("PATH") or (base or {}).get("PATH")
        command = agent.spec.argv[0]
        if path is None and "/" not in command:
            return None
        if find_command(command, path or os.defpath, agent.spec.cwd) is not None:
            return None
        return f"{command} is not to be found in the agent's environment now; it is needed when the agent starts"

    async def start_problems(self, agent: Agent) -> tuple[str, ...]:
        """What stands in the way of an unattended start, one sentence each: the command, its login, its questions."""
        first = await to_thread.run_sync(self.command_problem, agent)
        try:
            environment = await self.environment_of(agent)
            found = await to_thread.run_sync(questions_at_start, agent, environment, self._files)
        except LaunchFailed as failure:
            found = (failure.message,)
        return found if first is None else (first, *found)

    def token(self, run_id: str) -> str:
        """The run's secret, which the run alone is told: derived, so that it need not be kept."""
        return hmac.new(self._key, run_id.encode(), "sha256").hexdigest()

    def loops(self, agent: str) -> LoopCounts:
        return self._publication.loops(agent)

    async def resolve(self, agent: Agent, loop_id: str, reason: str) -> Resolved:
        """Close an open loop, in the log and in state.json."""
        return await self._publication.resolve(agent, loop_id, reason)

    @property
    def stale_days(self) -> int:
        """The age beyond which an open loop is stale."""
        return self._publication.stale_days

    async def open_loops(self, agent: str) -> tuple[OpenLoop, ...]:
        return await self._publication.open_loops(agent)

    async def brief(self, agent: str) -> BriefPage | None:
        return await self._publication.brief(agent)

    async def check_brief(self, agent: str) -> tuple[Fault, ...]:
        return await self._publication.check_brief(agent)

    async def generate_brief(self, agent: Agent) -> BriefPage:
        """Write the brief anew now, also where nothing changed."""
        await self.briefing.generate(agent)
        return await self._publication.generate_brief(agent)

    def heartbeat(self, agent: str) -> Mapping[str, object] | None:
        """heartbeat.json as it stands; blocking."""
        content = self._publication.desk(agent).shelf.heartbeat()
        return heartbeat_record(content) if content is not None else None

    def _stand(self) -> None:
        """Have the copies of our programs be there, also after somebody cleared them away."""
        with self._standing:
            was_made = self._installed.stand()
        if was_made:
            log.warning("shim_copied_again", directory=str(self._installed.directory), reason="it was gone or changed")

    def transcript(self, agent: Agent) -> str | None:
        """Path or glob of the transcript that the agent's session writes, where one is known."""
        base = self._variables.known_base(agent.spec.env_from)
        return known_transcript(agent, base) if base is not None else None

    def _session_files(self, agent: Agent) -> str | None:
        base = self._variables.known_base(agent.spec.env_from)
        if base is None:
            return None
        return _harness(agent.spec).session_files({**base, **dict(agent.spec.env)})

    def _write(
        self, agent: Agent, spawn: Spawn, hello: ShimHello, harness: Harness, base: Mapping[str, str], desk: Desk
    ) -> str:
        spec, shelf = agent.spec, desk.shelf
        if problems := harness.problems(spec):
            raise LaunchFailed("; ".join(problems), "phoenixctl config check", CANNOT_RUN)
        state_dir, runtime_dir = self._directories.agent_state(spec.name), self._directories.agent_runtime(spec.name)
        # A look at a name: what a respawn costs is counted in milliseconds.
        if not os.access(self._installed.hook, os.X_OK):
            self._stand()
        if not os.access(self._programs / NAME, os.X_OK):
            offer(self._programs, self._files)
        token = self.token(spawn.run_id)
        is_fenced = spec.fence == "namespace"
        socket = api_socket(self._directories.runtime, spec.name, is_fenced=is_fenced)
        ours = phoenix_variables(spec, spawn, state_dir, runtime_dir, self._installed.hook, socket, token)
        variables = self._variables.compose(spec, base, ours, harness.variables())
        variables = with_phoenixctl(variables, self._programs)
        if spawn.mode is Mode.RESUME:
            require_resumable(harness, spec, spawn.session_id, variables, state_dir)
        desk.secrets = self._variables.secrets(agent, variables)
        now = self._clock.now().wall
        desk.forget_brief_of(spawn.run_id, spawn.incarnation)
        state = desk.foresee(agent, now)
        with self._trust_lock:
            seed_trust(self._files, harness, spec, variables)
            place_own_files(self._files, harness, variables)
        places = LaunchPlaces(str(state_dir / "brief.md"), str(state_dir / "settings.json"), str(self._installed.hook))
        url = f"http://127.0.0.1:{hello.hook_port}/hook"
        settings = harness.settings(spec, url, token, str(self._installed.hook))
        if settings is not None:
            shelf.write("settings.json", (json.dumps(settings, indent=2) + "\n").encode())
        argv, points_to_brief = _command_line(harness, agent, spawn, state, places)
        if points_to_brief or harness.reads_brief_at_once:
            desk.write_page(agent, state, now)
        # Markers belong to the run before; a stale one would mute this one (P57, F-PROC-3).
        shelf.remove(".clean-exit")
        if spawn.mode is Mode.FRESH:
            shelf.remove(FRESH_MARKER)
        has_leaf = self._create_leaf is not None and spec.fence != "none"
        leaf = self._create_leaf(spec.name, spawn.incarnation) if has_leaf and self._create_leaf else None
        if leaf is None and spec.fence == "cgroup":
            remedy = "phoenixctl install-service, or fence another way"
            raise LaunchFailed("no control group is to be had here, and its fence is one", remedy, CANNOT_RUN)
        self._files.ensure_private_dir(runtime_dir)
        if is_fenced:
            offer_api(self._directories.runtime, spec.name)
        fence = fence_of(spec, self._directories, variables)
        order = runtime_dir / "order.json"
        content = render_order(spec, spawn, argv, variables, token, leaf, self._epoch(), fence)
        self._files.replace(order, content, durable=False)
        return str(order)


def _calendar(brief: BriefTable) -> Calendar:
    return Calendar(brief.hour * 3600, brief.stagger, time.localtime().tm_gmtoff)


def _harness(spec: AgentSpec) -> Harness:
    try:
        return HARNESSES[spec.harness]
    except KeyError:
        raise LaunchFailed(
            f'this version cannot drive "{spec.harness}"', 'use harness = "command"', CANNOT_RUN
        ) from None


def _command_line(
    harness: Harness, agent: Agent, spawn: Spawn, state: StateDocument, places: LaunchPlaces
) -> tuple[list[str], bool]:
    """The argv, and whether its words only say where the brief stands."""
    words = first_words(agent, spawn.mode, spawn.prompt, state) if harness.takes_prompt(agent.spec) else None
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
