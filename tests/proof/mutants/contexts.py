"""A pytest plugin, `-p tests.proof.mutants.contexts`: which test runs which lines, and how long each test takes.

Each file of tests leaves its part of the map once its last test is over, so what was measured outlives an interruption.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

DIRECTORY = "PHOENIX_MUTANTS_MAP"
FILES = "PHOENIX_MUTANTS_FILES"


class Contexts:
    """Coverage in this process, file by file, with the running test as its context."""

    def __init__(self, directory: Path, files: list[str]) -> None:
        self._directory = directory
        self._files = files
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        self._coverage: coverage.Coverage | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        if self._coverage is None:
            self._coverage = coverage.Coverage(data_file=None, include=self._files, branch=False, config_file=False)
            self._coverage.set_option("run:disable_warnings", ["no-data-collected"])
            self._coverage.start()
        self._coverage.switch_context(item.nodeid)
        result = yield
        self._coverage.switch_context("")
        if nextitem is None or nextitem.path != item.path:
            self._coverage.stop()
            self._write(file_of(item.nodeid), item.config.rootpath, self._coverage.get_data())
            self._coverage = None
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0) + report.duration
        if report.outcome != "passed":
            self._failed.add(report.nodeid)

    def _write(self, file: str, root: Path, data: coverage.CoverageData) -> None:
        names = sorted(name for name in self._seconds if name not in self._failed and file_of(name) == file)
        number = {name: place for place, name in enumerate(names)}
        lines = {
            str(Path(path).relative_to(root)): {
                str(line): sorted(number[context] for context in contexts if context in number)
                for line, contexts in data.contexts_by_lineno(path).items()
            }
            for path in data.measured_files()
        }
        part = {"tests": [(name, round(self._seconds[name], 3)) for name in names], "lines": lines}
        (self._directory / file.replace("/", "+")).with_suffix(".json").write_text(json.dumps(part))


def file_of(test: str) -> str:
    return test.partition("::")[0]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Contexts(Path(os.environ[DIRECTORY]), os.environ[FILES].split(os.pathsep)))
