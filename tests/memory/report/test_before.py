"""How a workspace was before a task: a change that was put back, or that never was, contradicts its claim."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio

from phoenixd.core.spec import AgentSpec
from phoenixd.core.tasks.state import Task
from phoenixd.directories import Directories
from phoenixd.documents.report.before import Before, read_before, render_before
from phoenixd.documents.report.facts import Witness
from phoenixd.drivers.files import plain
from phoenixd.drivers.files.listing import hash_files
from phoenixd.errors import PhoenixdError
from phoenixd.memory.report.before import FILE, BeforeTasks
from phoenixd.memory.report.workers import Judging
from tests.core.story import Story, claude
from tests.memory.report.test_verification import Directory
from tests.memory.report.test_workers import Now


def kept_in(tmp_path: Path) -> tuple[BeforeTasks, AgentSpec, Path]:
    directories = Directories(None, tmp_path / "state", tmp_path / "run")
    work = tmp_path / "work"
    work.mkdir()
    spec = claude("w-1", cwd=str(work), task="t1")
    plain.ensure_private_dir(directories.state)
    for place in (directories.agent_state("w-1").parent, directories.agent_state("w-1")):
        plain.ensure_private_dir(place)
    return BeforeTasks(directories, plain, hash_files), spec, work


def test_a_change_that_was_put_back_is_contradicted_and_a_file_that_is_gone_was_there(tmp_path: Path) -> None:
    keeping, spec, work = kept_in(tmp_path)
    for name in ("same.py", "other.py", "gone.py"):
        (work / name).write_text("a = 1\n")
    keeping.keep(spec)
    (work / "same.py").write_text("a = 2\n")
    (work / "same.py").write_text("a = 1\n")
    (work / "other.py").write_text("a = 2\n")
    (work / "gone.py").unlink()
    (work / "new.py").write_text("a = 1\n")
    keeping.keep(spec)
    out = tmp_path / "out"
    out.mkdir()
    told = {
        "files": [
            {"path": "same.py"}, {"path": "other.py"}, {"path": "gone.py", "status": "deleted"}, {"path": "new.py"},
            {"path": "never.py", "status": "deleted"},
        ]
    }  # fmt: skip
    (out / "report.json").write_text(json.dumps(told))
    judging = Judging(Directory(Witness()), lambda name, text: text, cast(Any, Now()), keeping.of)
    agent = replace(Story(claude("w-1")).runs().agent, spec=spec)

    found = anyio.run(judging.verify, agent, Task("t1", "w-1", runs=2), out, out, "")

    assert found is not None
    verdicts = {line.split("(")[0].split(": ")[1].strip()[:12]: line.split(":")[0] for line in found.lines}
    assert list(verdicts.values()) == ["contradicted", "verified", "verified", "verified", "unverifiable"], found.lines
    assert "it is as it was before the task" in found.lines[0]


def test_it_is_of_one_task_alone_and_what_is_damaged_is_unknown(tmp_path: Path) -> None:
    keeping, spec, work = kept_in(tmp_path)
    (work / os.fsdecode(b"\xff.py")).write_text("x")
    keeping.keep(spec)
    kept = keeping.of(spec)
    assert kept is not None
    assert kept.hash_of(os.fsdecode(b"\xff.py"), str(work))
    assert keeping.of(replace(spec, task="t2")) is None
    place = keeping.directories.agent_state("w-1") / FILE
    for damage in (b"", b"{", b"[]", b'{"task": "t1"}', b'{"task": "t1", "gap": "", "left_out": 3, "files": []}'):
        place.write_bytes(damage)
        assert keeping.of(spec) is None
    place.unlink()
    place.symlink_to("/etc/passwd")
    assert keeping.of(spec) is None
    assert read_before(render_before("t1", Before({"a": None}, "", frozenset({"b"}))), "t1") == Before(
        {"a": None}, "", frozenset({"b"})
    )


def test_a_workspace_that_cannot_be_looked_at_stops_no_worker(tmp_path: Path) -> None:
    keeping, spec, _ = kept_in(tmp_path)

    def fails(cwd: str) -> Before:
        raise PhoenixdError("it is gone")

    replace(keeping, look=fails).keep(spec)
    assert keeping.of(spec) is None
