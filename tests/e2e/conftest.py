"""A daemon for each test, in a directory of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import all_ends


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[Stage]:
    """A daemon that is not started yet; whatever the test leaves is ended, and must end."""
    stage = Stage(short_tmp)
    yield stage
    stage.down()
    all_ends(short_tmp)
