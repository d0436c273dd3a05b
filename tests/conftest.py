"""What every test may use. Keep it small: a fixture that one room needs lives in that room."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, Phase, settings

from phoenixd.demo.stage import Stage
from tests import stacks, warm, workers

# A busy machine is slow, not wrong: no property test has a deadline. HYPOTHESIS_PROFILE chooses how long they look.
# "gate" is for the whole suite, and `./dev proof properties` looks longer. "again" is for what has already passed
# elsewhere: other Pythons, another user. "mutants" wants a verdict, and no small example: to shrink one takes minutes.
LOOKS = {"dev": 100, "gate": 40, "ci": 500, "again": 25, "deterministic": 100, "mutants": 100}
for profile, examples in LOOKS.items():
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=profile in ("deterministic", "mutants"),
        phases=[phase for phase in Phase if profile != "mutants" or phase in (Phase.explicit, Phase.generate)],
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# What collecting makes lives until the end: to look through it again and again is a fifth of a worker's start.
gc.disable()

# An import of phoenixd for each of hundreds of daemons is a third of what the suite costs.
Stage.popen = staticmethod(warm.popen)
Stage.run = staticmethod(warm.run)


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """A private directory with a short path: a unix socket's path is limited to 107 bytes, and tmp_path's is long."""
    path = Path(tempfile.mkdtemp(prefix="phx-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def quiet() -> Iterator[None]:
    """Nothing is logged of daemons that a test has live through hours."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


def pytest_addoption(parser: pytest.Parser) -> None:
    workers.add_option(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(workers.Hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Share the tests among processes where -n asks for it."""
    return workers.share(session)


def pytest_collection_finish() -> None:
    """Collect garbage again, and leave out what was collected of tests."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Beside a failure stands what the test's daemons are at: they still live."""
    report = yield
    if report.failed and call.when != "teardown":
        stacks.tell(report, getattr(item, "funcargs", {}))
    return report
