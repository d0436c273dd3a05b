"""A report against a real directory and a transcript: hashes are as of the report's time."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.documents.report.facts import Ran, Witness
from phoenixd.documents.report.reading import ReportRefused
from phoenixd.drivers.files.claimed import look_at
from phoenixd.memory.report.verification import Task, Verification, verify_report
from tests.core.story import Story, claude

WORDS = b"a = 2\n"
HASH = hashlib.sha256(WORDS).hexdigest()


class Directory:
    """A world of real files, and of runs that are named."""

    def __init__(self, witness: Witness, look: Callable[..., Any] = look_at) -> None:
        self._witness, self._look = witness, look

    async def witness(self, agent: Agent, until: float) -> Witness:
        return self._witness

    async def files(self, root: str, paths: Any, began: float, reported: float) -> Any:
        return self._look(root, paths, began, reported)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_bytes(WORDS)
    return tmp_path


def verified(
    root: Path, given: dict[str, Any], world: Directory, own: str = "", reported: float | None = None
) -> Verification:
    agent = Story(claude()).runs().agent
    at = time.time() + 5 if reported is None else reported
    task = Task(agent, str(root), 0.0, at, own)
    return anyio.run(verify_report, json.dumps(given).encode(), task, world)


WHOLE = Witness((Ran("pytest -q", 1, True, output="1 failed, 2 passed"),), (), True)
GIVEN = {
    "files": [{"path": "a.py", "sha256": HASH}],
    "commands": [{"command": "pytest -q", "exit": 0}],
    "summary": "well",
}


def test_each_claim_gets_its_verdict_and_keeps_its_words(root: Path) -> None:
    found = verified(root, GIVEN, Directory(WHOLE))
    assert [one.outcome for one in found.verdicts] == ["verified", "contradicted", "unverifiable"]
    assert found.counts == (1, 1, 1)
    assert [one.claim.words for one in found.verdicts if one.outcome == "contradicted"] == [
        '{"command":"pytest -q","exit":0}'
    ]


def test_a_hash_is_as_of_the_reports_time(root: Path) -> None:
    """Planted: the same report judged by what stands there when it is judged calls an honest agent a liar."""
    reported = os.stat(root / "a.py").st_ctime + 0.000001
    honest = {"files": [{"path": "a.py", "sha256": HASH}]}
    time_passes(root / "a.py", reported)

    assert verified(root, honest, Directory(WHOLE), reported=reported).verdicts[0].outcome == "unverifiable"

    def careless(root: str, paths: Any, began: float, reported: float) -> Any:
        return look_at(root, paths, began, 1 << 40)

    assert verified(root, honest, Directory(WHOLE, careless), reported=reported).counts[0] == 1


def time_passes(path: Path, reported: float) -> None:
    """Another hand changes the file once its clock has moved on."""
    deadline = time.monotonic() + 60
    while os.stat(path).st_ctime <= reported and time.monotonic() < deadline:
        path.write_bytes(b"a = 3\n")
    assert os.stat(path).st_ctime > reported


def test_a_report_that_names_its_own_file_says_nothing_of_it(root: Path) -> None:
    (root / "report.json").write_text("{}")
    given = {
        "files": [{"path": path, "sha256": HASH} for path in ("report.json", "./report.json", f"{root}/report.json")]
    }
    found = verified(root, given, Directory(WHOLE), own=str(root / "report.json"))
    assert [one.why for one in found.verdicts] == ["it is the report itself"] * 3


def test_hostile_paths_are_unverifiable_and_nothing_is_opened(root: Path) -> None:
    os.mkfifo(root / "fifo")
    (root / "link").symlink_to("/etc/passwd")
    given = {"files": ["../../etc/passwd", "/dev/zero", "fifo", "link", "/proc/self/mem"]}
    assert {one.outcome for one in verified(root, given, Directory(WHOLE)).verdicts} == {"unverifiable"}


def test_absence_is_unverifiable_where_a_gap_is_known(root: Path) -> None:
    torn = Witness(WHOLE.runs, (), False, ("the last line of s.jsonl is not whole",))
    found = verified(root, {"commands": [{"command": "mypy src", "exit": 0}]}, Directory(torn))
    assert (found.verdicts[0].outcome, found.gaps) == ("unverifiable", torn.gaps)
    assert "is not whole" in found.verdicts[0].why


def test_a_report_that_cannot_be_read_is_refused(root: Path) -> None:
    agent = Story(claude()).runs().agent
    with pytest.raises(ReportRefused):
        anyio.run(verify_report, b"all is well", Task(agent, str(root), 0.0, time.time()), Directory(WHOLE))
