"""Where a worker's report is found, and what its task keeps of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from phoenixd.core.tasks.state import Task
from phoenixd.documents.report.facts import Witness
from phoenixd.documents.task_report import Judged
from phoenixd.memory.report.workers import FILE, MOST_CLAIMS, Judging
from tests.core.story import Story, claude
from tests.memory.report.test_verification import Directory


class Now:
    """A clock that is asked for nothing but the time."""

    def now(self) -> Any:
        return Story(claude()).runs().now


def judged(root: Path, answer: str = "", written: str | None = None) -> Judged | None:
    out = root / "out"
    out.mkdir()
    if written is not None:
        (out / FILE).write_text(written)
    agent = Story(claude(cwd=str(root))).runs().agent
    judging = Judging(Directory(Witness()), lambda name, text: text.replace("hunter2", "***"), cast(Any, Now()))
    return anyio.run(judging.verify, agent, Task("t1", agent.name, runs=1), out, out, answer)


def test_a_task_without_a_report_has_none(tmp_path: Path) -> None:
    assert judged(tmp_path, 'Done.\n```json\n{"rows": [1, 2]}\n```') is None


def test_the_object_that_the_answer_ends_in_is_judged_without_secrets(tmp_path: Path) -> None:
    found = judged(tmp_path, f"Done.\n{json.dumps({'commands': ['login hunter2'], 'summary': 'Well.'})}")
    assert found is not None
    assert (found.report.source, found.report.unverifiable) == ("its answer", 2)
    assert found.lines[0].startswith("unverifiable: login *** (")
    assert "hunter2" not in repr(found)


def test_the_written_report_goes_before_the_answer_and_one_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    found = judged(tmp_path, '{"summary": "Well."}', written="{")
    assert found is not None
    assert found.report.source == FILE
    assert "no JSON object" in found.report.problem


@pytest.mark.parametrize("form", ["kept.txt", "$PHOENIX_OUT/kept.txt", "{out}/kept.txt"])
def test_a_file_of_the_workers_own_directory_is_not_missing(tmp_path: Path, form: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kept.txt").write_text("kept")
    path = form.replace("{out}", str(tmp_path / "out"))
    found = judged_in(tmp_path, {"files": [{"path": path}, {"path": FILE}, {"path": "never.txt"}]})
    verdicts = [one.split(":", 1)[0] for one in found.lines]
    assert verdicts == ["verified", "unverifiable", "contradicted"]


def judged_in(root: Path, report: dict[str, Any]) -> Judged:
    out = root / "out"
    (out / FILE).write_text(json.dumps(report))
    agent = Story(claude(cwd=str(root))).runs().agent
    judging = Judging(Directory(Witness()), lambda name, text: text, cast(Any, Now()))
    found = anyio.run(judging.verify, agent, Task("t1", agent.name, runs=1), out, out, "")
    assert found is not None
    return found


def test_the_task_keeps_the_contradicted_first_and_few(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    files = [{"path": f"never{number}.txt"} for number in range(100)]
    found = judged_in(tmp_path, {"commands": ["make"] * 50, "files": files, "summary": "x" * 5000})
    assert (len(found.report.claims), found.report.contradicted, len(found.lines)) == (MOST_CLAIMS, 100, 151)
    assert {one.verdict for one in found.report.claims} == {"contradicted"}
    assert len(repr(found.report)) < 10_000
