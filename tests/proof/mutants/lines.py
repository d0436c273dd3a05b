"""The map of line -> tests, measured once for each state of the tree and kept outside it."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import coverage

from tests.proof.mutants.contexts import DIRECTORY, FILES
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
MOST = 200
"""Tests that are asked about a file of which no test runs a line."""


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
        numbers = set(by_line.get(str(mutant.line), ()))
        if not numbers and not _in_a_body(mutant):
            # What runs only while the file is imported is seen by all that use the file.
            numbers = {n for found in by_line.values() for n in found} or self._beside(mutant.path)
            numbers |= set(self.imports.get(mutant.path, ()))
        return [name for name, _ in sorted((self.tests[number] for number in numbers), key=lambda test: test[1])]

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


def measured(root: Path, files: Sequence[str], jobs: int) -> Lines:
    """Return the map for this tree; the first time that takes as long as those tests under a tracer."""
    place = cache_of(root, files)
    if not place.exists():
        print(f"measuring which test runs which line, once for this tree: {place}", flush=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="phx-") as directory:
            _measure(root, files, jobs, Path(directory))
            lines = _combined(root, Path(directory))
        half = place.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps({"tests": lines.tests, "lines": lines.lines, "imports": lines.imports}))
        half.replace(place)
    told = json.loads(place.read_text())
    return Lines([(name, seconds) for name, seconds in told["tests"]], told["lines"], told["imports"])


def cache_of(root: Path, files: Iterable[str]) -> Path:
    digest = hashlib.sha256(f"{sys.version} {sorted(files)} {MEASURED} {MARKS}".encode())
    for path in sorted([*root.glob("phoenixd/**/*.py"), *root.glob("tests/**/*.py")]):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "phoenixd-mutants" / f"{digest.hexdigest()[:16]}.json"


def _measure(root: Path, files: Sequence[str], jobs: int, directory: Path) -> None:
    paths = os.pathsep.join(str(root / name) for name in files)
    environment = {
        **os.environ, DIRECTORY: str(directory), FILES: paths, "HYPOTHESIS_PROFILE": "mutants",
        "COVERAGE_CORE": "ctrace",
    }  # fmt: skip
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.proof.mutants.contexts", "-p", "no:cacheprovider"]
    argv += ["-n", str(jobs), "--timeout", "900", "-m", MARKS]
    rooms = [room for room in MEASURED if (root / room).exists()]
    done = subprocess.run([*argv, *rooms], cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the tests could not be measured; pytest said:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def _combined(root: Path, directory: Path) -> Lines:
    seconds: dict[str, float] = {}
    for times in directory.glob("times.*"):
        seconds |= json.loads(times.read_text())
    names = sorted(seconds)
    number = {name: place for place, name in enumerate(names)}
    lines: dict[str, dict[str, list[int]]] = {}
    for path in directory.glob("lines.*"):
        data = coverage.CoverageData(str(path))
        data.read()
        for file in data.measured_files():
            of_file = lines.setdefault(str(Path(file).relative_to(root)), {})
            for line, contexts in data.contexts_by_lineno(file).items():
                seen = of_file.setdefault(str(line), [])
                seen += [number[context] for context in contexts if context in number]
    return Lines([(name, round(seconds[name], 3)) for name in names], lines, _imports(root, names))


def _imports(root: Path, tests: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    by_file = {name: imported(root, name) for name in {test.partition("::")[0] for test in tests}}
    for number, test in enumerate(tests):
        for path in by_file[test.partition("::")[0]]:
            found.setdefault(path, []).append(number)
    return found


def imported(root: Path, name: str) -> set[str]:
    """Return the files of the package that a file of tests imports by name."""
    source = root / name
    tree = ast.parse(source.read_bytes()) if source.is_file() else ast.Module([], [])
    modules = {
        module
        for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
        for module in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
    }  # fmt: skip
    paths = {f"{module.replace('.', '/')}.py" for module in modules if module.startswith("phoenixd.")}
    return {path for path in paths if (root / path).is_file()}
