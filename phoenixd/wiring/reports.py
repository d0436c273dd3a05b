"""Where the facts of a report come from: the transcripts of its agent, and the files of its workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.documents.report.facts import FileSeen, Witness
from phoenixd.drivers.files.claimed import look_at
from phoenixd.drivers.transcripts.sessions import TranscriptFiles


class ReportWorld:
    """Implements memory.report.verification.World. Everything is read in a thread, beside the loop."""

    def __init__(self, transcripts: TranscriptFiles) -> None:
        self._transcripts = transcripts

    async def witness(self, agent: Agent, until: float) -> Witness:
        return await self._transcripts.witness(agent, until)

    async def files(self, root: str, paths: Iterable[str], began: float, reported: float) -> Mapping[str, FileSeen]:
        return await to_thread.run_sync(look_at, root, tuple(paths), began, reported)
