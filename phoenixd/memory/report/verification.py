"""An agent's report, read and held against its transcript and its workspace.

Files are looked at as soon as the report is there: what is changed later proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.documents.report.claims import FileClaim, Report
from phoenixd.documents.report.facts import Facts, FileSeen, Witness
from phoenixd.documents.report.reading import read_report
from phoenixd.documents.report.verdicts import Verdict, counted
from phoenixd.memory.report.judgement import judge


class World(Protocol):
    """Where facts come from; see phoenixd.wiring.outside."""

    async def witness(self, agent: Agent, until: float) -> Witness:
        """What the transcripts of the agent's session tell up to a moment."""
        ...

    async def files(self, root: str, paths: Iterable[str], began: float, reported: float) -> Mapping[str, FileSeen]:
        """Files as they were at the report's time."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """What a report is about. Times are wall seconds.

    own: the path of the report's own file, if it is one. closed, open: loops that are known to be so; open None: only
    the transcript can tell. commits: subjects of the commits that were made meanwhile, None where they are not known.
    """

    agent: Agent
    workspace: str
    began: float
    reported: float
    own: str = ""
    closed: frozenset[str] = frozenset()
    open: frozenset[str] | None = None
    commits: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """A report with a verdict for each of its claims. gaps: what of the transcripts was not read."""

    report: Report
    verdicts: tuple[Verdict, ...]
    gaps: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many claims are contradicted, verified and unverifiable."""
        found = counted(self.verdicts)
        return found["contradicted"], found["verified"], found["unverifiable"]


async def verify_report(content: bytes, task: Task, world: World) -> Verification:
    """Read a report and judge it. Raises ReportRefused."""
    report = await to_thread.run_sync(read_report, content)
    paths = [one.path for one in report.claims if isinstance(one, FileClaim)]
    seen = dict(await world.files(task.workspace, paths, task.began, task.reported))
    witness = await world.witness(task.agent, task.reported)
    if task.own:
        # No report can hold the hash of itself.
        own = {task.own, task.own.removeprefix(f"{task.workspace.rstrip('/')}/")}
        seen |= {path: FileSeen("report") for path in seen if path.removeprefix("./") in own}
    written = tuple(one.path for one in witness.writes if not one.failed)
    facts = Facts(witness, seen, written, task.closed, task.open, task.commits, task.workspace)
    verdicts = await to_thread.run_sync(judge, report, facts)
    return Verification(report, verdicts, witness.gaps)
