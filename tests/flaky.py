"""`./dev test --flaky N [PATH...]`: run tests N times while every core is busy, and name each that failed.

Without a path: the tests that differ from the base, which is where this branch left main; on main itself the last
commit, or what is not committed yet. A test that fails once in 50 is a defect of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.report import read_run

ROOT = Path(__file__).resolve().parents[1]
MAINS = ("main", "origin/main", "master", "origin/master")
PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Repeat, and print who failed; 1 when one did, 2 when there is nothing to repeat."""
    parser = argparse.ArgumentParser(prog="./dev test --flaky", description=__doc__)
    parser.add_argument("times", type=int, metavar="N", help="how often each test runs")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, directories or tests, as pytest takes them")
    given = parser.parse_args(arguments)
    if given.times < 1:
        parser.error("N is at least 1")
    paths = given.paths or changed_tests(ROOT)
    if not paths:
        print("no test differs from the base; name what to repeat: ./dev test --flaky 50 tests/core")
        return 2
    print(f"{given.times} times, on busy cores: {' '.join(paths)}", flush=True)
    with busy_cores():
        failed = repeat(given.times, paths)
    print(told(failed, given.times))
    return 1 if failed else 0


def repeat(times: int, paths: Sequence[str]) -> Counter[str]:
    """Count for each test in how many of the runs it failed."""
    failed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="phx-") as root:

        def once(number: int) -> list[str]:
            room = Path(root) / str(number)
            room.mkdir()
            report = room / "report.xml"
            own = ["--junitxml", str(report), "--basetemp", str(room / "tmp"), "-o", f"cache_dir={room}/cache"]
            argv = [sys.executable, "-m", "pytest", "-q", *own, *paths]
            done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
            run = read_run(str(number), report)
            if run.finished and not run.counts["passed"] and not run.failed:
                run.failed.append(f"no test ran: {last_line(done)}")
            if run.failed:
                print(f"run {number}: {last_line(done)}\n{details(done.stdout)}", flush=True)
            shutil.rmtree(room, ignore_errors=True)
            return run.failed

        with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as runs:
            for names in runs.map(once, range(1, times + 1)):
                failed.update(set(names))
    return failed


def told(failed: Counter[str], times: int) -> str:
    if not failed:
        return f"no test failed in {times} runs"
    return "\n".join(f"{count} of {times}  {name}" for name, count in failed.most_common())


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["pytest said nothing"]
    return lines[-1]


def details(output: str) -> str:
    """Return what pytest says of the failures: without it, a test that fails once in 50 has to fail once more."""
    return "\n".join(re.findall(r"^(?:E  .*|FAILED .*|ERROR .*)$", output, re.MULTILINE)[:40])


# --- What a change touches -------------------------------------------------------------------------------------------


def changed_tests(root: Path) -> list[str]:
    """Return the test files that differ from the base, and those that import a changed module of the tests."""
    base = base_of_change(root)
    names = [*git(root, "diff", "--name-only", base, "--", "tests")] if base else []
    names += git(root, "ls-files", "--others", "--exclude-standard", "--", "tests")
    changed = {name for name in names if name.endswith(".py") and (root / name).is_file()}
    tests = {name for name in changed if Path(name).name.startswith("test_")}
    modules = {name.removesuffix(".py").replace("/", ".") for name in changed - tests}
    for path in sorted(root.glob("tests/**/test_*.py")) if modules else []:
        if imported(path.read_text(encoding="utf-8")) & modules:
            tests.add(str(path.relative_to(root)))
    return sorted(tests)


def imported(text: str) -> set[str]:
    """Return the modules that a test may mean: `from tests.api import daemon` is tests.api and tests.api.daemon."""
    found = set(re.findall(r"^import (tests[\w.]*)", text, re.MULTILINE))
    for package, names in re.findall(r"^from (tests[\w.]*) import \(?([\w, \n]+)", text, re.MULTILINE):
        found |= {package, *(f"{package}.{name}" for name in re.findall(r"\w+", names))}
    return found


def base_of_change(root: Path) -> str:
    """Return the commit that the work is compared with; empty where there is no commit yet."""
    head = "".join(git(root, "rev-parse", "HEAD"))
    for main_branch in MAINS:
        base = "".join(git(root, "merge-base", "HEAD", main_branch))
        if base and base != head:
            return base
        if base:
            break
    is_clean = not git(root, "status", "--porcelain", "--", "tests")
    return "".join(git(root, "rev-parse", "HEAD~1")) if is_clean else head


def git(root: Path, *words: str) -> list[str]:
    """Return the lines that git prints; none where it refuses, as for a branch that does not exist."""
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


# --- Load ------------------------------------------------------------------------------------------------------------


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy; what does so ends with this process, whatever ends this process."""
    count = os.cpu_count() or 1
    burners = [subprocess.Popen([sys.executable, "-c", BURN, str(os.getpid())]) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


# The parent may have ended before the request was made; then the parent's number is another.
BURN = f"""
import ctypes, os, sys
ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, {int(signal.SIGKILL)})
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
