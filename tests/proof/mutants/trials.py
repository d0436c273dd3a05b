"""Trials of mutants in a copy of the tree: many in forks of one pytest, or one planted in its file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from tests.proof.mutants.chosen import LIST
from tests.proof.mutants.contexts import file_of
from tests.proof.mutants.forked import JOBS
from tests.proof.mutants.forked import LIST as FORKED
from tests.proof.mutants.lines import kill_session
from tests.proof.mutants.operators import Mutant

NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".*_cache", "node_modules", ".hypothesis")
FIRST = 80
"""Most mutants are seen by the quickest of their tests; the rest run for the others alone."""
MEMORY = 4 * 1024 * 1024  # KiB. A loop that lost its end fills its own memory, and not the machine's.
# A mutant of what ends processes may leave some: they end with the namespace.
WORLD = ("unshare", "--pid", "--mount", "--mount-proc", "--fork", "--kill-child")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`killed`, `timed out` (which is killed as well), `survived` or `not run`; `by` says what saw it."""

    word: str
    seconds: float
    by: str = ""

    @property
    def is_killed(self) -> bool:
        return self.word in ("killed", "timed out")


Told = tuple[int, Verdict]


class Copy:
    """A copy of the tree in which one mutant after the other stands."""

    def __init__(self, source: Path, room: Path, limit: float) -> None:
        self.tree = room / "tree"
        self._list = room / "tests"
        self._limit = limit
        self._asked: subprocess.Popen[str] | None = None
        self._is_over = False
        self._lock = threading.Lock()
        shutil.copytree(source, self.tree, ignore=NOT_COPIED, symlinks=True)
        self._world = WORLD if _can_make_a_world() else ()

    def tries(self, mutant: Mutant, tests: Sequence[str]) -> Verdict:
        if not tests:
            return Verdict("survived", 0, "no test runs this line")
        path = self.tree / mutant.path
        source = path.read_bytes()
        began = time.monotonic()
        try:
            path.write_bytes(mutant.applied(source))
            # Same second, same size: the interpreter would take the original's bytecode for the mutant's.
            for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
                compiled.unlink()
            word, by = self.ask(tests[:FIRST])
            if word == "survived" and tests[FIRST:]:
                word, by = self.ask(tests[FIRST:])
        finally:
            path.write_bytes(source)
        return Verdict(word, time.monotonic() - began, by)

    def forks(
        self, asked: Sequence[tuple[int, Mutant | None, Sequence[str], float]], jobs: int,
        limits: Mapping[str, float] | None = None,
    ) -> Iterator[Told]:  # fmt: skip
        """Try many, each in a fork of one pytest; yield what became of each, `cold` where a fork cannot tell.

        limits: how long single tests may take.
        """
        files = sorted({file_of(name) for _, _, tests, _ in asked for name in tests})
        rows = [
            (
                number,
                astuple(mutant) if mutant else None,
                [(name, (limits or {}).get(name, limit)) for name in tests],
                limit,
            )
            for number, mutant, tests, limit in asked
        ]
        self._list.write_text("\n".join(json.dumps(row) for row in rows))
        argv = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--timeout", "120"]
        running = self._begin(
            [*argv, "-p", "tests.proof.mutants.forked"], files, {FORKED: str(self._list), JOBS: str(jobs)}
        )
        if running is None:
            return
        assert running.stdout is not None
        other: list[str] = []
        with running.stdout:
            for line in running.stdout:
                mark, _, row = line.partition(" ")
                if mark == FORKED:
                    number, word, seconds, by = json.loads(row)
                    yield number, Verdict(word, seconds, by)
                else:
                    other.append(line)
        if running.wait() not in (0, 5) and not self._is_over:
            raise SystemExit(f"the forks could not be tried; pytest said:\n{''.join(other)[-4000:]}")

    def ask(self, tests: Sequence[str]) -> tuple[str, str]:
        """Run tests, or whole files, until one fails; return the verdict and what gave it."""
        files = sorted({file_of(name) for name in tests})
        argv = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout", "120"]
        if any("::" in name for name in tests):
            self._list.write_text("\n".join(tests))
            argv += ["-p", "tests.proof.mutants.chosen"]
        asked = self._begin(argv, files, {})
        if asked is None:
            return "interrupted", ""
        try:
            said, _ = asked.communicate(timeout=self._limit)
        except subprocess.TimeoutExpired:
            kill_session(asked)
            asked.communicate()
            return "timed out", f"after {self._limit:.0f} s"
        if self._is_over:
            return "interrupted", ""
        lines = said.strip().splitlines() or ["pytest said nothing"]
        match asked.returncode:
            case 0:
                return "survived", lines[-1]
            case 5:
                return "not run", "none of the chosen tests is there"
            case _:
                failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
                return "killed", (failed or lines)[-1][:160]

    def _begin(self, argv: Sequence[str], files: Sequence[str], more: dict[str, str]) -> subprocess.Popen[str] | None:
        environment = {
            **os.environ, "PYTHONPATH": str(self.tree), "PYTHONDONTWRITEBYTECODE": "1", LIST: str(self._list),
            "HYPOTHESIS_PROFILE": "mutants", **more,
        }  # fmt: skip
        # The shell stays: the first process of a world has no parent, and the tests want one.
        bounded = ["sh", "-c", f'ulimit -v {MEMORY}; "$@"; exit $?', "sh", *argv, *files]
        with self._lock:
            if self._is_over:
                return None
            self._asked = subprocess.Popen(
                [*self._world, *bounded], cwd=self.tree, env=environment, start_new_session=True, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            return self._asked

    def end(self) -> None:
        """End the trial that goes on; none begins any more."""
        with self._lock:
            self._is_over = True
            if self._asked is not None:
                kill_session(self._asked)


def _can_make_a_world() -> bool:
    if shutil.which(WORLD[0]) is None:
        return False
    return subprocess.run([*WORLD, "true"], capture_output=True, check=False).returncode == 0
