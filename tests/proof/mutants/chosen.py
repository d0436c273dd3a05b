"""A pytest plugin, `-p tests.proof.mutants.chosen`: run the listed tests and no others, in the order of the list."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

LIST = "PHOENIX_MUTANTS_TESTS"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = {name: place for place, name in enumerate(Path(os.environ[LIST]).read_text().splitlines())}
    left_out = [item for item in items if item.nodeid not in wanted]
    items[:] = sorted((item for item in items if item.nodeid in wanted), key=lambda item: wanted[item.nodeid])
    config.hook.pytest_deselected(items=left_out)
