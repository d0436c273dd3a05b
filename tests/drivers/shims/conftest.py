"""Links that keep what they hear, in a runtime directory of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drivers.shims.links import Links


@pytest.fixture
def links(short_tmp: Path) -> Iterator[Links]:
    made = Links(short_tmp)
    yield made
    made.shims.close()
