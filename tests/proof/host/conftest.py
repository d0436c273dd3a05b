"""A fleet on a stage of its own for each fault."""

from __future__ import annotations

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.conftest import stage
from tests.proof.host.fleet import Fleet

__all__ = ["stage"]


@pytest.fixture
def fleet(stage: Stage) -> Fleet:
    """It is not up yet: the fault decides in what world."""
    return Fleet(stage)
