"""What is written of agents and for them: documents, briefs, handoffs, reports of tasks, alerts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from phoenixd.core.actions import (
    Alert,
    CheckPackage,
    ExamineCase,
    PlantCodes,
    ReadSeed,
    Reassure,
    RecordIncident,
    RecordSessions,
    UpdatePapers,
    WriteAddendum,
    WritePackage,
)
from phoenixd.core.agent import Agent
from phoenixd.core.events.handoffs import (
    AddendumWritten,
    PackageChecked,
    PackageFailed,
    PackageWritten,
    PapersFailed,
    PapersUpdated,
)
from phoenixd.core.events.resonance import CodesPlanted, PlantingFailed, SeedRead
from phoenixd.core.tasks.state import Outcome, Task
from phoenixd.core.treatment.examined import Opinion
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.seal import Told
from phoenixd.ports.journal import Entry


class Papers(Protocol):
    """An agent's documents, and what they have it told."""

    async def opening_words(self, agent: Agent) -> str:
        """What the agent's run is to be told first, where it is typed; raises LaunchFailed."""
        ...

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        """Bring the agent's documents (state.json, brief.md, session.json, ops.jsonl) up to date."""
        ...

    async def record_incident(self, agent: Agent, action: RecordIncident, screen: str) -> tuple[int, str]:
        """Write an incident's file, without secrets; returns its lines of the screen, and its content."""
        ...


@dataclass(frozen=True, slots=True)
class WriterAnswer:
    """What a brief writer answered, not yet believed. tokens: what it cost, 0 where the writer does not tell.

    ended: what the program, or the model, itself says of the answer's end.
    """

    text: str
    tokens: int = 0
    ended: Told = "whole"


class BriefWriter(Protocol):
    """Makes of the material a JSON object of the shape of documents.brief.answer. It decides nothing."""

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        """Answer within the agent's own time limit; raises WriterFailed.

        complaint: what was wrong with the answer before.
        """
        ...


class Notifier(Protocol):
    """Tells the operator, by whatever way is configured."""

    def tell(self, word: Alert | Reassure) -> None:
        """Pass on that an alert was raised, or is over; never waits, never raises."""
        ...


class Handover(Protocol):
    """The work on a project's files that handoffs order. No method raises for what the disk or a document refuses."""

    async def update(self, action: UpdatePapers) -> PapersUpdated | PapersFailed: ...

    async def write(self, action: WritePackage) -> PackageWritten | PackageFailed: ...

    async def check(self, action: CheckPackage) -> PackageChecked: ...

    async def addendum(self, action: WriteAddendum) -> AddendumWritten: ...

    async def record(self, action: RecordSessions) -> None: ...


class Markers(Protocol):
    """The papers of agents' markers."""

    async def plant(self, agent: Agent, action: PlantCodes) -> CodesPlanted | PlantingFailed:
        """Mint codes, and write ledger, anchor and seed before anybody is told; never raises."""
        ...

    async def read_seed(self, agent: Agent, action: ReadSeed) -> SeedRead:
        """See that an agent's seed is there, or make it anew; never raises."""
        ...


class Jobs(Protocol):
    """What workers leave."""

    async def collect(self, agent: Agent, task: Task) -> Outcome:
        """Read a worker's last answer, take in its outputs, and write manifest and report.

        Raises PhoenixdError where ours cannot be written; nothing that the worker left raises.
        """
        ...


class FailureReader(Protocol):
    """Is shown a failure that no rule knows: a model, or a program of the operator's.

    It has no tools, and what it answers is not believed yet.
    """

    async def read(self, agent: Agent, asked: ExamineCase, pane: str) -> tuple[Opinion, int]:
        """Its opinion and the tokens that it took, 0 where it tells none; raises WriterFailed.

        pane: the last lines of the agent's terminal as they were when the run ended, secrets and all.
        """
        ...
