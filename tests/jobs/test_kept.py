"""The directories of tasks that were: a journal that forgot them writes nothing over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from phoenixd.core.tasks.state import Task
from phoenixd.directories import Directories
from phoenixd.documents.task_report import Left, manifest
from phoenixd.errors import PhoenixdError
from phoenixd.jobs.kept import newest_task, require_own


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
