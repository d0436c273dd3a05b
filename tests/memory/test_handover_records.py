"""What a handoff leaves on disk of both sessions: packages, records, and what is known of a package that was lost."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from phoenixd.core.actions import CheckPackage, RecordSessions, WritePackage
from phoenixd.core.events.handoffs import (
    PackageChecked,
    PackageFailed,
    PackageWritten,
)
from phoenixd.core.handoff.state import Step
from phoenixd.core.rules import HandoffRules
from phoenixd.documents.project import layout
from phoenixd.documents.project.outcomes import Ended
from phoenixd.documents.project.package import NO_DOUBTS, Doubts
from phoenixd.documents.project.update import TaskOutcome
from phoenixd.errors import NoAnswer
from phoenixd.memory import handover
from tests.hung_disk import hung_mount
from tests.memory.handing_over import Scene
from tests.start.places import NOW

PHASE = ".claude/projects/shop/phase-01-work"


async def packaged(scene: Scene) -> PackageWritten:
    """The package is written, and its acknowledgement waited for."""
    told = await scene.handover.write(WritePackage("a", "h1"))
    assert isinstance(told, PackageWritten)
    scene.step = Step.AWAIT_ACK
    scene.changes |= {"package": told.package, "previous_session": told.previous, "session": told.session}
    return told


async def doubts(scene: Scene) -> Doubts:
    """What is held against an ack that quotes the newest package."""
    return await scene.handover.doubts(scene.seat, scene.changes["package"])


def record(scene: Scene, session: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((scene.room.work / layout.session_paths(session).record).read_text())
    return found


async def test_e11_e12_e14_e50_both_sessions_have_package_and_record_and_the_predecessor_is_shut_down_last(
    scene: Scene,
) -> None:
    told = await packaged(scene)

    old, new = (layout.session_paths(one) for one in (told.previous, told.session))
    for place in (old, new):
        assert Path(place.record).parent.name.startswith("orchestrator-")
    mine, theirs = (json.loads((scene.room.work / one.package).read_text()) for one in (old, new))
    assert mine == theirs
    assert (mine["previousSessionId"], mine["newSessionId"]) == (told.previous, told.session)
    first, second = record(scene, told.previous), record(scene, told.session)
    assert (first["status"], second["status"]) == ("handoff_pending", "running")
    assert (first["generation"], second["generation"], second["previousSessionId"]) == (1, 2, told.previous)
    assert first.get("shutdownAt") is None

    scene.step = Step.DONE
    await scene.handover.record(RecordSessions("a", "h1"))

    first, second = record(scene, told.previous), record(scene, told.session)
    assert (first["status"], second["status"]) == ("shutdown", "running")
    assert first["shutdownAt"].endswith("Z")
    assert second.get("shutdownAt") is None


@pytest.mark.parametrize("how", ["missing", "unreadable", "a directory"])
async def test_f_ho_7_a_package_that_is_gone_or_unreadable_is_known_by_name_and_written_again_as_it_was(
    scene: Scene, how: str
) -> None:
    told = await packaged(scene)
    path = scene.room.work / layout.session_paths(told.session).package
    before = path.read_bytes()
    assert (await doubts(scene), await scene.handover.fault(scene.seat)) == (NO_DOUBTS, None)

    path.unlink()
    if how == "unreadable":
        path.write_bytes(before[: len(before) // 2])
    elif how == "a directory":
        path.mkdir()
    assert await doubts(scene) == Doubts(changed=True), "its ack is refused, and it is written again"
    assert layout.session_paths(told.session).package in (await scene.handover.fault(scene.seat) or "")
    if how == "a directory":
        path.rmdir()
    scene.changes |= {"word": told.word}
    again = await packaged(scene)

    assert (again.package, path.read_bytes()) == (told.package, before)
    assert await scene.handover.fault(scene.seat) is None


async def test_e35_e36_e37_f_ho_7_a_package_that_names_what_is_gone_is_known_until_it_is_written_again(
    scene: Scene,
) -> None:
    scene.wrote(f"{PHASE}/artifacts/hunter2.txt")
    told = await packaged(scene)
    assert await doubts(scene) == NO_DOUBTS

    (scene.room.work / PHASE / "claude.md").unlink()
    (scene.room.work / PHASE / "plan.md").rename(scene.room.work / PHASE / "Plan-of-mine.md")
    (scene.room.work / PHASE / "plan.md").symlink_to("Plan-of-mine.md")
    (scene.room.work / PHASE / "artifacts/hunter2.txt").unlink()
    assert await doubts(scene) == Doubts(
        missing=f"{PHASE}/plan.md is not there; {PHASE}/claude.md is not there",
        missing_artifacts=f"{PHASE}/artifacts/[redacted].txt is not there",
    )
    assert await scene.handover.doubts(scene.seat, "00" * 32) == NO_DOUBTS, "what proves nothing costs no reading"

    assert await scene.handover.check(CheckPackage("a", "h1", told.package)) == PackageChecked(
        "a", "h1", told.package, False, f"{PHASE}/plan.md is not there; {PHASE}/claude.md is not there",
        f"{PHASE}/artifacts/[redacted].txt is not there",
    ), "an ack by last words is held against the same"  # fmt: skip

    again = await packaged(scene)
    assert again.package != told.package
    assert await doubts(scene) == NO_DOUBTS
    assert await scene.handover.check(CheckPackage("a", "h1", again.package)) == PackageChecked(
        "a", "h1", again.package
    )
    assert (await scene.handover.check(CheckPackage("a", "h0", "00" * 32))).missing == "", "of another handoff"


async def test_f_ho_7_a_plan_that_came_after_the_package_is_not_left_out(scene: Scene) -> None:
    await packaged(scene)
    later = scene.room.work / ".claude/projects/shop/phase-02-api"
    later.mkdir()
    (later / "plan.md").write_text("# Phase 2\n")

    assert (await doubts(scene)).missing == ".claude/projects/shop/phase-02-api/plan.md is not named"


async def test_f_ho_7_where_the_project_is_gone_no_package_of_nothing_is_written(scene: Scene) -> None:
    await packaged(scene)
    shutil.rmtree(scene.room.work / ".claude/projects/shop")
    assert "plan.md is not there" in (await doubts(scene)).missing

    told = await scene.handover.write(WritePackage("a", "h1"))
    assert isinstance(told, PackageFailed)
    assert told.final
    assert "is gone from" in told.why


def failed(task: str, why: str, attempts: int = 2) -> Ended:
    return Ended(NOW, TaskOutcome("phase-01-work", task, "blocked", why), "t7", attempts)


def scratchpad(scene: Scene) -> list[dict[str, Any]]:
    path = scene.room.work / layout.session_paths(scene.changes["session"]).package
    found: list[dict[str, Any]] = json.loads(path.read_text())["scratchpad"]
    return found


async def test_e90_what_workers_failed_at_stands_in_the_package_and_in_the_prompt_and_is_carried_on(
    scene: Scene,
) -> None:
    scene.ended = (failed("2", "t7: the key hunter2 was refused"), failed("9", "a task that no plan has"))
    told = await packaged(scene)

    wanted = [
        {"approach": "Task 2: Build the till", "attempts": 2, "failureReason": "t7: the key [redacted] was refused"}
    ]
    assert scratchpad(scene) == wanted
    assert "- Task 2: Build the till, 2 times: t7: the key [redacted] was refused" in told.opening
    scene.changes |= {"word": told.word}
    assert (await packaged(scene)).package == told.package, "written again it is the same"

    # The next handoff, of whose tasks phoenixd knows no more: what the holder was told itself goes on.
    scene.ended = ()
    scene.changes = {"id": "h2", "previous_session": told.session}
    scene.step = Step.SNAPSHOT
    later = await scene.handover.write(WritePackage("a", "h2"))
    assert isinstance(later, PackageWritten)
    scene.changes |= {"session": later.session}
    assert scratchpad(scene) == wanted


async def test_e90_what_was_completed_since_is_no_failure_any_more(scene: Scene) -> None:
    scene.ended = (failed("1", "the first try"), failed("2", "the second"))
    await packaged(scene)

    assert [one["approach"] for one in scratchpad(scene)] == ["Task 2: Build the till"]


async def test_keep_packages_and_records_of_the_newest_handoffs_stay_and_nothing_else_goes(scene: Scene) -> None:
    scene.agents["a"] = replace(scene.old, spec=replace(scene.old.spec, handoff=HandoffRules(keep=2)))
    sessions = scene.room.work / ".claude/orchestrators"
    for number, project in enumerate(["shop", "shop", "bank", "shop"]):
        place = sessions / f"orchestrator-00{number}"
        place.mkdir(parents=True)
        record = {"sessionId": place.name, "projectName": project, "status": "shutdown"}
        (place / "session.json").write_text(json.dumps(record))
        (place / "handoff-package.json").write_text("{}")
    memory = sessions / "orchestrator-001/memory"
    memory.mkdir()
    (memory / "patterns.md").write_text("Mind the till.")
    told = await scene.handover.write(WritePackage("a", "h1"))
    assert isinstance(told, PackageWritten)
    scene.step, scene.changes = Step.DONE, {"previous_session": told.previous, "session": told.session}

    await scene.handover.record(RecordSessions("a", "h1"))

    left = sorted(str(path.relative_to(sessions)) for path in sessions.rglob("*") if path.is_file())
    ours = sorted(
        f"{one}/{name}"
        for one, names in ((told.previous, ["handoff-package.json", "session.json"]),
                           (told.session, ["handoff-package.json", "init-prompt.md", "session.json"]))
        for name in names
    )  # fmt: skip
    assert left == sorted([
        "orchestrator-001/memory/patterns.md", "orchestrator-001/session.json",
        "orchestrator-002/handoff-package.json", "orchestrator-002/session.json",
        "orchestrator-003/handoff-package.json", "orchestrator-003/session.json", *ours,
    ])  # fmt: skip


async def test_the_record_of_a_successor_that_a_rollback_left_running_is_closed_and_goes_in_its_turn(
    scene: Scene,
) -> None:
    scene.agents["a"] = replace(scene.old, spec=replace(scene.old.spec, handoff=HandoffRules(keep=1)))
    scene.changes = {"began_wall": NOW + 30}
    first = await scene.handover.write(WritePackage("a", "h1"))
    assert isinstance(first, PackageWritten)
    # An order to stop rolled it back before the package was known: nothing ever came to its record.
    sessions = scene.room.work / ".claude/orchestrators"
    record = sessions / first.session / "session.json"
    assert json.loads(record.read_text())["status"] == "running"
    scene.changes = {"id": "h2", "began_wall": NOW + 60, "previous_session": first.previous}
    second = await scene.handover.write(WritePackage("a", "h2"))
    assert isinstance(second, PackageWritten)
    scene.step, scene.changes = Step.DONE, {**scene.changes, "session": second.session}

    (sessions / first.session / "memory").mkdir()
    (sessions / first.session / "memory" / "patterns.md").write_text("Mind the till.")
    await scene.handover.record(RecordSessions("a", "h2"))
    assert json.loads(record.read_text())["status"] == "shutdown"
    assert (sessions / first.session / "handoff-package.json").exists(), "one handoff's papers are kept beside"

    scene.changes |= {"id": "h3", "began_wall": NOW + 120, "session": "", "previous_session": second.session}
    scene.step = Step.SNAPSHOT
    third = await scene.handover.write(WritePackage("a", "h3"))
    assert isinstance(third, PackageWritten)
    scene.step, scene.changes = Step.DONE, {**scene.changes, "session": third.session}
    await scene.handover.record(RecordSessions("a", "h3"))
    assert not (sessions / first.session / "handoff-package.json").exists()


@pytest.mark.parametrize("step", [Step.DONE, Step.ROLLED_BACK])
async def test_e50_records_that_say_already_what_became_of_the_handoff_are_left_alone(scene: Scene, step: Step) -> None:
    """Each daemon that begins orders them again, for the one before may have died before it wrote them."""
    told = await scene.handover.write(WritePackage("a", "h1"))
    assert isinstance(told, PackageWritten)
    scene.step, scene.changes = step, {"previous_session": told.previous, "session": told.session}
    await scene.handover.record(RecordSessions("a", "h1"))
    paths = [scene.room.work / f".claude/orchestrators/{one}/session.json" for one in (told.previous, told.session)]
    said = [json.loads(path.read_text())["status"] for path in paths]
    assert said == (["shutdown", "running"] if step is Step.DONE else ["running", "shutdown"])
    before = [(path.stat().st_ino, path.read_text()) for path in paths]

    scene.room.clock.wall += 3600
    await scene.handover.record(RecordSessions("a", "h1"))
    assert [(path.stat().st_ino, path.read_text()) for path in paths] == before


async def test_a_workspace_on_a_disk_that_hangs_is_given_up_however_often_its_seat_is_asked_about(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`handoff status` may be asked by the orchestrator itself, and each question took a thread of the daemon's."""
    monkeypatch.setattr(handover, "PATIENCE", 0.5)
    await packaged(scene)
    with hung_mount(tmp_path / "dead") as dead:
        scene.agents["a"] = replace(scene.old, spec=replace(scene.old.spec, cwd=str(dead)))
        for _ in range(2):
            assert "answer" in (await scene.handover.fault(scene.seat) or "")
            with pytest.raises(NoAnswer):
                await doubts(scene)
        assert to_thread.current_default_thread_limiter().borrowed_tokens == 0
