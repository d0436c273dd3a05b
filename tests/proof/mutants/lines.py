"""The map of line -> tests, measured once for each state of code and tests, and kept outside the tree."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache as cache_in_memory
from math import inf
from pathlib import Path
from typing import Any

from tests.proof.mutants.contexts import DIRECTORY, FILES, file_of
from tests.proof.mutants.operators import Mutant

# The tests that run the code in pytest's own process, where its lines can be seen.
MEASURED = ("tests/core", "tests/runtime", "tests/simulate", "tests/memory", "tests/api", "tests/drivers/journal")
MARKS = "not proof and not faults and not real_claude and not slow"
# The shim runs in a process of its own, isolated from whatever would measure it: its tests are chosen by file.
APART = {
    "phoenixd/shim/": (
        "tests/shim/test_procfs.py", "tests/shim/test_unkillable.py", "tests/shim/test_reused_pid.py",
        "tests/shim/test_pure.py",
        "tests/shim/test_tree.py", "tests/shim/test_end.py", "tests/shim/test_held_programs.py",
        "tests/shim/test_unswept.py",
    ),
}  # fmt: skip
Part = dict[str, Any]
"""What was measured of one file of tests: its `tests`, the `lines` that they run, and the `code` as it was then."""
Way = tuple[str, int, int, int, int]
"""A step from one text to the next, as difflib tells it."""
EMPTY: Part = {"tests": [], "lines": {}}
MOST = 200
"""Tests that are asked about a file whose lines no test runs."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Which tests run a line: `lines` holds numbers of `tests`, whose values are seconds; `imports` those by import."""

    tests: list[tuple[str, float]]
    lines: dict[str, dict[str, list[int]]]
    imports: dict[str, list[int]] = field(default_factory=dict)
    """By file: the tests in files that import it, which may look at its defaults and run no line of it."""

    def chosen(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the mutant's line, the quickest first; or whole files, where no line is seen."""
        for place, files in APART.items():
            if mutant.path.startswith(place):
                return list(files)
        by_line = self.lines.get(mutant.path, {})
        numbers = set(by_line.get(str(mutant.seen_at), ()))
        if not numbers and (not _in_a_body(mutant) or not by_line):
            # What runs only while the file is imported is seen by all that use the file. A file that is newer than
            # what was measured has no lines yet.
            numbers = {n for found in by_line.values() for n in found} or self._beside(mutant.path)
            numbers |= set(self.imports.get(mutant.path, ()))
        return [name for name, _ in sorted((self.tests[number] for number in numbers), key=lambda test: test[1])]

    def broadest(self, path: str, tests: Sequence[str], most: int) -> list[str]:
        """Return those of some tests that run the most lines of a file, the broadest first."""
        runs = Counter(number for found in self.lines.get(path, {}).values() for number in found)
        lines = {self.tests[number][0]: count for number, count in runs.items()}
        return sorted(tests, key=lambda name: -lines.get(name, 0))[:most]

    def _beside(self, path: str) -> set[int]:
        """The tests that run most of a file's folder: a file of nothing but shapes has no line that a test runs."""
        folder = path.rpartition("/")[0]
        runs = Counter(
            number
            for name, by_line in self.lines.items() if name.rpartition("/")[0] == folder
            for found in by_line.values()
            for number in found
        )  # fmt: skip
        return {number for number, _ in runs.most_common(MOST)}


def _in_a_body(mutant: Mutant) -> bool:
    """A class holds defaults, which run at import; a function's last name is in lower case."""
    return mutant.function.rpartition(".")[2].lstrip("_")[:1].islower()


def measured(root: Path, files: Sequence[str], jobs: int, until: float = inf) -> Lines | None:
    """Return the map for this tree, or None where that was not measured `until` then, by the monotonic clock.

    What was measured of a file of tests counts until that file changes, or what it imports of the tests. Where the code
    changes, its lines move: a test that began to run a line is not asked about it, so that a mutant may seem to survive
    and none seems killed. Without the cache all is measured anew.
    """
    places = parts_of(root)
    lacking = [name for name, place in places.items() if not place.exists()]
    if lacking:
        print(f"measuring which test runs which line: {len(lacking)} of {len(places)} files of tests", flush=True)
        with tempfile.TemporaryDirectory(prefix="phx-") as directory:
            is_whole = _measure(root, files, lacking, jobs, Path(directory), until)
            for name in lacking:
                part = Path(directory, name.replace("/", "+")).with_suffix(".json")
                if part.exists() or is_whole:  # A file all of whose tests are left out has an empty part.
                    keep(root, places[name], json.loads(part.read_text()) if part.exists() else EMPTY)
        if not is_whole:
            return None
    return combined(root, [part for place in places.values() if (part := known_part(root, place)) is not None])


def known_part(root: Path, place: Path) -> Part | None:
    """Return what was measured of a file of tests, with the numbers that its lines have now."""
    if not place.exists():
        return None
    part: Part = json.loads(place.read_text())
    lines = {name: moved(by_line, *ways_of(root, name, part["code"][name])) for name, by_line in part["lines"].items()}
    return {**part, "lines": lines}


def moved(by_line: dict[str, list[int]], old: int, ways: Sequence[Way]) -> dict[str, list[int]]:
    """Return the tests of each line now: of a changed line those of what stood there, of a new one its neighbours'."""
    found: dict[str, list[int]] = {}
    for tag, i1, i2, j1, j2 in ways:
        if tag == "equal":
            found |= {str(j1 + k + 1): by_line[str(i1 + k + 1)] for k in range(i2 - i1) if str(i1 + k + 1) in by_line}
        else:
            beside = range(i1 + 1, i2 + 1) if tag == "replace" else range(max(1, i1), min(old, i1 + 1) + 1)
            tests = sorted({number for line in beside for number in by_line.get(str(line), ())})
            found |= {str(line): tests for line in range(j1 + 1, j2 + 1) if tests}
    return found


@cache_in_memory
def ways_of(root: Path, name: str, digest: str) -> tuple[int, list[Way]]:
    """How many lines a file had when it had this digest, and how it came from there to what it is."""
    kept, path = _source(digest), root / name
    old = kept.read_text().splitlines() if kept.is_file() else []
    new = path.read_text().splitlines() if path.is_file() else []
    return len(old), SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _source(digest: str) -> Path:
    return cache() / "sources" / digest


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "phoenixd-mutants"


def digest_of(root: Path, paths: Iterable[Path], about: str = "") -> str:
    digest = hashlib.sha256(f"{sys.version} {about}".encode())
    for path in sorted(paths):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def parts_of(root: Path) -> dict[str, Path]:
    """Return where the part of each file of tests is kept: by that file and all that it imports of the tests."""
    rooms = [path for room in MEASURED for path in root.glob(f"{room}/**/test_*.py")]
    return {
        str(path.relative_to(root)): cache() / f"{path.stem}-{digest_of(root, _used(root, path), MARKS)}.json"
        for path in sorted(rooms)
    }


def _used(root: Path, path: Path) -> set[Path]:
    """A file of tests, the conftests above it, and what these import of the tests, by way of each other too."""
    above = {folder / "conftest.py" for folder in path.parents if folder.is_relative_to(root / "tests")}
    found = {path, *(one for one in above if one.is_file())}
    left = list(found)
    while left:
        beside = {root / name for name in imported(root, str(left.pop().relative_to(root)), "tests.")}
        left += beside - found
        found |= beside
    return found


def keep(root: Path, place: Path, part: Part) -> None:
    """Keep what was measured of a file of tests, and the sources whose lines it names."""
    code = {}
    for name in part["lines"]:
        text = (root / name).read_bytes()
        code[name] = hashlib.sha256(text).hexdigest()[:16]
        if not _source(code[name]).exists():
            _write(_source(code[name]), text)
    _write(place, json.dumps({**part, "code": code}).encode())


def _write(place: Path, text: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    half = place.with_suffix(f".{os.getpid()}")
    half.write_bytes(text)
    half.replace(place)


def _measure(
    root: Path, files: Sequence[str], lacking: Sequence[str], jobs: int, directory: Path, until: float
) -> bool:
    """Run files of tests under a tracer; whether all were run in time."""
    paths = os.pathsep.join(str(root / name) for name in files)
    environment = {
        **os.environ, DIRECTORY: str(directory), FILES: paths, "HYPOTHESIS_PROFILE": "mutants",
        "COVERAGE_CORE": "ctrace",
    }  # fmt: skip
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.proof.mutants.contexts", "-p", "no:cacheprovider"]
    # A process for each share of the files: a file's tests stay together, and the last of them writes its part.
    shares = [share for first in range(jobs) if (share := lacking[first::jobs])]
    asked: list[subprocess.Popen[bytes]] = []
    try:
        for number, share in enumerate(shares):
            with (directory / f"said.{number}").open("wb") as words:
                asked.append(subprocess.Popen(
                    [*argv, "--timeout", "900", "-m", MARKS, *share], cwd=root, env=environment,
                    start_new_session=True, stdin=subprocess.DEVNULL, stdout=words, stderr=subprocess.STDOUT,
                ))  # fmt: skip
        for one in asked:
            one.wait(None if until == inf else max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    finally:
        for one in asked:
            kill_session(one)
            one.wait()
    for number, one in enumerate(asked):
        if one.returncode not in (0, 1, 5):
            said = (directory / f"said.{number}").read_text(errors="replace")[-4000:]
            raise SystemExit(f"the tests could not be measured; pytest said:\n{said}")
    return True


def kill_session(asked: subprocess.Popen[Any]) -> None:
    """End the session of pytest, unless it is over: its number may be another's then."""
    if asked.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(asked.pid, 9)


def combined(root: Path, parts: Iterable[Part]) -> Lines:
    """Make one map of the parts of all files of tests."""
    tests: list[tuple[str, float]] = []
    lines: dict[str, dict[str, list[int]]] = {}
    for part in parts:
        before = len(tests)
        tests += [(name, seconds) for name, seconds in part["tests"]]
        for file, by_line in part["lines"].items():
            of_file = lines.setdefault(file, {})
            for line, numbers in by_line.items():
                of_file.setdefault(line, []).extend(before + number for number in numbers)
    return Lines(tests, lines, _imports(root, [name for name, _ in tests]))


def _imports(root: Path, tests: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    by_file = {name: imported(root, name) for name in {file_of(test) for test in tests}}
    for number, test in enumerate(tests):
        for path in by_file[file_of(test)]:
            found.setdefault(path, []).append(number)
    return found


@cache_in_memory
def imported(root: Path, name: str, package: str = "phoenixd.") -> set[str]:
    """Return the files of a package that a file of tests imports by name: of `import a.b` all in that folder."""
    source = root / name
    tree = ast.parse(source.read_bytes()) if source.is_file() else ast.Module([], [])
    modules = {
        module
        for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
        for module in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
    }  # fmt: skip
    paths = {f"{module.replace('.', '/')}.py" for module in modules if module.startswith(package)}
    whole = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    beneath = {
        str(path.relative_to(root))
        for module in whole if module.startswith(package)
        for path in (root / module.replace(".", "/")).glob("**/*.py")
    }  # fmt: skip
    return {path for path in paths if (root / path).is_file()} | beneath
