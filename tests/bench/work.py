"""What the fingerprint of a large repository costs: 50,000 files, 500 of them changed. `./dev bench --only work`."""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from phoenixd.core.work import Survey
from phoenixd.drivers.git.work import survey
from tests.bench.arena import Figures
from tests.bench.scale import Scale
from tests.drivers.git.repositories import git

FILES, CHANGED, MOVES = 50_000, 500, 100_000


def measure(runs: int = 10, files: int = FILES, changed: int = CHANGED) -> dict[str, Figures]:
    """Milliseconds of a fingerprint, also where a reflog of years tells what was committed, and beside it of
    `git status`, which runs what the repository names; by the clock and of the processors."""
    with tempfile.TemporaryDirectory() as directory:
        _fill(Path(directory), files, changed)
        _age_the_reflog(Path(directory))
        before = survey([directory]).survey
        _commit_on_a_branch(Path(directory))
        return compare(directory, runs, before)


def compare(directory: str, runs: int, since: Survey | None = None) -> dict[str, Figures]:
    """The same in a repository that is there. since: an earlier look, to tell what was committed after it."""
    works: dict[str, Callable[[], object]] = {
        "fingerprint": lambda: survey([directory]).fingerprint,
        "fingerprint and deeds": lambda: survey([directory], since=since),
        "git status": lambda: subprocess.run(
            ["git", "status", "--porcelain"], cwd=directory, stdout=subprocess.DEVNULL, check=True
        ),
    }
    costs = {f"{name}{unit}": Figures() for name in works for unit in ("", ", CPU")}
    for _ in range(runs):
        for name, work in works.items():
            began, spent = time.perf_counter(), _cpu()
            work()
            costs[name].samples.append(1000 * (time.perf_counter() - began))
            costs[f"{name}, CPU"].samples.append(1000 * (_cpu() - spent))
    return costs


def _age_the_reflog(top: Path) -> None:
    log = Path(git(top, "rev-parse", "--absolute-git-dir").strip()) / "logs/HEAD"
    line = log.read_text().splitlines(keepends=True)[-1]
    with log.open("a") as file:
        file.writelines([line] * MOVES)


def _commit_on_a_branch(top: Path) -> None:
    """As a loop does that opens a pull request for each iteration; the worktree is as it was when it is done."""
    branch = git(top, "branch", "--show-current").strip()
    git(top, "checkout", "-q", "-b", "bench")
    (top / "new.txt").write_text("new\n")
    git(top, "add", "new.txt")
    git(top, "commit", "-q", "-m", "New", "new.txt")
    git(top, "checkout", "-q", branch)


def _cpu() -> float:
    """Seconds of processors that this process and its children have had."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _fill(top: Path, files: int, changed: int) -> None:
    for number in range(files):
        place = top / f"directory-{number // 100}"
        place.mkdir(exist_ok=True)
        (place / f"file-{number}").write_text(f"line of file {number}\n" * 50)
    git(top, "init", "-q")
    # This many loose objects would set off a collection beside the measurement.
    git(top, "config", "gc.auto", "0")
    git(top, "config", "maintenance.auto", "false")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "All")
    for number in range(0, files, files // changed):
        (top / f"directory-{number // 100}" / f"file-{number}").write_text("changed\n")


def report(scale: Scale) -> bool:
    """Print the table."""
    costs = measure(3 if scale.quick else 10)
    print(f"\na repository of {FILES} files, {CHANGED} of them changed: median / p99 in ms")
    for name, figures in costs.items():
        reference = costs["git status, CPU" if name.endswith(", CPU") else "git status"]
        print(f"{name:24}{figures.text():>22}   {figures.median / reference.median:.2f} x git status")
    return True
