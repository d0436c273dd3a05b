"""What workers, ended generations and tasks left is kept of the newest alone; of nobody else is anything taken away."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from phoenixd.core.fleet import Fleet
from phoenixd.core.tasks.names import beyond
from phoenixd.core.tasks.state import JobRules, Task, Tasks
from phoenixd.directories import Directories
from phoenixd.jobs.cleared import clear
from tests.core.story import Story, spec
from tests.drivers.files.test_removal import nest

WORKERS = tuple(f"shop-t{number}" for number in range(1, 13))


@pytest.fixture
def directories(tmp_path: Path) -> Directories:
    directories = Directories(None, tmp_path / "state", tmp_path / "run")
    for name in (*WORKERS, "shop", "shop-g2", "old", "x-t0a"):
        for place in (directories.agent_state(name), directories.agent_runtime(name) / "hooks"):
            place.mkdir(parents=True)
        (directories.agent_state(name) / "wish.json").write_text("{}")
    directories.task("t1").mkdir(parents=True)
    return directories


def retired(*names: str, keep: int = 0) -> Fleet:
    return replace(Fleet(), retired=dict.fromkeys(names, 1), jobs=JobRules(keep=keep))


def left(directories: Directories) -> tuple[set[str], set[str]]:
    return set(os.listdir(directories.state / "agents")), set(os.listdir(directories.runtime / "agents"))


async def test_of_thousands_of_removed_workers_the_newest_leave_something_and_results_stay(
    directories: Directories,
) -> None:
    fleet = retired(*WORKERS, "shop-g2", "old", keep=3)
    await clear(directories, lambda: fleet)
    stay = {"shop-t10", "shop-t11", "shop-t12", "shop", "shop-g2", "old", "x-t0a"}
    assert left(directories) == (stay, stay)
    assert directories.task("t1").is_dir()
    await clear(directories, lambda: fleet)
    assert left(directories) == (stay, stay)


async def test_a_worker_that_is_there_that_returns_or_that_nobody_removed_keeps_its_directory(
    directories: Directories,
) -> None:
    """shop-t1 is tried again later, the shim of shop-t2 lives, and the journal knows nothing of shop-t3."""
    waiting = replace(retired(*WORKERS[:2], *WORKERS[3:]), tasks=Tasks(open=(Task("t1", "shop-t1", spec=None),)))
    held = os.open(directories.agent_runtime("shop-t2"), os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    await clear(directories, lambda: waiting)
    os.close(held)
    assert {name for name in left(directories)[0] if name in WORKERS} == {"shop-t1", "shop-t2", "shop-t3"}


async def test_no_link_of_a_worker_leads_to_what_is_not_its(directories: Directories, tmp_path: Path) -> None:
    """Workers are hostile, and the daemon that removes their files may be root's."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    (directories.agent_state("shop-t1") / "link").symlink_to(outside)
    (directories.agent_runtime("shop-t1") / "hooks" / "link").symlink_to(outside / "precious")
    directories.agent_state("shop-t2").rename(tmp_path / "aside")
    directories.agent_state("shop-t2").symlink_to(outside)
    await clear(directories, lambda: retired("shop-t1", "shop-t2", "shop-t3"))
    assert (outside / "precious").exists()
    assert left(directories)[0].isdisjoint({"shop-t1", "shop-t3"})


async def test_no_directories_below_each_other_are_too_deep_for_the_daemon(directories: Directories) -> None:
    """A worker nests as many as it likes; a daemon that failed here would end, and the next one an hour later again."""
    for place in (directories.agent_state("shop-t1"), directories.agent_runtime("shop-t1"), directories.task("t1")):
        nest(place)
    try:
        await clear(directories, lambda: replace(retired("shop-t1"), tasks=Tasks(next=13)))
        assert "shop-t1" not in left(directories)[0] | left(directories)[1]
        assert tasks_left(directories) == set()
    finally:
        # What is left is too deep for pytest.
        subprocess.run(["rm", "-rf", directories.state, directories.runtime], check=True)


async def test_of_the_ended_generations_of_each_seat_the_newest_leave_something(directories: Directories) -> None:
    """The first one's directory is the seat's own; one that lives, or that nobody removed, is never old."""
    ended = [f"shop-g{number}" for number in range(2, 13)] + ["bakery-g2", "bakery-g11", "bakery-g9"]
    for name in (*ended, "shop-g13"):
        directories.agent_state(name).mkdir(parents=True, exist_ok=True)
    fleet = retired(*(one for one in ended if one != "shop-g3"), "shop", "bakery")
    await clear(directories, lambda: fleet, generations_kept=2)
    found = {name for name in left(directories)[0] if "-g" in name}
    assert found == {"shop-g3", "shop-g11", "shop-g12", "shop-g13", "bakery-g9", "bakery-g11"}
    assert "shop" in left(directories)[0]


def tasks_left(directories: Directories) -> set[str]:
    return set(os.listdir(directories.task("t1").parent))


async def test_of_thousands_of_tasks_the_newest_keep_their_results(directories: Directories) -> None:
    """jobs.keep says how many; an operator with large results lowers it."""
    for number in range(1, 13):
        (directories.task(f"t{number}") / "outputs").mkdir(parents=True, exist_ok=True)
        (directories.task(f"t{number}") / "report.md").touch()
    (directories.task("t1").parent / "notes").mkdir()
    (directories.task("t1").parent / "t3.kept").mkdir()
    fleet = replace(retired(keep=3), tasks=Tasks(next=13))
    await clear(directories, lambda: fleet)
    assert tasks_left(directories) == {"t10", "t11", "t12", "notes", "t3.kept"}
    assert (directories.task("t10") / "report.md").exists()
    await clear(directories, lambda: replace(fleet, jobs=JobRules(keep=1)))
    assert tasks_left(directories) == {"t12", "notes", "t3.kept"}, "the newest tells a lost journal where to go on"


async def test_a_task_that_is_open_remembered_or_of_no_journal_keeps_its_results(directories: Directories) -> None:
    """t1 waits, `task status` shows t2, the plan is yet to be told of t3, the worker of t4 is there."""
    for number in range(1, 10):
        directories.task(f"t{number}").mkdir(parents=True, exist_ok=True)
    worker = Story(spec("shop-t4", task="t4")).agent
    waiting, shown, of_plan = (Task(f"t{n}", f"shop-t{n}", spec=None) for n in (1, 2, 3))
    tasks = Tasks(next=7, open=(waiting,), ended=(shown,), untold=(of_plan,))
    fleet = replace(retired(), tasks=tasks, agents={worker.name: worker})
    await clear(directories, lambda: fleet)
    assert tasks_left(directories) == {"t1", "t2", "t3", "t4", "t7", "t8", "t9"}


async def test_what_cannot_be_cleared_is_told_and_keeps_nothing_else(directories: Directories, tmp_path: Path) -> None:
    """A task's directory that is a link is somebody's, and is not followed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    directories.task("t2").symlink_to(outside)
    directories.task("t3").mkdir()
    with capture_logs() as told:
        await clear(directories, lambda: replace(retired(), tasks=Tasks(next=4)))
    assert tasks_left(directories) == {"t2"}
    assert outside.is_dir()
    assert [one["path"] for one in told if one["event"] == "past_not_cleared"] == [str(directories.task("t2"))]


@pytest.mark.parametrize(
    ("names", "keep", "found"),
    [
        (["a-t2", "b-t10", "a-t9"], 1, ["a-t2", "a-t9"]),
        (["a-t2", "b-t10"], 2, []),
        (["a", "a-g2", "a-t", "-t7", "a-t1x"], 0, ["-t7"]),
        ([], 0, []),
    ],
)
def test_the_age_of_a_worker_is_the_number_of_its_task(names: Sequence[str], keep: int, found: list[str]) -> None:
    assert beyond(names, keep) == found
