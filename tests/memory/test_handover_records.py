"""What a handoff leaves on disk of both sessions: packages, records, and what is known of a package that was lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.actions import CheckPackage, RecordSessions, WritePackage
from phoenixd.core.events.handoffs import PackageChecked, PackageFailed, PackageWritten
from phoenixd.core.handoff.state import Step
from phoenixd.documents.project import layout
from phoenixd.documents.project.outcomes import Ended
from phoenixd.documents.project.package import NO_DOUBTS, Doubts
from phoenixd.documents.project.update import TaskOutcome
from tests.memory.test_handover import Scene
from tests.start.places import NOW, Room

PHASE = ".claude/projects/shop/phase-01-work"


@pytest.fixture
def scene(room: Room) -> Scene:
    return Scene(room)


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
