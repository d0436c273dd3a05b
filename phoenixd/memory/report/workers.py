"""A worker's own report: where it stands, and what the facts say of its claims.

A report is the file report.json among the worker's outputs, else the JSON object that its last answer ends in. A task
may go without one. Files that a claim names are looked for in the workspace, then in the worker's own directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.core.spec import AgentSpec
from phoenixd.core.tasks.state import JudgedClaim, JudgedReport, Task
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import Clean, CleanOf
from phoenixd.documents.report.before import Before
from phoenixd.documents.report.facts import FileSeen, Witness
from phoenixd.documents.report.reading import SIZE_LIMIT, ReportRefused, block_at_end
from phoenixd.documents.report.verdicts import OUTCOMES, Verdict, line
from phoenixd.documents.task_report import Judged
from phoenixd.memory.report import verification
from phoenixd.memory.report.verification import Verification, World, verify_report
from phoenixd.ports import Clock

FILE = "report.json"
MOST_CLAIMS, WORDS_LIMIT = 10, 200
"""Claims that stand in the task itself, and characters of each; report.md holds all."""
OUT = ("$PHOENIX_OUT/", "${PHOENIX_OUT}/")


class Judging:
    """Implements jobs.collection.Judging. clean: a text without the agent's secrets.

    before: how the worker's workspace was before its task; None where that is not known.
    """

    def __init__(
        self,
        world: World,
        clean: CleanOf,
        clock: Clock,
        before: Callable[[AgentSpec], Before | None] = lambda spec: None,
    ) -> None:
        self._world, self._clean, self._clock, self._before = world, clean, clock, before

    async def verify(self, agent: Agent, task: Task, source: Path, outputs: Path, answer: str) -> Judged | None:
        """Judge the report of a worker's run; None where it left none. outputs: the copies of what `source` holds."""
        found = await to_thread.run_sync(_written, source, outputs)
        if found is not None:
            where = FILE
            content, at = found
        else:
            block = await to_thread.run_sync(block_at_end, answer)
            if block is None:
                return None
            where, content, at = "its answer", block.encode("utf-8", "replace"), self._clock.now().wall
        before = await to_thread.run_sync(self._before, agent.spec)
        try:
            places = _Places(self._world, source, before)
            told = await verify_report(content, self._about(agent, task, source, at), places)
        except ReportRefused as refused:
            if found is None:
                return None
            return Judged(JudgedReport(where, problem=one_line(str(refused), WORDS_LIMIT)))
        if found is None and not told.verdicts:
            # An answer may end in JSON that is no report.
            return None
        return await to_thread.run_sync(self._judged, agent.name, where, told)

    def _about(self, agent: Agent, task: Task, source: Path, at: float) -> verification.Task:
        # What an earlier run of the task did is no lie of this one's report, but no fact of before the task either.
        began = task.since_wall if task.runs <= 1 else task.asked_wall
        return verification.Task(agent, agent.spec.cwd, began, at, own=os.fspath(source / FILE))

    def _judged(self, name: str, where: str, told: Verification) -> Judged:
        def clean(text: str) -> str:
            return self._clean(name, text)

        ranked = sorted(told.verdicts, key=lambda one: OUTCOMES.index(one.outcome))
        contradicted, verified, unverifiable = told.counts
        kept = tuple(_kept(one, clean) for one in ranked[:MOST_CLAIMS])
        report = JudgedReport(where, contradicted, verified, unverifiable, kept)
        return Judged(report, tuple(line(one, clean) for one in told.verdicts))


class _Places:
    """The world of a worker: what a claim names may lie in its own directory instead of the workspace."""

    def __init__(self, world: World, out: Path, before: Before | None) -> None:
        self._world, self._out, self._before = world, os.fspath(out), before

    async def witness(self, agent: Agent, until: float) -> Witness:
        return await self._world.witness(agent, until)

    async def files(self, root: str, paths: Iterable[str], began: float, reported: float) -> Mapping[str, FileSeen]:
        asked = tuple(paths)
        found = dict(await self._world.files(root, asked, began, reported))
        if self._before is not None:
            known = {path: self._before.hash_of(path, root) for path in found}
            found = {path: replace(seen, before=known[path]) for path, seen in found.items()}
        left = {path: self._below(path) for path in asked if found[path].state in ("absent", "outside")}
        there = await self._world.files(self._out, left.values(), began, reported)
        for path, below in left.items():
            seen = there[below]
            if os.path.normpath(below) in (FILE, f"{self._out}/{FILE}"):
                found[path] = FileSeen("report")
            elif seen.state != "outside" and (seen.state != "absent" or _is_out(path, below)):
                found[path] = seen
        return found

    def _below(self, path: str) -> str:
        return next((path.removeprefix(start) for start in OUT if path.startswith(start)), path)


def _is_out(path: str, below: str) -> bool:
    """Whether a path names the worker's own directory, and so nothing of the workspace."""
    return path != below or os.path.isabs(path)


def _written(source: Path, outputs: Path) -> tuple[bytes, float] | None:
    """The content of the copied report, and when the worker last changed it."""
    try:
        with open(outputs / FILE, "rb") as file:
            content = file.read(SIZE_LIMIT + 1)
        # Of its times the worker can set the one, not the other.
        return content, os.lstat(source / FILE).st_ctime
    except OSError:
        return None


def _kept(found: Verdict, clean: Clean) -> JudgedClaim:
    said, why = (one_line(clean(text), WORDS_LIMIT) for text in (found.claim.words, found.why))
    return JudgedClaim(found.kind, said, found.outcome, why)
