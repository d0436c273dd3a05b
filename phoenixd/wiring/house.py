"""What a run starts with, what is kept of its agent, and what acts for the supervisor."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable
from functools import partial
from pathlib import Path
from typing import Any

from anyio.abc import TaskGroup

from phoenixd.config.tables.daemon import AlertsTable
from phoenixd.core.agent import Agent
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.seat.finding import is_other
from phoenixd.core.spec import WriterKind
from phoenixd.core.tasks import concerned
from phoenixd.core.tasks.state import is_of
from phoenixd.documents.project.outcomes import of_workers
from phoenixd.documents.task_report import Left, Output
from phoenixd.drivers.cgroups.oom import OomCounters
from phoenixd.drivers.evidence.signs import EvidenceFiles
from phoenixd.drivers.evidence.status_lines import StatusLines
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.files.changes import DirectoryChanges
from phoenixd.drivers.files.listing import hash_files
from phoenixd.drivers.files.outputs import gather
from phoenixd.drivers.files.reads import FileReads
from phoenixd.drivers.files.session_files import ProjectFiles
from phoenixd.drivers.git.branch import branch_of
from phoenixd.drivers.git.summary import git_summary
from phoenixd.drivers.git.work import WorkPrints
from phoenixd.drivers.notify.command import CommandRoute
from phoenixd.drivers.notify.notifier import Judged, Notifier, Route
from phoenixd.drivers.notify.webhook import Endpoint, WebhookRoute
from phoenixd.drivers.processes.leftovers import Cleaner, RunCleaner
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.processes.strays import StraySweeper
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.drivers.writers.cli import CliWriter
from phoenixd.drivers.writers.command import CommandWriter
from phoenixd.drivers.writers.job import AGENT as NO_AGENT
from phoenixd.drivers.writers.model import ModelWriter
from phoenixd.drivers.writers.project_command import ProjectCommand
from phoenixd.drivers.writers.project_model import ProjectModel
from phoenixd.drivers.writers.reader import ClinicReader
from phoenixd.harness.screens import Screens
from phoenixd.jobs.collection import Collection
from phoenixd.jobs.kept import made_by
from phoenixd.memory.addenda import Addenda
from phoenixd.memory.changes import DOCUMENT as EDITED
from phoenixd.memory.handover import Handover
from phoenixd.memory.listings import ListingFiles
from phoenixd.memory.papers import Papers
from phoenixd.memory.report.before import BeforeTasks
from phoenixd.memory.report.workers import Judging
from phoenixd.memory.sharing import DIRECTORY, SharedMemory
from phoenixd.ports import Outside
from phoenixd.runtime.answers import Answerer
from phoenixd.runtime.cut_answers import CutAnswers
from phoenixd.runtime.epochs import EpochKeeper
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.key_watch import KeyWatch
from phoenixd.runtime.marker_watch import MarkerWatch
from phoenixd.runtime.messages import Messenger
from phoenixd.runtime.metering import Metering
from phoenixd.runtime.performer import Performer
from phoenixd.runtime.recovery import relink, unfinished_openings, unfinished_texts
from phoenixd.runtime.sighting import Sighting
from phoenixd.runtime.sights import Sights
from phoenixd.runtime.strays import Strays
from phoenixd.runtime.untold_failures import UntoldFailures
from phoenixd.start.job_place import JobPlaces
from phoenixd.start.programs import Programs
from phoenixd.start.starter import Starter
from phoenixd.start.variables import Variables
from phoenixd.wiring.parts import Ground, Hands, House, World
from phoenixd.wiring.reports import ReportWorld


def build_house(ground: Ground, world: World, keeper: EpochKeeper, owner: str) -> House:
    directories, clock, supervisor = ground.directories, ground.clock, ground.supervisor
    programs = Programs(directories.state, plain_files)
    variables = Variables(os.environ, plain_files)
    transcripts = TranscriptFiles(variables.transcript_of)
    cgroups = world.cgroups
    places = JobPlaces(
        directories,
        plain_files,
        cgroups.create_job_leaf if cgroups is not None else None,
        cgroups.end_job if cgroups is not None else None,
    )

    def end_writer(run_id: str) -> Awaitable[object]:
        return world.processes.fence(NO_AGENT, 0, run_id, None)

    papers = Papers(
        directories=directories,
        settings=ground.configuration.settings,
        clock=clock,
        files=plain_files,
        git=git_summary,
        secrets_of=variables.secrets,
        base=variables.base,
        session_of=transcripts.facts_now,
        agents=supervisor.everybody,
        tell=supervisor.tell,
        conversation=transcripts.conversation,
        ledger=transcripts.ledger,
        writers={
            WriterKind.AUTO: CliWriter(
                lambda: programs.job_runner, variables.environment_of, end_writer, places.place, places.users_file
            ),
            WriterKind.COMMAND: CommandWriter(
                lambda: programs.job_runner, variables.environment_of, end_writer, places.of("brief")
            ),
            WriterKind.MODEL: ModelWriter(variables.environment_of),
        },
        changes=DirectoryChanges(EDITED),
        holds=lambda agent: not is_other(supervisor.fleet, agent),
    )
    starter = Starter(
        directories=directories,
        owner=owner,
        create_leaf=cgroups.create_leaf if cgroups is not None else None,
        prune=cgroups.prune if cgroups is not None else lambda agent, keep: None,
        clock=clock,
        files=plain_files,
        programs=programs,
        variables=variables,
        publication=papers.publication,
        agents=supervisor.everybody,
        tell=supervisor.tell,
        epoch=lambda: keeper.committed,
        before_task=BeforeTasks(directories, plain_files, hash_files).keep,
    )
    shared = SharedMemory(
        directories.state / DIRECTORY, plain_files, ProjectFiles(), papers.clean_of_all, lambda: clock.now().wall
    )
    handover = Handover(
        ProjectFiles(),
        supervisor.find,
        lambda name: supervisor.fleet.seats.get(name),
        lambda: clock.now().wall,
        lambda: secrets.token_hex(6),
        papers.heard_out,
        papers.clean_of_all,
        Addenda(
            ProjectFiles(),
            ListingFiles(directories, plain_files),
            papers.heard,
            lambda seat, workspace: tuple(
                one for one in supervisor.everybody() if one.spec.seat == seat or one.spec.cwd == workspace
            ),
            lambda: clock.now().wall,
            papers.clean_of_all,
        ),
        in_hand=lambda project, workspace: frozenset(
            one.plan
            for one in supervisor.fleet.tasks.open
            if is_of(one, project, workspace) and one.plan and not one.has_ended
        ),
        writers={
            "command": ProjectCommand(
                lambda: programs.job_runner, variables.environment_of, end_writer, places.of("handoff")
            ).write,
            "model": ProjectModel(variables.environment_of).write,
        },
        shared=shared,
        ended=lambda project, workspace: of_workers(supervisor.fleet.tasks, project, workspace),
        made=partial(made_by, directories),
    )
    reader = ClinicReader(
        lambda: programs.job_runner, variables.environment_of, end_writer,
        places.of("clinic", directories.runtime / "readers"), ground.configuration.settings.redaction.marks,
    )  # fmt: skip
    screens = Screens(lambda: clock.now().wall)
    return House(variables, transcripts, papers, starter, screens, handover, shared, reader)


def routes(alerts: AlertsTable, processes: Processes, judged: Judged) -> list[Route]:
    """The ways to the operator that are configured."""
    routes: list[Route] = []
    if alerts.command:
        # No agent can have that name, so nothing of an agent's is ever met.
        def end_tree(run_id: str) -> Awaitable[object]:
            return processes.fence("#alert", 0, run_id, None)

        command = CommandRoute(alerts.command, end_tree, timeout=alerts.timeout, at_once=alerts.at_once, judged=judged)
        routes.append(command)
    if alerts.webhook is not None:
        url = alerts.webhook if isinstance(alerts.webhook, str) else Path(alerts.webhook.file)
        header = Path(alerts.webhook_authorization.file) if alerts.webhook_authorization is not None else None
        endpoint = Endpoint(url, header)
        routes.append(WebhookRoute(endpoint, timeout=alerts.timeout, tries=alerts.tries, judged=judged))
    return routes


def open_outside(ground: Ground, world: World, house: House, evidence: EvidenceFiles, notifier: Notifier) -> Outside:
    directories, transcripts = ground.directories, house.transcripts

    async def tokens_of(agent: Agent) -> int | None:
        used = await transcripts.usage(agent)
        return used.tokens if used is not None else None

    return Outside(
        clock=ground.clock,
        journal=ground.journal,
        terminal=world.terminal,
        shims=world.shims,
        processes=world.processes,
        starter=house.starter,
        papers=house.papers,
        screens=house.screens,
        records=ground.records,
        evidence=evidence,
        transcripts=transcripts,
        notifier=notifier,
        work=WorkPrints([directories.state, directories.runtime], tokens_of, ground.supervisor.everybody),
        cleaner=RunCleaner(Cleaner(world.cgroups, world.shims.shim_of), directories.agent_state),
        handover=house.handover,
        markers=house.papers.resonance,
        reader=house.reader,
        jobs=Collection(
            directories,
            gathered,
            transcripts.facts,
            transcripts.conversation,
            lambda agent: house.variables.keeps_transcript(agent),
            house.papers.clean,
            lambda path, content: plain_files.replace(path, content),
            Judging(
                ReportWorld(transcripts),
                house.papers.clean,
                ground.clock,
                BeforeTasks(directories, plain_files, hash_files).of,
            ),
            house.starter.secrets.seal,
        ),
    )


def gathered(source: Path, target: Path) -> Left:
    """What a worker left in its directory, as it is told in the manifest."""
    found = gather(source, target)
    return Left(
        outputs=tuple(Output(one.path, one.size, one.sha256) for one in found.taken),
        refused=tuple((one.path, one.why) for one in found.refused),
        beyond=found.beyond,
    )


async def lend_hands(ground: Ground, world: World, house: House, outside: Outside, tasks: TaskGroup) -> Hands:
    supervisor, clock, cgroups = ground.supervisor, ground.clock, world.cgroups
    find, tell, loop = supervisor.find, supervisor.tell, asyncio.get_running_loop()
    answerer = Answerer(find, world.terminal, world.shims, house.screens, house.transcripts, clock)
    messenger = Messenger(world.terminal, house.screens, house.transcripts, clock, find, tell)
    texts = unfinished_texts(await ground.journal.read(newest=True))
    for name, first in (await unfinished_openings(supervisor.everybody(), house.papers.opening_words)).items():
        texts[name] = (first, *texts.get(name, ()))
    for unfinished in texts.values():
        messenger.left_behind(unfinished)
    sweeper = StraySweeper(cgroups, lambda: world.shims.living().values())
    strays = Strays(sweeper, clock, find, tell, world.shims.swept)

    def greeted(name: str) -> None:
        tasks.start_soon(relink, name, find, world.shims, hearing, clock)

    sights = Sights(find, house.papers.clean, clock, known=house.papers.known_secrets)
    sighting = Sighting(sights, clock, house.transcripts.last_words_now, branch_of, house.papers.heard_before)
    status = StatusLines(ground.directories.agent_runtime)
    metering = Metering(find, tell, clock, house.transcripts, status, supervisor.everybody, sighting.note)

    cut_answers = CutAnswers(find, tell, clock, house.transcripts)
    marker_watch = MarkerWatch(find, tell, clock, house.transcripts, supervisor.everybody)
    key_watch = KeyWatch(world.terminal, FileReads(), clock, tell, supervisor.everybody)

    untold = UntoldFailures(find, tell, house.transcripts, house.screens, clean=house.papers.clean)

    def looked_into(ended: AgentExited) -> bool:
        if not untold.may_be(ended):
            return False
        tasks.start_soon(untold.tell, ended)
        return True

    def hook_heard(name: str, kind: str, payload: dict[str, Any]) -> None:
        messenger.heard(name, kind, payload)
        sights.heard(name, kind, payload)
        metering.heard(name, kind, payload)
        cut_answers.heard(name, kind, payload)
        marker_watch.heard(name, kind, payload)

    hearing = Hearing(
        world.shims,
        world.processes,
        ground.records,
        clock,
        find,
        tell,
        later=lambda seconds, call: loop.call_later(seconds, call),
        heard=hook_heard,
        greeted=greeted,
        answered=answerer.heard,
        memory=OomCounters(cgroups.leaf_of if cgroups is not None else lambda agent, incarnation: None),
        unswept=strays.hear,
        left_out=marker_watch.heard,
        looked_into=looked_into,
        explained=untold.explained,
    )
    performer = Performer(
        outside, find, tell, hearing, messenger, answerer, lambda: supervisor.fleet.tasks,
        lambda task, judged: concerned.told(supervisor.fleet, task, judged),
    )  # fmt: skip
    return Hands(
        messenger, answerer, hearing, strays, performer, metering, cut_answers, marker_watch, key_watch, sights
    )
