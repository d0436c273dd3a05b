"""What removed workers left of themselves is kept of the newest alone; of nobody else is anything ever taken away."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.fleet import Fleet
from phoenixd.core.tasks.names import beyond
from phoenixd.core.tasks.state import Task, Tasks
from phoenixd.directories import Directories
from phoenixd.jobs.cleared import clear

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


def retired(*names: str) -> Fleet:
    return replace(Fleet(), retired=dict.fromkeys(names, 1))


def left(directories: Directories) -> tuple[set[str], set[str]]:
    return set(os.listdir(directories.state / "agents")), set(os.listdir(directories.runtime / "agents"))


async def test_of_thousands_of_removed_workers_the_newest_leave_something_and_results_stay(
    directories: Directories,
) -> None:
    fleet = retired(*WORKERS, "shop-g2", "old")
    await clear(directories, lambda: fleet, keep=3)
    stay = {"shop-t10", "shop-t11", "shop-t12", "shop", "shop-g2", "old", "x-t0a"}
    assert left(directories) == (stay, stay)
    assert directories.task("t1").is_dir()
    await clear(directories, lambda: fleet, keep=3)
    assert left(directories) == (stay, stay)


async def test_a_worker_that_is_there_that_returns_or_that_nobody_removed_keeps_its_directory(
    directories: Directories,
) -> None:
    """shop-t1 is tried again later, the shim of shop-t2 lives, and the journal knows nothing of shop-t3."""
    waiting = replace(retired(*WORKERS[:2], *WORKERS[3:]), tasks=Tasks(open=(Task("t1", "shop-t1", spec=None),)))
    held = os.open(directories.agent_runtime("shop-t2"), os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    await clear(directories, lambda: waiting, keep=0)
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
    await clear(directories, lambda: retired("shop-t1", "shop-t2", "shop-t3"), keep=0)
    assert (outside / "precious").exists()
    assert left(directories)[0].isdisjoint({"shop-t1", "shop-t3"})


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
