"""What every test may use. Keep it small: a fixture that one room needs lives in that room."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """A private directory with a short path: a unix socket's path is limited to 107 bytes, and tmp_path's is long."""
    path = Path(tempfile.mkdtemp(prefix="phx-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)
