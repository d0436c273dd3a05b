"""A room for each test, the same as where runs are started."""

from __future__ import annotations

from tests.start.conftest import room as room
