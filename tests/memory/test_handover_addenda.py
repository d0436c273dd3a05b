"""What came too late for a package stands in its addendum, with who made it, and without secrets."""

from __future__ import annotations

from phoenixd.core.events.handoffs import AddendumWritten
from phoenixd.core.handoff.state import Late
from tests.memory.handing_over import Scene, written
from tests.start.places import NOW


async def test_f_ho_11_e49_late_changes_are_told_with_who_made_them_by_the_transcripts_else_unknown(
    scene: Scene,
) -> None:
    work = scene.room.work
    (work / "till.py").write_text("before")
    (work / "gone.py").write_text("before")
    (work / "same.py").write_text("before")
    await scene.package()
    scene.begun("a-g2", seat="a", generation=2)
    scene.begun("hand")
    (work / "gone.py").unlink()
    (work / "build.log").write_text("by a job in the background")
    scene.wrote("till.py")
    scene.wrote("own.py", "a-g2")
    scene.wrote("docs/page.md", "hand")
    scene.wrote("both.py", "a-g2")
    scene.append(*written(str(work / "both.py")))

    told, found = await scene.addendum()

    assert (told.files, told.said, told.why) == (5, 0, "")
    assert told.path == f".claude/orchestrators/{scene.changes['session']}/handoff-addendum.json"
    assert [(one["path"], one["change"], one["by"]) for one in found["changes"]] == [
        ("both.py", "created", ["a", "a-g2"]),
        ("build.log", "created", ["unknown"]),
        ("docs/page.md", "created", ["hand"]),
        ("gone.py", "deleted", ["unknown"]),
        ("till.py", "changed", ["a"]),
    ]
    assert found["package"] == scene.changes["package"]


async def test_what_was_submitted_to_the_predecessor_stands_in_the_addendum_without_secrets(scene: Scene) -> None:
    await scene.package()
    scene.changes["late"] = (Late("Use hunter2 for the till.", NOW + 5),)

    told, found = await scene.addendum()

    assert (told.files, told.said) == (0, 1)
    assert [one["text"] for one in found["submitted"]] == ["Use [redacted] for the till."]


async def test_where_nothing_came_too_late_there_is_no_addendum(scene: Scene) -> None:
    await scene.package()
    told, found = await scene.addendum()
    assert (told, found) == (AddendumWritten("a", "h1"), {})


async def test_a_package_that_is_written_again_leaves_the_first_look_at_the_workspace(scene: Scene) -> None:
    await scene.package()
    (scene.room.work / "late.py").write_text("late")
    await scene.package()

    _, found = await scene.addendum()

    assert [one["path"] for one in found["changes"]] == ["late.py"]


async def test_without_the_look_at_the_snapshot_the_addendum_says_so(scene: Scene) -> None:
    await scene.package()
    (scene.room.directories.agent_state("a") / "handoff-files.json").write_bytes(b"torn")
    told, found = await scene.addendum()
    assert (told.files, found["notCompared"]) == (0, "nothing is known of the workspace at the snapshot")


async def test_links_and_what_programs_make_are_not_compared(scene: Scene) -> None:
    await scene.package()
    (scene.room.work / "link").symlink_to("/etc/passwd")
    (scene.room.work / "node_modules/x").mkdir(parents=True)
    (scene.room.work / "node_modules/x/index.js").write_text("x")
    told, _ = await scene.addendum()
    assert told.path == ""


async def test_f_ho_11_half_a_character_in_a_prompt_is_no_reason_to_tell_nothing(scene: Scene) -> None:
    await scene.package()
    scene.changes |= {"late": (Late("Mind the \ud800 till.", NOW),)}
    told, found = await scene.addendum()
    assert (told.why, told.said) == ("", 1)
    assert found["submitted"][0]["text"] == "Mind the  till."
