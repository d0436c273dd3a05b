"""What a run starts with, and what is kept of its agent."""

from __future__ import annotations

import os
import secrets
from collections.abc import Awaitable, Callable
from functools import partial

from phoenixd.core.agent import Agent
from phoenixd.core.rules import WriterKind
from phoenixd.core.seat.finding import is_other
from phoenixd.core.tasks.state import is_of
from phoenixd.documents.project.outcomes import of_workers
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.files.changes import DirectoryChanges
from phoenixd.drivers.files.listing import hash_files
from phoenixd.drivers.files.session_files import ProjectFiles
from phoenixd.drivers.git.summary import GitSummaries
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.drivers.writers.cli import CliWriter
from phoenixd.drivers.writers.command import CommandWriter
from phoenixd.drivers.writers.job import AGENT as NO_AGENT
from phoenixd.drivers.writers.model import ModelWriter
from phoenixd.drivers.writers.project_command import ProjectCommand
from phoenixd.drivers.writers.project_model import ProjectModel
from phoenixd.drivers.writers.reader import ClinicReader
from phoenixd.harness.screens import Screens
from phoenixd.jobs.kept import made_by
from phoenixd.memory.addenda import Addenda
from phoenixd.memory.changes import DOCUMENT as EDITED
from phoenixd.memory.handover import Handover
from phoenixd.memory.held_sessions import HeldSessions
from phoenixd.memory.kept_plans import KeptPlans
from phoenixd.memory.listings import ListingFiles
from phoenixd.memory.papers import Papers
from phoenixd.memory.report.before import BeforeTasks
from phoenixd.memory.sharing import DIRECTORY, SharedMemory
from phoenixd.runtime.epochs import EpochKeeper
from phoenixd.start.job_place import JobPlaces
from phoenixd.start.programs import Programs
from phoenixd.start.starter import Starter
from phoenixd.start.variables import Variables
from phoenixd.wiring.parts import Ground, House, World


def build_house(ground: Ground, world: World, keeper: EpochKeeper, owner: str) -> House:
    variables = Variables(os.environ, plain_files)
    transcripts = TranscriptFiles(variables.transcript_of)
    jobs = _Jobs(ground, world, variables)
    papers = _papers(ground, jobs, transcripts)
    starter = _starter(ground, world, jobs, papers, lambda: keeper.committed, owner)
    wall = _wall_of(ground)
    state = ground.directories.state
    shared = SharedMemory(state / DIRECTORY, plain_files, ProjectFiles(), papers.clean_of_all, wall)
    handover = _handover(ground, jobs, papers, shared)
    supervisor = ground.supervisor
    sessions = HeldSessions(supervisor.find, supervisor.everybody, handover.seat_of, handover.session_records)
    plans = KeptPlans(
        ProjectFiles(), lambda: supervisor.fleet, handover.locks, handover.made, papers.clean_of_all, wall
    )
    reader = ClinicReader(
        *jobs.means,
        jobs.places.of("clinic", ground.directories.runtime / "readers"),
        ground.configuration.settings.redaction.marks,
    )
    return House(variables, transcripts, papers, starter, Screens(wall), handover, sessions, plans, shared, reader)


class _Jobs:
    """What writers and readers are run by, which are programs of an operator's beside the agents."""

    def __init__(self, ground: Ground, world: World, variables: Variables) -> None:
        self.programs, self.variables = Programs(ground.directories.state, plain_files), variables
        cgroups, processes = world.cgroups, world.processes
        self.places = JobPlaces(
            ground.directories,
            plain_files,
            cgroups.create_job_leaf if cgroups is not None else None,
            cgroups.end_job if cgroups is not None else None,
        )

        def end(run_id: str) -> Awaitable[object]:
            return processes.fence(NO_AGENT, 0, run_id, None)

        self.means = (lambda: self.programs.job_runner, variables.environment_of, end)
        """The program that runs one, its environment, and what ends all that it started."""


def _papers(ground: Ground, jobs: _Jobs, transcripts: TranscriptFiles) -> Papers:
    supervisor, variables = ground.supervisor, jobs.variables
    return Papers(
        directories=ground.directories,
        settings=ground.configuration.settings,
        clock=ground.clock,
        files=plain_files,
        git=GitSummaries().of,
        secrets_of=variables.secrets,
        base=variables.base,
        session_of=transcripts.facts_now,
        agents=supervisor.everybody,
        tell=supervisor.tell,
        conversation=transcripts.conversation,
        ledger=transcripts.ledger,
        writers={
            WriterKind.AUTO: CliWriter(*jobs.means, jobs.places.place, jobs.places.users_file),
            WriterKind.COMMAND: CommandWriter(*jobs.means, jobs.places.of("brief")),
            WriterKind.MODEL: ModelWriter(variables.environment_of),
        },
        changes=DirectoryChanges(EDITED),
        holds=lambda agent: not is_other(supervisor.fleet, agent),
    )


def _starter(
    ground: Ground, world: World, jobs: _Jobs, papers: Papers, epoch: Callable[[], int], owner: str
) -> Starter:
    directories, cgroups = ground.directories, world.cgroups
    return Starter(
        directories=directories,
        owner=owner,
        create_leaf=cgroups.create_leaf if cgroups is not None else None,
        prune=cgroups.prune if cgroups is not None else lambda agent, keep: None,
        clock=ground.clock,
        files=plain_files,
        programs=jobs.programs,
        variables=jobs.variables,
        publication=papers.publication,
        agents=ground.supervisor.everybody,
        tell=ground.supervisor.tell,
        epoch=epoch,
        before_task=BeforeTasks(directories, plain_files, hash_files).keep,
    )


def _handover(ground: Ground, jobs: _Jobs, papers: Papers, shared: SharedMemory) -> Handover:
    supervisor, wall = ground.supervisor, _wall_of(ground)

    def at_work_in(seat: str, workspace: str) -> tuple[Agent, ...]:
        return tuple(one for one in supervisor.everybody() if one.spec.seat == seat or one.spec.cwd == workspace)

    def in_hand(project: str, workspace: str) -> frozenset[str]:
        open_tasks = (one for one in supervisor.fleet.tasks.open if is_of(one, project, workspace))
        return frozenset(one.plan for one in open_tasks if one.plan and not one.has_ended)

    listings = ListingFiles(ground.directories, plain_files)
    return Handover(
        ProjectFiles(),
        supervisor.find,
        lambda name: supervisor.fleet.seats.get(name),
        wall,
        lambda: secrets.token_hex(6),
        papers.heard_out,
        papers.clean_of_all,
        Addenda(ProjectFiles(), listings, papers.heard, at_work_in, wall, papers.clean_of_all),
        brief=papers.briefing.hand_over,
        in_hand=in_hand,
        writers={
            "command": ProjectCommand(*jobs.means, jobs.places.of("handoff")).write,
            "model": ProjectModel(jobs.variables.environment_of).write,
        },
        shared=shared,
        ended=lambda project, workspace: of_workers(supervisor.fleet.tasks, project, workspace),
        made=partial(made_by, ground.directories),
    )


def _wall_of(ground: Ground) -> Callable[[], float]:
    return lambda: ground.clock.now().wall
