"""What is kept of a task when its worker has ended: the manifest of its outputs, and a page for the asker."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from phoenixd.core.tasks.state import JudgedReport, Outcome, Sealed, Task
from phoenixd.documents.plain_text import one_line

VERSION = 1
ANSWER_LIMIT = 200_000
"""Characters of a worker's last answer that its report holds."""


@dataclass(frozen=True, slots=True)
class Output:
    """One file that a worker left. path: below the task's outputs."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Left:
    """All that a worker left. refused: entries that were not taken, and why; beyond: how many more."""

    answer: str = ""
    outputs: tuple[Output, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """A report as the task keeps it, and a line for each of its claims."""

    report: JudgedReport
    lines: tuple[str, ...] = ()


def manifest(task: Task, left: Left, session_id: str) -> bytes:
    """manifest.json: each file with size, sha256 and task (E28)."""
    document = {
        "version": VERSION,
        "task": task.id,
        "asked_at": task.asked_wall,
        "run": task.runs,
        "plan_task": task.plan or None,
        "project": task.project or None,
        "agent": task.agent,
        "session_id": session_id or None,
        "files": [{"path": one.path, "size": one.size, "sha256": one.sha256, "task": task.id} for one in left.outputs],
        "refused": [{"path": path, "why": why} for path, why in left.refused],
        "refused_beyond": left.beyond,
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def report(
    task: Task, left: Left, outcome: Outcome, end: str, prompt: str, verdict: str, claims: Sequence[str] = ()
) -> bytes:
    """report.md. end: how the run ended; prompt and answer: without secrets. verdict: of this run, in a sentence.

    claims: a line for each claim of the worker's own report.
    """
    title = f"# Task {task.id}" + (f", task {one_line(task.plan, 100)} of the plan" if task.plan else "")
    lines = [
        title, "",
        f"- verdict: {verdict}",
        f"- worker: {task.agent}, run {task.runs}"
        + (f", project {one_line(task.project, 100)}" if task.project else ""),
        f"- its run: {end}",
        f"- its last turn: {STOPS.get(outcome.stop, outcome.stop)}"
        + (f" ({one_line(outcome.words, 300)})" if outcome.words else ""),
        *([f"- its seal: {SEALS[outcome.seal]}"] if outcome.seal else []),
        *_listed(left), "",
        *_claims(outcome.judged, claims),
        "## Asked", "", *_quoted(prompt), "",
        "## Answer", "", *(_quoted(left.answer) if left.answer else ["None is known."]), "",
    ]  # fmt: skip
    return "\n".join(lines).encode("utf-8", "replace")


STOPS = {
    "done": "came to its end",
    "failed": "failed",
    "interrupted": "was broken off",
    "cut": "was cut before its answer was whole",
    "open": "has no end",
    "missing": "unknown: no transcript was found",
    "none": "unknown: nothing says where it keeps a transcript",
}


SEALS: dict[Sealed, str] = {
    "sealed": "the answer is whole",
    "unsealed": "none; only its CLI says that the answer is whole",
    "cut": "none at its end: the answer was cut, or was not sealed",
    "front lost": "none at its beginning: this is the last part of the answer",
}


def _listed(left: Left) -> Iterable[str]:
    total = sum(one.size for one in left.outputs)
    yield f"- outputs: {len(left.outputs)} files, {total} bytes (outputs/, manifest.json)"
    yield from (f"  - {one.path}, {one.size} bytes" for one in left.outputs[:50])
    if left.refused:
        yield f"- not taken: {len(left.refused) + left.beyond}"
        yield from (f"  - {one_line(path, 200)}: {why}" for path, why in left.refused[:20])


def _claims(judged: JudgedReport | None, lines: Sequence[str]) -> Iterable[str]:
    """What the worker claims, each beside what the facts say."""
    if judged is not None:
        yield from ("## Claims", "", f"{claims_of(judged)}.", "", *_quoted("\n".join(lines)), "")


def claims_of(judged: JudgedReport) -> str:
    """What became of a report, in one line."""
    if judged.problem:
        return f"claims ({judged.source}): not judged: {judged.problem}"
    counts = f"{judged.contradicted} contradicted, {judged.verified} verified, {judged.unverifiable} unverifiable"
    return f"claims ({judged.source}): {counts}"


def _quoted(text: str) -> list[str]:
    """A worker's words, so that none of its lines is taken for one of ours."""
    return [f"> {line}" if line else ">" for line in text[:ANSWER_LIMIT].splitlines()]
