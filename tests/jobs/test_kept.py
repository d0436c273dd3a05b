"""The directories of tasks that were: a journal that forgot them writes nothing over them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.tasks.state import MOST_ENDED, Outcome, Task
from phoenixd.directories import Directories
from phoenixd.documents.project.outcomes import Ended
from phoenixd.documents.project.update import TaskOutcome
from phoenixd.documents.task_report import Left, Output, manifest, report
from phoenixd.errors import PhoenixdError
from phoenixd.jobs.kept import forgotten, made_by, newest_task, require_own

NOON = 1_795_262_400.25


@pytest.fixture
def directories(tmp_path: Path) -> Directories:
    return Directories(None, tmp_path / "state", tmp_path / "run")


def test_the_newest_task_is_found_by_its_directory_and_by_no_other_name(directories: Directories) -> None:
    assert newest_task(directories) == 0
    for name in ("t2", "t10007", "t9", "t", "tx", "t01", "t99999999999", "t20000.kept"):
        directories.task(name).mkdir(parents=True)
    assert newest_task(directories) == 10_007


def test_the_results_of_another_task_of_that_number_are_never_written_over(directories: Directories) -> None:
    earlier, other = Task("t3", "shop-t3", asked_wall=100.0), Task("t3", "shop-t3", asked_wall=200.0)
    require_own(directories, other)
    place = directories.task("t3")
    place.mkdir(parents=True)
    (place / "manifest.json").write_bytes(manifest(earlier, Left(), ""))
    require_own(directories, earlier)
    with pytest.raises(PhoenixdError, match="holds the results of another task t3") as refused:
        require_own(directories, other)
    assert refused.value.remedy == f"mv {place} {place}.kept"


def test_what_stands_on_the_disk_of_a_task_is_known_again_and_what_does_not_is_unknown(
    directories: Directories,
) -> None:
    asked = Task("t7", "shop-t7", asked_wall=NOON, runs=2, project="shop", plan="4")
    for name, verdict in (("t7", "done: it ended well"), ("t8", "failed: exit 3"), ("t9", ""), ("t10", "as you like")):
        place = directories.task(name)
        place.mkdir(parents=True)
        if verdict:
            one = replace(asked, id=name)
            kept = Left("- verdict: done: so says the worker\n# Task t1\n", (Output("src/a.txt", 5, "5f"),))
            (place / "manifest.json").write_bytes(manifest(one, kept, "s"))
            (place / "report.md").write_bytes(report(one, kept, Outcome("done"), "exit 0", "do it", verdict))
    (directories.task("t9") / "report.md").symlink_to(directories.task("t7") / "report.md")
    found = {one.id: one for one in forgotten(directories, NOON + 9)}
    assert list(found) == ["t7", "t8", "t9", "t10"]
    assert {name: one.state for name, one in found.items()} == {
        "t7": "done", "t8": "failed", "t9": "unknown", "t10": "unknown"
    }  # fmt: skip
    done, failed, unknown, _ = found.values()
    assert (done.agent, done.project, done.plan, done.runs, done.asked_wall) == ("shop-t7", "shop", "4", 2, NOON)
    assert done.why == "it ended well (by its report)"
    assert done.outcome == Outcome(report=str(directories.task("t7") / "report.md"), outputs=1)
    assert "whether another run was to follow was lost with the journal" in failed.why
    assert "nothing on the disk tells what became of it" in unknown.why
    assert (unknown.agent, unknown.asked_wall) == ("unknown", NOON + 9)


def test_of_very_many_tasks_the_newest_are_known_again_and_none_where_there_is_no_directory(
    directories: Directories,
) -> None:
    assert forgotten(directories, NOON) == ()
    for number in range(1, MOST_ENDED + 6):
        directories.task(f"t{number}").mkdir(parents=True)
    found = forgotten(directories, NOON)
    assert (len(found), found[0].id, found[-1].id) == (MOST_ENDED, "t6", f"t{MOST_ENDED + 5}")


def left(directories: Directories, task: str, *paths: str, asked: float = NOON) -> Path:
    """The outputs of a task, with their manifest."""
    place = directories.task(task)
    for path in paths:
        (place / "outputs" / path).parent.mkdir(parents=True, exist_ok=True)
        (place / "outputs" / path).write_text("made")
    outputs = tuple(Output(path, 4, "0" * 64) for path in paths)
    place.mkdir(parents=True, exist_ok=True)
    (place / "manifest.json").write_bytes(
        manifest(Task(task, f"shop-{task}", asked_wall=asked), Left(outputs=outputs), "")
    )
    return place


def ended(task: str, status: str = "completed") -> Ended:
    return Ended(1.0, TaskOutcome("phase-01-work", "4", status), task)  # type: ignore[arg-type]


def test_e9_what_a_worker_left_for_what_it_completed_is_found_by_its_manifest(directories: Directories) -> None:
    place = left(directories, "t1", "a.txt", "src/b.txt")
    left(directories, "t2", "half.txt")

    found = made_by(directories, (ended("t1"), ended("t2", "blocked"), ended("t3"), ended("")))
    assert [(one.run, one.task, one.path, one.copy.source) for one in found] == [
        ("t1-20261121T120000Z", "4", "a.txt", str(place / "outputs/a.txt")),
        ("t1-20261121T120000Z", "4", "src/b.txt", str(place / "outputs/src/b.txt")),
    ]


def test_e9_another_state_directory_has_another_task_of_that_number(tmp_path: Path) -> None:
    """The workspace, whose manifest knows what was published, may outlive STATE_DIR."""
    runs = set()
    for number, asked in enumerate((NOON, NOON + 1, 0.0)):
        directories = Directories(None, tmp_path / str(number), tmp_path / "run")
        left(directories, "t1", "a.txt", asked=asked)
        runs |= {one.run for one in made_by(directories, [ended("t1")])}

    assert runs == {"t1-20261121T120000Z", "t1-20261121T120001Z", "t1-19700101T000000Z"}


@pytest.mark.parametrize("content", ["[" * 100_000, '{"asked_at": 1' + "0" * 400 + "}"])
def test_a_manifest_that_an_agent_put_there_ends_no_handoff_and_no_start(
    directories: Directories, content: str
) -> None:
    (left(directories, "t1", "a.txt") / "manifest.json").write_text(content)

    assert made_by(directories, [ended("t1")]) == ()
    if content.startswith("["):
        require_own(directories, Task("t1", "shop-t1", asked_wall=NOON))


@pytest.mark.parametrize("asked", ["NaN", "Infinity", "-5", "1e300", "null", "false"])
def test_a_task_whose_time_is_none_has_a_name_all_the_same(directories: Directories, asked: str) -> None:
    path = left(directories, "t1", "a.txt") / "manifest.json"
    path.write_text(path.read_text().replace(str(NOON), asked))

    assert [one.run for one in made_by(directories, [ended("t1")])] == ["t1-19700101T000000Z"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": 5}', '{"files": [{"path": "a"}]}', "\0"])
def test_a_manifest_of_a_task_that_is_none_publishes_nothing(directories: Directories, content: str) -> None:
    (left(directories, "t1", "a.txt") / "manifest.json").write_text(content)

    assert made_by(directories, [ended("t1")]) == ()
