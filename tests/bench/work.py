"""What the fingerprint of a large repository costs: 50,000 files, 500 of them changed. `./dev bench --only work`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from phoenixd.drivers.git_work import work_print
from tests.bench.arena import Figures
from tests.drivers.repositories import git

FILES, CHANGED = 50_000, 500


def measure(runs: int = 10, files: int = FILES, changed: int = CHANGED) -> dict[str, Figures]:
    """Milliseconds of a fingerprint, and of `git status`, which runs what the repository names, beside it."""
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        _fill(top, files, changed)
        ours, theirs = [], []
        for _ in range(runs):
            began = time.perf_counter()
            work_print([directory])
            ours.append(time.perf_counter() - began)
            began = time.perf_counter()
            subprocess.run(["git", "status", "--porcelain"], cwd=top, stdout=subprocess.DEVNULL, check=True)
            theirs.append(time.perf_counter() - began)
    return {"fingerprint": Figures([1000 * one for one in ours]), "git status": Figures([1000 * one for one in theirs])}


def _fill(top: Path, files: int, changed: int) -> None:
    for number in range(files):
        place = top / f"directory-{number // 100}"
        place.mkdir(exist_ok=True)
        (place / f"file-{number}").write_text(f"line of file {number}\n" * 50)
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "All")
    for number in range(0, files, files // changed):
        (top / f"directory-{number // 100}" / f"file-{number}").write_text("changed\n")


if __name__ == "__main__":
    for name, figures in measure().items():
        print(f"{name:14}{figures.text():>20} ms")
    sys.exit()
