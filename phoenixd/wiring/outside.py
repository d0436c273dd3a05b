"""The outside as the runtime sees it: every port with its driver, and the ways to the operator."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from pathlib import Path

from anyio import to_thread

from phoenixd.config.tables.daemon import AlertsTable
from phoenixd.core.agent import Agent
from phoenixd.documents.report.facts import FileSeen, Witness
from phoenixd.documents.task_report import Left, Output
from phoenixd.drivers.evidence.signs import EvidenceFiles
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.files.claimed import look_at
from phoenixd.drivers.files.listing import hash_files
from phoenixd.drivers.files.outputs import gather
from phoenixd.drivers.git.work import WorkPrints
from phoenixd.drivers.notify.command import CommandRoute
from phoenixd.drivers.notify.notifier import Judged, Notifier, Route
from phoenixd.drivers.notify.webhook import Endpoint, WebhookRoute
from phoenixd.drivers.processes.leftovers import Cleaner, RunCleaner
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.installed import job_runner
from phoenixd.jobs.collection import Collection
from phoenixd.memory.report.before import BeforeTasks
from phoenixd.memory.report.workers import Judging
from phoenixd.ports import Outside
from phoenixd.wiring.parts import Ground, House, World


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
            house.variables.keeps_transcript,
            house.papers.clean,
            plain_files.replace,
            Judging(
                ReportWorld(transcripts),
                house.papers.clean,
                ground.clock,
                BeforeTasks(directories, plain_files, hash_files).of,
            ),
            house.starter.secrets.seal,
        ),
    )


def routes(alerts: AlertsTable, processes: Processes, judged: Judged) -> list[Route]:
    """The ways to the operator that are configured."""
    routes: list[Route] = []
    if alerts.command:
        # No agent can have that name, so nothing of an agent's is ever met.
        def end_tree(run_id: str) -> Awaitable[object]:
            return processes.fence("#alert", 0, run_id, None)

        routes.append(
            CommandRoute(
                alerts.command,
                job_runner,
                end_tree,
                timeout=alerts.timeout,
                at_once=alerts.at_once,
                judged=judged,
            )
        )
    if alerts.webhook is not None:
        url = alerts.webhook if isinstance(alerts.webhook, str) else Path(alerts.webhook.file)
        header = Path(alerts.webhook_authorization.file) if alerts.webhook_authorization is not None else None
        endpoint = Endpoint(url, header)
        routes.append(WebhookRoute(endpoint, timeout=alerts.timeout, tries=alerts.tries, judged=judged))
    return routes


def gathered(source: Path, target: Path) -> Left:
    """What a worker left in its directory, as it is told in the manifest."""
    found = gather(source, target)
    return Left(
        outputs=tuple(Output(one.path, one.size, one.sha256) for one in found.taken),
        refused=tuple((one.path, one.why) for one in found.refused),
        beyond=found.beyond,
    )


class ReportWorld:
    """Implements memory.report.verification.World. Everything is read in a thread, beside the loop."""

    def __init__(self, transcripts: TranscriptFiles) -> None:
        self._transcripts = transcripts

    async def witness(self, agent: Agent, until: float) -> Witness:
        return await self._transcripts.witness(agent, until)

    async def files(self, root: str, paths: Iterable[str], began: float, reported: float) -> Mapping[str, FileSeen]:
        return await to_thread.run_sync(look_at, root, tuple(paths), began, reported)
