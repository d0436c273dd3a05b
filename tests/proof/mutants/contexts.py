"""A pytest plugin, `-p tests.proof.mutants.contexts`: which test runs which lines, and how long each test takes."""

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
    """Coverage in this process, with the running test as its context."""

    def __init__(self, directory: Path, files: list[str]) -> None:
        self._times = directory / f"times.{os.getpid()}"
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        self._coverage = coverage.Coverage(
            data_file=str(directory / "lines"), data_suffix=True, include=files, branch=False, config_file=False
        )
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._coverage.switch_context(item.nodeid)
        result = yield
        self._coverage.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0) + report.duration
        if report.outcome != "passed":
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        passed = {name: seconds for name, seconds in self._seconds.items() if name not in self._failed}
        self._times.write_text(json.dumps(passed))


def pytest_worker_begins(config: pytest.Config) -> None:
    config.pluginmanager.register(Contexts(Path(os.environ[DIRECTORY]), os.environ[FILES].split(os.pathsep)))
